"""Texts of files and edits to them, in code-point offsets.

Paths here are as the model sees them: relative with one root, ``<folder>/path`` with several.
"""

from __future__ import annotations

import codecs
from contextlib import suppress
from difflib import SequenceMatcher
from typing import Annotated, Literal

from pydantic import Field

from agent_ls.domain.permissions import ModeChange
from agent_ls.domain.record import Record

_MARKED = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


class TextFile(Record):
    """The newest text of one file: of the open buffer if there is one, else of the disk."""

    path: str
    text: str
    version: str
    """Opaque; an edit planned on it is stale once the file has another version."""
    encoding: str = ""
    """Python's name of the file's encoding; empty: UTF-8, or only the editor knows."""
    is_open: bool = False
    is_dirty: bool = False
    """Open, and the buffer differs from the disk."""
    is_apart: bool = False
    """Open, and neither the buffer nor the disk is known to be an older version of the other."""
    on_disk: str | None = None
    """With ``is_apart``: the text on disk; None: no file, or not a text."""
    has_fixed_cells: bool = False
    """A notebook that the editor has open by its cells: only their text can be changed."""
    why_it_stays: str = ""
    """Why the open file can be neither moved nor deleted now; empty when it can."""


class Replacement(Record):
    """Replace the code points ``start:end`` by ``text``."""

    start: int
    end: int
    text: str


class ChangeText(Record):
    """Change parts of an existing file; replacements are sorted and do not overlap."""

    kind: Literal["change"] = "change"
    path: str
    base_version: str
    replacements: tuple[Replacement, ...]
    mode: ModeChange | None = None
    """A permission change with the text; None: permissions stay."""


class CreateFile(Record):
    """Create a file that does not exist."""

    kind: Literal["create"] = "create"
    path: str
    text: str
    mode: int | None = None
    """Its permissions; None: the default of new files."""
    encoding: str | None = None
    """Python's name; the text then includes the byte order mark. None: UTF-8."""


class DeleteFile(Record):
    """Delete a file."""

    kind: Literal["delete"] = "delete"
    path: str
    base_version: str


class MoveFile(Record):
    """Move a file to a free path."""

    kind: Literal["move"] = "move"
    path: str
    base_version: str
    new_path: str


FileEdit = Annotated[ChangeText | CreateFile | DeleteFile | MoveFile, Field(discriminator="kind")]


class EditOutcome(Record):
    """The outcome of one file edit."""

    status: Literal["applied", "stale", "refused", "unconfirmed"]
    """``stale``: the file has another version, plan again; ``refused``: it will not work;
    ``unconfirmed``: sent, and no proof either way came in time."""
    reason: str = ""
    """What happened and what to do, for user and model; empty when applied."""
    version: str | None = None
    """The version after the edit, when applied."""
    text: str | None = None
    """The text after the edit, when applied and the file still exists."""


def text_of(data: bytes) -> tuple[str, str | None]:
    """Return the text of a file's bytes (with its byte order mark) and its encoding; None: UTF-8.

    Encoding the text again gives exactly these bytes. Bytes that are not UTF-8 and have no mark are
    read as Latin-1, which is lossless.
    """
    marked = (name for mark, name in _MARKED if data.startswith(mark))
    for name in (*marked, "utf-8"):
        with suppress(UnicodeDecodeError):
            return data.decode(name), None if name == "utf-8" else name
    return data.decode("latin-1"), "latin-1"


def apply_replacements(text: str, replacements: tuple[Replacement, ...]) -> str:
    """Return ``text`` with sorted, non-overlapping ``replacements`` applied.

    Errors: ``ValueError`` when they are out of order, overlap or leave the text.
    """
    parts: list[str] = []
    at = 0
    for change in replacements:
        if not at <= change.start <= change.end <= len(text):
            raise ValueError("replacements overlap, are out of order or leave the text")
        parts += (text[at : change.start], change.text)
        at = change.end
    return "".join((*parts, text[at:]))


def text_after(edit: FileEdit, before: str | None) -> str | None:
    """Return the text that an edit leaves at its target; None when it leaves no file.

    Errors: ``ValueError`` when its replacements do not fit ``before``.
    """
    match edit:
        case CreateFile():
            return edit.text
        case DeleteFile():
            return None
        case MoveFile():
            return before
        case ChangeText():
            return apply_replacements(before or "", edit.replacements)


_MAX_DIFFED_LINES = 2_000


def changed_lines(before: str, after: str) -> tuple[int, int]:
    """Return how many lines were added and removed; an upper bound for very large changes."""
    old, new = before.splitlines(), after.splitlines()
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    old, new = old[start : len(old) - end], new[start : len(new) - end]
    same = 0
    if max(len(old), len(new)) <= _MAX_DIFFED_LINES:
        blocks = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
        same = sum(block.size for block in blocks)
    return len(new) - same, len(old) - same
