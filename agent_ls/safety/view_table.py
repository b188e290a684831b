"""The table of views as values, and the classes of commands."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from agent_ls.safety.shell import SHELLS, UNKNOWN
from agent_ls.safety.text import visible_line, words

Kind = Literal["read-only", "workspace-write", "edit", "ask"]
"""The view of the sandbox; ``edit``: ``workspace-write`` where edits need no consent, else as
``ask``: the user decides."""

TABLE: dict[str, Any] = tomllib.loads(Path(__file__).with_name("views.toml").read_text("utf-8"))


def split_rows(table: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return the words of each row of a part of the table."""
    return {name: tuple(text.split()) for name, text in table.items() if isinstance(text, str)}


READERS = frozenset(TABLE["read_only"]["programs"].split())
"""Programs that only read and run no other; without the words in ``READER_CHANGES``."""
READER_CHANGES = split_rows(TABLE["read_only"]["changes"])
READERS_WITH_WORDS = split_rows(TABLE["read_only"]["words"])
"""Programs that only read with one of these words behind them."""
EDITS = frozenset(TABLE["edit"]["programs"].split())
"""Programs that change, move or delete files."""
EDIT_LISTS = split_rows(TABLE["edit"]["lists"])
"""Programs that edit, with the words by which they only list."""
ALWAYS_ASK = frozenset(TABLE["alone"]["programs"].split())
"""Programs of which the user sees each use."""
WORK = {
    **dict.fromkeys(TABLE["workspace_write"]["any"].split(), ("*",)),
    **dict.fromkeys(TABLE["workspace_write"]["targets"].split(), ("targets",)),
    **split_rows(TABLE["workspace_write"]["words"]),
}
"""What tests, builds, checks or runs a project, and the words that make it so."""
_UNOFFERED = frozenset(TABLE["offered"]["none"].split())
PREFIX_RULES = {
    name: kinds
    for name, kinds in (WORK | split_rows(TABLE["offered"])).items()
    if name not in _UNOFFERED
}
"""Programs for which an approval offers a rule by prefix, with the words that make it so."""
_WRAPPING = TABLE["wrappers"]
WRAPPERS = frozenset((*_WRAPPING["programs"].split(), *_WRAPPING["pairs"]))
"""What stands in front of a program, and only starts it."""
RUN_OTHERS = SHELLS | ALWAYS_ASK | words(f"{_WRAPPING['programs']} {_WRAPPING['others']}")
"""Programs that may run a program which they are given."""


@dataclass(frozen=True, slots=True)
class CommandClass:
    """What a command, or a program of it, does at most."""

    kind: Kind
    reason: str = ""
    """Why the user has to be asked; completes "It asks because …"."""
    must_ask: bool = False
    """Whether the user must see each use, whatever was granted."""


READ_ONLY, WORKSPACE_WRITE = CommandClass("read-only"), CommandClass("workspace-write")


def operands_of(words: Sequence[str], with_value: frozenset[str]) -> list[str]:
    """Return the words that are neither options nor values of the options ``with_value``."""
    found: list[str] = []
    rest: Iterator[str] = iter(words)
    for word in rest:
        if word in with_value:
            next(rest, None)
        elif not word.startswith(("-", "+")):
            found.append(word)
    return found


def shown(text: str) -> str:
    """Return a word for a reason."""
    return visible_line(text.replace(UNKNOWN, "…")[:60])
