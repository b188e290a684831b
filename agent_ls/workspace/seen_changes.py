"""Compare two states of files: changed, created, deleted or moved. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from agent_ls.loop.ports.commands import CommandChange
from agent_ls.workspace.seen_files import Seen, identity


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file before and after a command; None: no file."""

    path: Path
    before: Seen | None
    after: Seen | None

    @property
    def is_none(self) -> bool:
        """Tell whether nothing changed."""
        if self.before is None or self.after is None:
            return self.before is self.after
        return self.before.is_same(self.after)


def arrived(changes: Sequence[FileChange], since_ns: int) -> list[FileChange]:
    """Drop new files that are older than ``since_ns`` and were not moved.

    An ignore rule excluded them before, and the command changed that rule. Undoing the command must
    not delete them.
    """
    moved = {identity(one.before.signature) for one in changes if one.before is not None}
    return [
        one
        for one in changes
        if one.before is not None
        or one.after is None
        or max(one.after.signature[2:]) >= since_ns
        or identity(one.after.signature) in moved
    ]


def with_moves(changes: Sequence[FileChange]) -> tuple[list[FileChange], dict[Path, Path]]:
    """Return the changes, and the other path of each moved file whose bytes are not kept.

    A moved file is recognised by its inode, size and modification time.
    """
    moved = [one for one in changes if not _is_same_file(one)]
    came = {identity(one.after.signature): one.path for one in moved if one.after is not None}
    known = {one.path: one for one in changes}
    others: dict[Path, Path] = {}
    for path, before in [(one.path, one.before) for one in moved]:
        place = came.get(identity(before.signature)) if before and before.data is None else None
        if before is None or place is None or (after := known[place].after) is None:
            continue
        digest = before.digest or after.digest
        known[path] = replace(known[path], before=replace(before, digest=digest))
        known[place] = replace(known[place], after=replace(after, data=None, digest=digest))
        others |= {path: place, place: path}
    return [known[one.path] for one in changes], others


def _is_same_file(change: FileChange) -> bool:
    """Tell whether the path still has the same inode, whatever was written into it."""
    before, after = change.before, change.after
    return before is not None and after is not None and before.signature[0] == after.signature[0]


def command_change(path: str, change: FileChange, other_path: str) -> CommandChange:
    """Convert a change for the journal, with paths as the model names them."""
    before, after = change.before, change.after
    data = before and before.data, after and after.data
    if all(one is None or one.is_plain for one in (before, after)):
        modes = before and before.permissions, after and after.permissions
        return CommandChange(path, *data, modes=modes)
    is_known = before is None or before.data is not None
    other = {"other_path": other_path if other_path != path else ""}
    images = (
        before and before.image.model_copy(update=other),
        after and after.image.model_copy(update=other),
    )
    return CommandChange(path, *data, is_before_known=is_known, images=images)
