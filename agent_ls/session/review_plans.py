"""What has to happen to a file so that changes of the agent's are undone, or done again.

Owns the three-way merge of a decision with what the file is now. Plans only: ``review.py`` records
and carries out. Nothing planned here overwrites what somebody else changed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from agent_ls.domain.edits import ChangeText, CreateFile, DeleteFile, FileEdit, MoveFile, TextFile
from agent_ls.domain.errors import bug
from agent_ls.domain.review import HunkState
from agent_ls.edits.line_ends import with_ends_of
from agent_ls.edits.merge import Merged, merge
from agent_ls.edits.review import FileLedger
from agent_ls.edits.review_hunks import Hunk, flat
from agent_ls.loop.ports.workspace import Workspace

_INLINE_CHARACTERS = 200_000
"""Larger texts are merged in a thread."""


@dataclass(frozen=True, slots=True)
class Clash:
    """Both versions of what the agent and somebody else changed; nothing was done."""

    path: str
    line: int
    """1-based, in the file as it is now; 0: the file as a whole."""
    now: str | None
    """The file as it is; None: it is gone."""
    wanted: str | None
    """The file as the decision alone would have it; None: it would be gone."""
    reason: str


@dataclass(frozen=True, slots=True)
class FileResult:
    """What became of one file."""

    turn_id: str
    path: str
    status: Literal["done", "nothing", "conflict", "refused"]
    hunks: int = 0
    reason: str = ""
    """For a person, unless it is done."""
    clash: Clash | None = None
    """Both versions, for a conflict."""
    edit: Literal["change", "create", "delete", "move"] | None = None
    """What a restore does to the file."""


@dataclass(frozen=True, slots=True)
class Step:
    """One edit, or none where the file is as wanted already, and the hunks it settles."""

    hunks: tuple[str, ...]
    edit: FileEdit | None


async def next_step(
    workspace: Workspace, file: FileLedger, hunks: Sequence[Hunk], state: HunkState
) -> Step | Clash:
    """Return what brings these hunks nearer to ``state``: the whole file first, then lines.

    Invariant: nothing is moved whose lines cannot be brought back.

    Errors: ``WorkspaceError`` for a file that cannot be read.
    """
    lines = [one for one in hunks if one.kind == "text"]
    whole = [one for one in hunks if one.kind != "text"]
    now = await workspace.read(file.path) if await workspace.exists(file.path) else None
    if whole and whole[0].kind == "opaque":
        return Clash(file.path, 0, None, None, "it is no text, so only a copy of yours brings it")
    for one in whole:
        if one.kind == "moved":
            goal = one.old[0] if state == "undone" else one.new[0]
            if now is not None and await workspace.exists(goal):
                reason = f"it was moved, and {goal} exists again"
                return Clash(file.path, 0, now.text, file.text, reason)
    if lines and file.text is not None:
        step = await _of_lines(file, lines, state, now)
        if isinstance(step, Clash) or not whole:
            return step
    return _of_file(file, whole[0], state, now)


async def _of_lines(
    file: FileLedger, hunks: Sequence[Hunk], state: HunkState, now: TextFile | None
) -> Step | Clash:
    ids = tuple(one.id for one in hunks)
    goal = file.decided(ids, state).text
    if now is None:
        return Clash(file.path, 0, None, goal, "it is gone")
    mixed = next((one for one in hunks if one.is_mixed), None)
    if mixed is not None:
        reason = "these lines were changed by somebody else, too"
        return Clash(file.path, mixed.first + 1, now.text, goal, reason)
    merged = await merged_texts(file.text or "", now.text, goal or "")
    if merged.conflicts:
        reason = "these lines were changed since"
        return Clash(file.path, merged.conflicts[0].line, now.text, goal, reason)
    if not merged.replacements:
        return Step(ids, None)
    found = merged.replacements
    if state == "undone" and file.base is not None:
        found = with_ends_of(file.base, now.text, found)
    return Step(ids, ChangeText(path=file.path, base_version=now.version, replacements=found))


def _of_file(file: FileLedger, hunk: Hunk, state: HunkState, now: TextFile | None) -> Step | Clash:
    ids = (hunk.id,)
    if hunk.kind == "moved":
        goal = hunk.old[0] if state == "undone" else hunk.new[0]
        if now is None:
            return Clash(file.path, 0, None, file.text, "it is gone")
        return Step(ids, MoveFile(path=file.path, base_version=now.version, new_path=goal))
    takes_away = (hunk.kind == "created") == (state == "undone")
    if takes_away:
        if now is None:
            return Step(ids, None)
        if hunk.is_mixed or flat(now.text) != flat(file.text or ""):
            return Clash(file.path, 0, now.text, None, "it was changed since")
        return Step(ids, DeleteFile(path=file.path, base_version=now.version))
    if file.lost is None:
        raise bug(f"{file.path} was taken away and its text is not known")
    if now is None:
        return Step(ids, CreateFile(path=file.path, text=file.lost))
    if flat(now.text) == flat(file.lost):
        return Step(ids, None)
    return Clash(file.path, 0, now.text, file.lost, "there is another file now")


async def merged_texts(base: str, ours: str, theirs: str) -> Merged:
    """Return the three-way merge, off the event loop where it may take long."""
    if len(base) + len(ours) + len(theirs) <= _INLINE_CHARACTERS:
        return merge(base, ours, theirs, beside=True)
    return await asyncio.to_thread(merge, base, ours, theirs, beside=True)
