"""Whole contents of files that are not looked at as texts: binary ones, and very large ones."""

from __future__ import annotations

import codecs
from typing import Literal

from agent_ls.domain.permissions import ModeChange
from agent_ls.domain.record import Record

MAX_KEPT_BYTES = 8 * 2**20
"""Of a file that is no text, or too large for one; the store takes no larger ones."""


class FileImage(Record):
    """What a file held at one moment, as a whole."""

    size_bytes: int
    digest: str | None = None
    """SHA-256, in hexadecimal; None: it was too large to be looked at."""
    mode: int | None = None
    """Its permissions; None: not known."""
    is_kept: bool = False
    """Whether the blob store has the bytes."""
    is_text: bool = False
    is_missing: bool = False
    """The blob store had the bytes once; they are gone or damaged, and only the digest is known."""
    other_path: str = ""
    """Of bytes that are not kept: where the command moved the file to, or from."""

    @property
    def can_be_kept(self) -> bool:
        """Say whether the store has the bytes, or takes them before they go from the disk.

        What it has lost it does not take again: the journal is read by what it has.
        """
        is_small = self.digest is not None and self.size_bytes <= MAX_KEPT_BYTES
        return not self.is_missing and (self.is_kept or is_small)

    @property
    def words(self) -> str:
        """Return its kind and size for a person."""
        if self.is_missing:
            return _MISSING
        return f"{'text' if self.is_text else 'binary'}, {_size(self.size_bytes)}"


class PutImage(Record):
    """Give a file that holds ``base`` what ``goal`` was; None: no file. Only the review does it."""

    kind: Literal["put"] = "put"
    path: str
    base: FileImage | None
    goal: FileImage | None
    by_move: str = ""
    """The place that the file moves to, or comes from: its bytes are nowhere but on disk."""

    @property
    def effect(self) -> Literal["change", "create", "delete", "move"]:
        """Return what it does to the file."""
        if self.by_move:
            return "move"
        if self.goal is None:
            return "delete"
        return "create" if self.base is None else "change"

    def mode_after(self, mode: int) -> int:
        """Return the permissions of a file that has these; what the person set since stays."""
        base, goal = self.base and self.base.mode, self.goal and self.goal.mode
        if base is None or goal is None:
            return mode
        return ModeChange(base=base, goal=goal).after(mode)


_MISSING = "content no longer in the agent's store"

Images = tuple[FileImage | None, FileImage | None]
"""A file before and after a change; None: there was, or is, no file."""


def change_words(images: Images) -> str:
    """Return a change of a whole file in words: ``binary, 12 KB → 14 KB``."""
    before, after = images
    if before is None or after is None:
        there = before or after
        state = "deleted" if after is None else "new"
        if there and there.other_path:
            state = f"moved {'to' if after is None else 'from'} {there.other_path}"
        words = f"{state}, {there.words}" if there else "gone again"
    elif before.is_missing or after.is_missing:
        words = _MISSING if before.is_missing else f"{before.words} → {after.words}"
    elif before.is_text == after.is_text:
        words = f"{before.words} → {_size(after.size_bytes)}"
    else:
        words = f"{before.words} → {after.words}"
    return words if can_be_undone(images) else f"{words}; cannot be undone"


def can_be_undone(images: Images) -> bool:
    """Say whether the first side can come back without the loss of the second."""
    before, after = images
    if before is not None and after is not None:
        return before.is_kept and after.can_be_kept
    there = before or after
    if there is None or (there.other_path and there.digest):
        return True
    return there.can_be_kept if before is None else there.is_kept


def is_text(data: bytes, *, is_whole: bool = True) -> bool:
    """Say whether bytes, or the beginning of some, are a text: UTF-8 without null characters."""
    if b"\0" in data:
        return False
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data, final=is_whole)
    except UnicodeDecodeError:
        return False
    return True


def _size(size_bytes: int) -> str:
    if size_bytes < 1_000:
        return f"{size_bytes} bytes" if size_bytes != 1 else "1 byte"
    size, unit = size_bytes / 1_000, "KB"
    for larger in ("MB", "GB"):
        if size < 1_000:
            break
        size, unit = size / 1_000, larger
    return f"{size:.0f} {unit}" if size >= 10 else f"{size:.1f} {unit}"
