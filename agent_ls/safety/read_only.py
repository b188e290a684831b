"""The programs that only read, with the options that keep them so: reads ``programs.toml``."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, cast

from agent_ls.safety.flags import Options, options, words

Operands = Literal["paths", "text", "pattern", "names"]


@dataclass(frozen=True, slots=True)
class Program:
    """What one program, or one subcommand of git, may be called with."""

    options: Options
    operands: Operands = "paths"
    """``names`` are plain words, no paths; with ``pattern`` a pattern comes before the paths."""
    limit: int = 1_000
    """The highest number of operands."""
    pattern: tuple[str, ...] = ()
    """Options that give the pattern."""
    recursive: tuple[str, ...] = ()
    """With one of these it reads whole folders; ``*``: it always does."""
    lists: tuple[str, ...] = ()
    """Without one of these, operands would create something."""


def _program(specification: str, shared: dict[str, str]) -> Program:
    text = specification
    while "$" in text:
        text = re.sub(r"\$(\w+)", lambda use: shared[use[1]], text)
    given = [word for word in text.split() if word.startswith("-")]
    others = (word.partition("=") for word in text.split() if not word.startswith("-"))
    facts = {name: value for name, _, value in others}
    operands = next((one for one in ("text", "pattern", "names") if one in facts), "paths")
    pattern, recursive, lists = (
        tuple(facts.get(name, "").split(",")) if name in facts else ()
        for name in ("pattern", "recursive", "lists")
    )
    return Program(
        options(" ".join(given), takes_number="number" in facts),
        cast("Operands", operands),
        int(facts.get("limit", 1_000)),
        pattern,
        recursive,
        lists,
    )


@cache
def _tables() -> dict[str, dict[str, Program]]:
    file = Path(__file__).with_name("programs.toml")
    found: dict[str, dict[str, str]] = tomllib.loads(file.read_text("utf-8"))
    shared = found.pop("shared")
    return {
        table: {name: _program(text, shared) for name, text in programs.items()}
        for table, programs in found.items()
    }


PROGRAMS = _tables()["programs"]
LANGUAGES = _tables()["languages"]
"""Programs whose operands are read by ``closer_looks``."""
GIT = _tables()["git"]
"""Subcommands of git, some of two words."""

BUILTINS = words("echo true false : pwd type test [ printf cd command set exit")
"""Commands that the shell runs itself, so programs on PATH do not matter."""

VERSIONED = words(
    "python python3 node git gcc g++ cc c++ clang clang++ make gmake cmake ninja rg jq bash perl "
    "ruby java javac go tar grep sed awk gawk find ls diff patch curl wget ruff uv gdb pandoc "
    "sqlite3 psql tmux zsh fish nvim vim npm pip pip3 docker tsc"
)
"""Programs that only print their version when asked for it."""
