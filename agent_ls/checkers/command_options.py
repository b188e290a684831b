"""Settings of check commands, and the presets that are known by name."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from typing import Annotated, Any, Literal, cast

from pydantic import Field, field_validator, model_validator

from agent_ls.domain.findings import Severity
from agent_ls.domain.record import Record

FILES = "{files}"
"""Placeholder in a command for the changed files, each as a separate word."""
_GROUPS = ("path", "line", "message")
_OWN = frozenset({"ruff", "tsc"})

PRESETS: dict[str, dict[str, Any]] = {
    "mypy": {
        "command": "mypy --show-column-numbers --show-error-end --no-pretty --no-error-summary "
        f"-- {FILES}",
        "files": ("*.py", "*.pyi"),
        "variables": ("VIRTUAL_ENV",),
    },
    "pyright": {
        "command": "pyright --outputjson",
        "files": ("*.py", "*.pyi"),
        "output": "pyright",
        "columns": "utf-16",
        "variables": ("VIRTUAL_ENV",),
    },
    "eslint": {
        "command": f"eslint --format json --no-warn-ignored -- {FILES}",
        "files": ("*.js", "*.jsx", "*.mjs", "*.cjs", "*.ts", "*.tsx", "*.mts", "*.cts"),
        "beside": ("eslint.config.js", "eslint.config.mjs", "eslint.config.cjs",
                   "eslint.config.ts", "eslint.config.mts", "eslint.config.cts"),
        "output": "eslint",
        "columns": "utf-16",
    },
    "cargo check": {
        "command": "cargo check --workspace --all-targets --message-format short",
        "files": ("*.rs", "Cargo.toml"),
        "beside": ("Cargo.toml",),
        "variables": ("CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"),
        "timeout_s": 300.0,
    },
    "go vet": {
        "command": "go vet ./...",
        "files": ("*.go", "go.mod"),
        "beside": ("go.mod",),
        "columns": "bytes",
        "variables": ("GOPATH", "GOROOT", "GOCACHE", "GOMODCACHE", "GOFLAGS", "GOPROXY"),
        "timeout_s": 120.0,
    },
}  # fmt: skip


class CheckCommand(Record):
    """One command that checks files, and how to read what it prints.

    Shape: its name alone when it is one of the known ones; what else is given replaces theirs.
    """

    name: Annotated[str, Field(min_length=1, max_length=40)]
    """Stands beside its findings."""
    command: Annotated[str, Field(min_length=1)]
    """Words as in a shell, but no shell reads them; ``{files}`` are the changed files."""
    files: Annotated[tuple[str, ...], Field(min_length=1)]
    """Patterns such as ``*.py``, of paths or names: when one of these changes, it is run."""
    beside: tuple[str, ...] = ()
    """Run in the nearest folder up from a changed file that has one of these files, and leave
    other files alone; empty: in the workspace's folder."""
    output: Literal["lines", "eslint", "pyright"] = "lines"
    """What it prints: lines for people, or one of these kinds of JSON."""
    pattern: str = ""
    """For lines: a regular expression with the groups path, line and message, and optionally
    column, end_line, end_column, severity and code; empty: as most compilers print."""
    columns: Literal["characters", "utf-16", "bytes"] = "characters"
    """What its columns count, from 1."""
    severity: Severity = Severity.ERROR
    """Of findings that do not say."""
    per_file: bool = False
    """What it says of a file comes from that file alone."""
    variables: tuple[str, ...] = ()
    """Environment variables that it is given besides the usual few."""
    sandbox: bool = True
    """False: it runs outside of the sandbox, with all that you can do."""
    timeout_s: float = Field(default=60.0, gt=0)
    """For one run."""

    @model_validator(mode="before")
    @classmethod
    def _completed(cls, given: object) -> object:
        if isinstance(given, str):
            if given not in PRESETS:
                known = ", ".join(PRESETS)
                raise ValueError(f"{given!r} is none of the known commands ({known})")
            given = {"name": given}
        if isinstance(given, dict):
            values = cast("dict[str, Any]", given)
            return PRESETS.get(str(values.get("name")), {}) | values
        return given

    @field_validator("command")
    @classmethod
    def _has_words(cls, command: str) -> str:
        if not shlex.split(command):
            raise ValueError("it names no program")
        return command

    @field_validator("pattern")
    @classmethod
    def _has_groups(cls, pattern: str) -> str:
        try:
            groups = re.compile(pattern).groupindex
        except (re.error, OverflowError, RecursionError) as error:
            raise ValueError(f"it is no regular expression: {error}") from None
        if missing := [name for name in _GROUPS if pattern and name not in groups]:
            raise ValueError(f"it has no group named {' or '.join(missing)}")
        return pattern


class CommandOptions(Record):
    """The commands that check, besides the checkers that are built in."""

    commands: tuple[CheckCommand, ...] = ()
    """Programs that check the text you see: `mypy`, `pyright`, `eslint`, `cargo check`, `go vet`,
    or tables ([how](checkers.md))."""

    @field_validator("commands", mode="before")
    @classmethod
    def _are_listed(cls, given: object) -> object:
        """Accept names separated by commas, as in an environment variable."""
        return [one.strip() for one in given.split(",")] if isinstance(given, str) else given

    @field_validator("commands")
    @classmethod
    def _have_names_of_their_own(cls, commands: tuple[CheckCommand, ...]) -> Any:
        counts = Counter([*_OWN, *(one.name for one in commands)])
        if twice := [name for name, count in counts.items() if count > 1]:
            raise ValueError(f"the name {twice[0]} is taken")
        return commands
