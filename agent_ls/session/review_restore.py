"""A file brought back to where it was at the beginning of a turn.

Every edit since then is taken back, newest first, each by a three-way merge: what others typed
before, between and after the edits stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent_ls.domain.edits import (
    ChangeText,
    CreateFile,
    DeleteFile,
    FileEdit,
    MoveFile,
    apply_replacements,
)
from agent_ls.domain.errors import WorkspaceError
from agent_ls.edits.line_ends import with_ends_of
from agent_ls.edits.minimal import replacements_between
from agent_ls.edits.review_hunks import flat
from agent_ls.loop.ports.store import Blobs
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.session.review_ledger import Touch, text_after
from agent_ls.session.review_plans import Clash, FileResult, merged_texts


async def restoring_step(
    workspace: Workspace, blobs: Blobs, lineage: Sequence[Touch], path: str
) -> FileEdit | Clash | None:
    """Return the next edit that brings the file at ``path`` back; None when it is as it was.

    Shape: after a move there may be another one, after any other edit it is done.

    Errors: ``WorkspaceError`` for a file that cannot be read.
    """
    now = await workspace.read(path) if await workspace.exists(path) else None
    goal: str | None = now.text if now else None
    try:
        sides = [await _sides(blobs, one) for one in lineage]
        for before, after in _joined(sides):
            goal = await _taken_back(before, after, goal)
    except _Contradiction as error:
        wanted = await _text(blobs, lineage[0].before_blob)
        return Clash(path, error.line, now.text if now else None, wanted, str(error))
    except UnicodeDecodeError:
        return Clash(path, 0, None, None, "it is no text, so only a copy of yours brings it back")
    origin = lineage[0].path
    if goal is None:
        return None if now is None else DeleteFile(path=path, base_version=now.version)
    if now is None:
        return CreateFile(path=origin, text=goal)
    if path != origin:
        if await workspace.exists(origin):
            return Clash(path, 0, now.text, goal, f"it was moved, and {origin} exists again")
        return MoveFile(path=path, base_version=now.version, new_path=origin)
    if replacements := replacements_between(now.text, goal):
        replacements = with_ends_of(sides[0][0] or "", now.text, replacements)
        return ChangeText(path=path, base_version=now.version, replacements=replacements)
    return None


async def foreseen(
    workspace: Workspace, blobs: Blobs, turn_id: str, lineage: Sequence[Touch]
) -> FileResult:
    """Return what a restore would make of a file as it is now; nothing is changed."""
    path = lineage[-1].new_path
    try:
        step = await restoring_step(workspace, blobs, lineage, path)
    except WorkspaceError as error:
        return FileResult(turn_id, path, "refused", reason=str(error))
    if isinstance(step, Clash):
        return FileResult(turn_id, path, "conflict", 0, step.reason, step)
    if step is None:
        return FileResult(turn_id, path, "nothing")
    return FileResult(turn_id, path, "done", edit=step.kind)


class _Contradiction(Exception):
    """Somebody else changed what an edit changed."""

    def __init__(self, reason: str, line: int = 0) -> None:
        super().__init__(reason)
        self.line = line


async def _sides(blobs: Blobs, touch: Touch) -> tuple[str | None, str | None]:
    """Return the text before an edit, and what the edit alone made of it."""
    before, after = await _text(blobs, touch.before_blob), await _text(blobs, touch.after_blob)
    return before, after if touch.edit is None else text_after(touch.edit, before, after)


def _joined(
    sides: Sequence[tuple[str | None, str | None]],
) -> Iterator[tuple[str | None, str | None]]:
    """Yield the texts before and after each edit, newest first; as one where they touch."""
    held: tuple[str | None, str | None] | None = None
    for before, after in reversed(sides):
        if held is not None and after is not None and held[0] == after:
            held = (before, held[1])
            continue
        if held is not None:
            yield held
        held = (before, after)
    if held is not None:
        yield held


async def _taken_back(before: str | None, after: str | None, now: str | None) -> str | None:
    """Return the text without an edit that made ``after`` of ``before``."""
    if after is None:
        if now is None or before is None:
            return before if now is None else now
        raise _Contradiction("it was deleted, and there is another file now")
    if now is None:
        if before is None:
            return None
        raise _Contradiction("it is gone")
    if before is None:
        if flat(now) != flat(after):
            raise _Contradiction("it was made by the agent and changed since")
        return None
    merged = await merged_texts(flat(after), now, flat(before))
    if merged.conflicts:
        raise _Contradiction("these lines were changed since", merged.conflicts[0].line)
    return apply_replacements(now, merged.replacements)


async def _text(blobs: Blobs, digest: str | None) -> str | None:
    data = None if digest is None else await blobs.get_blob(digest)
    return None if data is None else data.decode()
