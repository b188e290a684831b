"""What has to happen to a file so that changes of the agent's are undone, or done again.

Owns the three-way merge of a decision with what the file is now. Plans only: ``review.py`` records
and carries out. Nothing planned here overwrites what somebody else changed.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from agent_ls.domain.edits import (
    ChangeText,
    CreateFile,
    DeleteFile,
    MoveFile,
    TextFile,
    apply_replacements,
)
from agent_ls.domain.errors import bug
from agent_ls.domain.review import HunkState
from agent_ls.edits.line_ends import with_ends_of
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.review.file_changes import FileLedger
from agent_ls.review.hunks import Hunk, flat
from agent_ls.review.images import Wholes, image_step
from agent_ls.review.since import Newer, done_by, image_done_by, merged_texts
from agent_ls.review.steps import APART, MISSING, Clash, Step


async def next_step(
    workspace: Workspace,
    file: FileLedger,
    hunks: Sequence[Hunk],
    state: HunkState,
    *,
    newer: Sequence[Newer] = (),
    freed: Collection[str] = (),
    wholes: Wholes | None = None,
) -> Step | Clash:
    """Return what brings these hunks nearer to ``state``: the whole file first, then lines.

    What stands under ``freed`` names is going to make room. What ``newer`` turns made so already
    is theirs to take back first. ``wholes`` are the turn's other files that may have the bytes.

    Invariant: nothing is moved whose lines cannot be brought back.

    Errors: ``WorkspaceError`` for a file that cannot be read.
    """
    if file.images is not None:
        return await _of_layers(workspace, file, hunks, state, newer, wholes or {})
    lines = [one for one in hunks if one.kind == "text"]
    whole = [one for one in hunks if one.kind != "text"]
    now = await workspace.read(file.path) if await workspace.exists(file.path) else None
    for one in whole:
        if one.kind == "moved":
            goal = one.old[0] if state == "undone" else one.new[0]
            if now is not None and goal not in freed and await workspace.exists(goal):
                reason = f"it was moved, and {goal} exists again"
                return Clash(file.path, 0, now.text, file.text, reason)
    if lines and file.text is not None:
        step = await _of_lines(file, lines, state, now, newer)
        if isinstance(step, Clash) or not whole:
            return step
    if not whole:
        # It was taken away again since its lines were changed.
        return Clash(file.path, 0, now and now.text, None, MISSING)
    first = whole[0]
    if state == "undone":
        # What was moved and then deleted has to be there before it can move back.
        first = next((one for one in whole if one.kind == "deleted"), first)
    elif first.kind == "deleted" and any(
        one.kind == "moved" and one.state == "undone" for one in file.hunks
    ):
        reason = "it was moved before it was deleted; redo the move first, or both as with the turn"
        return Clash(file.path, 0, now and now.text, None, reason)
    return _of_file(file, first, state, now)


async def _of_layers(
    workspace: Workspace,
    file: FileLedger,
    hunks: Sequence[Hunk],
    state: HunkState,
    newer: Sequence[Newer],
    wholes: Wholes,
) -> Step | Clash:
    """Undo the whole file before what was changed in it earlier; redo that first."""
    whole = file.hunks[0]
    rest = [one for one in hunks if one.id != whole.id]
    is_meant = len(rest) < len(hunks)
    if is_meant and (state == "undone" or not rest):
        step = await image_step(workspace, file, state, wholes)
        if isinstance(step, Step) and step.edit is None:
            reason = image_done_by(newer, file, state)
            return Clash(file.path, 0, None, None, reason) if reason is not None else step
        return step
    if file.under is None or whole.state != "undone":
        reason = "the file was changed as a whole since; that has to be undone first"
        return Clash(file.path, 0, None, None, reason)
    return await next_step(workspace, file.under, rest, state, newer=newer)


async def _of_lines(
    file: FileLedger,
    hunks: Sequence[Hunk],
    state: HunkState,
    now: TextFile | None,
    newer: Sequence[Newer],
) -> Step | Clash:
    ids = tuple(one.id for one in hunks)
    decided = file.decided(ids, state)
    goal = decided.text
    if now is None:
        return Clash(file.path, 0, None, goal, MISSING)
    mixed = next((one for one in hunks if one.is_mixed), None)
    if mixed is not None:
        reason = "these lines were changed by somebody else, too"
        return Clash(file.path, mixed.first + 1, now.text, goal, reason)
    merged = await merged_texts(file.text or "", now.text, goal or "")
    if merged.conflicts:
        reason = "these lines were changed since"
        return Clash(file.path, merged.conflicts[0].line, now.text, goal, reason)
    if (reason := await done_by(newer, file, hunks, state, now.text)) is not None:
        return Clash(file.path, 0, None, None, reason)
    if not merged.replacements:
        if state == "undone" and now.on_disk is not None:
            there = await merged_texts(file.text or "", now.on_disk, goal or "")
            if there.replacements:
                wanted = apply_replacements(now.on_disk, there.replacements)
                return Clash(file.path, 0, now.on_disk, wanted, APART)
        return Step(ids, None)
    found = merged.replacements
    if state == "undone" and file.base is not None:
        found = with_ends_of(file.exact, now.text, found)
    mode = file.mode_change(decided)
    edit = ChangeText(path=file.path, base_version=now.version, replacements=found, mode=mode)
    return Step(ids, edit)


def _of_file(file: FileLedger, hunk: Hunk, state: HunkState, now: TextFile | None) -> Step | Clash:
    ids = (hunk.id,)
    if hunk.kind == "moved":
        goal = hunk.old[0] if state == "undone" else hunk.new[0]
        if now is None:
            return Clash(file.path, 0, None, file.text, MISSING)
        return Step(ids, MoveFile(path=file.path, base_version=now.version, new_path=goal))
    takes_away = (hunk.kind == "created") == (state == "undone")
    if takes_away:
        if now is None:
            return Step(ids, None)
        # A deletion that is done again takes what it took, and nothing that came since.
        taken = file.lost if hunk.kind == "deleted" else file.text
        if hunk.is_mixed or flat(now.text) != flat(taken or ""):
            return Clash(file.path, 0, now.text, None, "it was changed since")
        return Step(ids, DeleteFile(path=file.path, base_version=now.version))
    if file.lost is None:
        raise bug(f"{file.path} was taken away and its text is not known")
    if now is None:
        return Step(ids, CreateFile(path=file.path, text=file.lost, mode=file.modes.lost))
    if flat(now.text) == flat(file.lost):
        return Step(ids, None)
    return Clash(file.path, 0, now.text, file.lost, "there is another file now")
