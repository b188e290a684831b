"""Whole contents of files that are not handled as text: binary or very large ones."""

from __future__ import annotations

import codecs
from typing import Literal

from agent_ls.domain.permissions import ModeChange
from agent_ls.domain.record import Record

MAX_KEPT_BYTES = 8 * 2**20
"""Largest binary file, or file too large for a text, that the store accepts."""


class FileImage(Record):
    """A file's whole content at one moment."""

    size_bytes: int
    digest: str | None = None
    """SHA-256, in hexadecimal; None: the file was too large to read."""
    mode: int | None = None
    """Its permissions; None: unknown."""
    is_kept: bool = False
    """Whether the blob store has the bytes."""
    is_text: bool = False
    is_missing: bool = False
    """The blob store had the bytes, but they are gone or damaged; only the digest is known."""
    other_path: str = ""
    """When the bytes are not stored: where the command moved the file to, or from."""

    @property
    def can_be_kept(self) -> bool:
        """Say whether the store has the bytes, or accepts them before the disk loses them.

        Lost bytes are not stored again, because the journal is read by what the store has.
        """
        is_small = self.digest is not None and self.size_bytes <= MAX_KEPT_BYTES
        return not self.is_missing and (self.is_kept or is_small)

    @property
    def words(self) -> str:
        """Return its kind and size, for a user."""
        if self.is_missing:
            return _MISSING
        return f"{'text' if self.is_text else 'binary'}, {_size(self.size_bytes)}"


class PutImage(Record):
    """Replace a file's content ``base`` by ``goal``; None: no file. Used only by the review."""

    kind: Literal["put"] = "put"
    path: str
    base: FileImage | None
    goal: FileImage | None
    by_move: str = ""
    """The path the file moves to, or comes from: its bytes exist only on disk."""

    @property
    def effect(self) -> Literal["change", "create", "delete", "move"]:
        """Return what the edit does to the file."""
        if self.by_move:
            return "move"
        if self.goal is None:
            return "delete"
        return "create" if self.base is None else "change"

    def mode_after(self, mode: int) -> int:
        """Return the permissions after the edit; a change by the user since stays."""
        base, goal = self.base and self.base.mode, self.goal and self.goal.mode
        if base is None or goal is None:
            return mode
        return ModeChange(base=base, goal=goal).after(mode)


_MISSING = "content no longer in the agent's store"

Images = tuple[FileImage | None, FileImage | None]
"""A file before and after a change; None: no file."""


def change_words(images: Images) -> str:
    """Describe a change of a whole file: ``binary, 12 KB → 14 KB``."""
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
    """Say whether the old content can be restored without losing the new one."""
    before, after = images
    if before is not None and after is not None:
        return before.is_kept and after.can_be_kept
    there = before or after
    if there is None or (there.other_path and there.digest):
        return True
    return there.can_be_kept if before is None else there.is_kept


def is_text(data: bytes, *, is_whole: bool = True) -> bool:
    """Say whether bytes, or the beginning of a file, are text: UTF-8 without null characters."""
    if b"\0" in data:
        return False
    if data.isascii():
        return True
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
