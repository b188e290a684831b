"""What has to happen to a file so that changes of the agent's are undone, or done again.

Owns the three-way merge of a decision with what the file is now. Plans only: ``review.py`` records
and carries out. Nothing planned here overwrites what somebody else changed.
"""

from __future__ import annotations

from collections.abc import Sequence

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
from agent_ls.edits.merge import changes_between
from agent_ls.edits.reformatted import is_reformatted
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.review.file_changes import FileLedger
from agent_ls.review.hunks import Hunk, flat, lines_of
from agent_ls.review.ledger import Ledger
from agent_ls.review.steps import APART, MISSING, TAKEN, Clash, Step, merged_texts, put_back

_DEEDS = {
    "created": "made it anew",
    "deleted": "deleted it",
    "moved": "moved it",
    "opaque": "changed it as a whole",
}


async def next_step(
    workspace: Workspace,
    ledger: Ledger,
    turn_id: str,
    file: FileLedger,
    hunks: Sequence[Hunk],
    state: HunkState,
) -> Step | Clash:
    """Return what brings these hunks nearer to ``state``: the whole file first, then lines.

    Invariant: nothing is moved whose lines cannot be brought back.

    Errors: ``WorkspaceError`` for a file that cannot be read.
    """
    newer = [
        (turn.turn_id, other)
        for turn, other in ledger.of_chain(file.number, turn_id)
        if turn.turn_id != turn_id
    ]
    whole = [one for one in hunks if one.kind != "text"]
    if whole and state != "undone" and whole[0].kind == "deleted" and _is_moved_back(file):
        reason = "it was moved before it was deleted; redo the move first, or both as with the turn"
        return Clash(file.path, 0, None, file.text, reason)
    if (reason := _overtaken(ledger, turn_id, newer, file, hunks)) is not None:
        return Clash(file.path, 0, None, None, reason)
    # What was made another as a whole is a text again before it moves back.
    whole.sort(key=lambda one: (one.kind == "moved") == (state == "undone"))
    if whole and whole[0].kind == "opaque":
        return await _of_image(workspace, file, whole[0], state)
    moved = next((one for one in whole if one.kind == "moved"), None)
    place = file.path if moved is None else (moved.old if state == "undone" else moved.new)[0]
    now = await workspace.read(file.path) if await workspace.exists(file.path) else None
    if place != file.path and await workspace.exists(place):
        reason = f"it was moved, and {place} exists again; move that file away, then try again"
        return Clash(file.path, 0, now and now.text, file.text, reason)
    lines = [one for one in hunks if one.kind == "text"]
    if lines:
        step = await _of_lines(file, lines, state, now, newer)
        if isinstance(step, Clash) or not whole:
            return step
    return _of_file(file, whole, state, now, place)


def _is_moved_back(file: FileLedger) -> bool:
    return any(one.kind == "moved" and one.state == "undone" for one in file.hunks)


def _overtaken(
    ledger: Ledger,
    turn_id: str,
    newer: Sequence[tuple[str, FileLedger]],
    file: FileLedger,
    hunks: Sequence[Hunk],
) -> str | None:
    """Return why hunks cannot be decided about yet: a newer turn did something to the whole file,
    or another file has its name.
    """
    is_whole = any(one.kind != "text" for one in hunks)
    for newer_id, other in newer:
        effective = {one.kind for one in other.hunks if one.state != "undone"}
        if effective and other.lost is not None:
            effective.add("deleted" if other.text is None else "created")
        for kind, deed in _DEEDS.items():
            if kind in effective and (is_whole or kind != "moved"):
                return _first_that(newer_id, other, deed)
    chain = ledger.chains[file.number]
    if not ledger.is_taken(chain) or (chain.is_gone and len(hunks) > 1):
        return None
    there, turns = ledger.at(chain.path), list(ledger.turns)
    for one in there.touches[::-1] if there else ():
        if there is None or one.turn_id not in ledger.turns:
            continue
        taker = ledger.turns[one.turn_id].files.get(there.number)
        is_newer = turns.index(one.turn_id) > turns.index(turn_id)
        if taker is not None and is_newer and one.path != one.new_path == chain.path:
            return _first_that(one.turn_id, taker, "gave its name to another file")
    return TAKEN


def _first_that(turn_id: str, other: FileLedger, deed: str) -> str:
    if other.open():
        return f"a newer turn, {turn_id}, {deed}; undo that first"
    return f"a newer turn, {turn_id}, {deed}, and you kept that; only a restore goes back before it"


async def _of_image(
    workspace: Workspace, file: FileLedger, hunk: Hunk, state: HunkState
) -> Step | Clash:
    if file.images is None:
        raise bug(f"{file.path} was not changed as a whole")
    before, after = file.images
    images = (after, before) if state == "undone" else (before, after)
    edit = await put_back(workspace, file.path, images)
    return edit if isinstance(edit, Clash) else Step((hunk.id,), edit)


async def _of_lines(
    file: FileLedger,
    hunks: Sequence[Hunk],
    state: HunkState,
    now: TextFile | None,
    newer: Sequence[tuple[str, FileLedger]],
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
    if newer and (reason := await _done_by(newer, file, hunks, state, now.text)) is not None:
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


async def _done_by(
    newer: Sequence[tuple[str, FileLedger]],
    file: FileLedger,
    hunks: Sequence[Hunk],
    state: HunkState,
    now: str,
) -> str | None:
    """Return why a hunk waits that is as wanted: a newer turn made it so, and its own undo would
    take that back.
    """
    text = file.text or ""
    changes = changes_between(list(lines_of(text)), list(lines_of(now)))
    for hunk in hunks:
        goal = file.decided((hunk.id,), state).text or ""
        if not hunk.touched(changes) or not await _is_so(text, now, goal):
            continue
        for turn_id, other in newer:
            before, after = other.base, other.text
            if before is None or after is None or all(one.state == "undone" for one in other.hunks):
                continue
            if await _is_so(text, after, goal) and not await _is_so(text, before, goal):
                deed = "took it back already" if state == "undone" else "did it again already"
                return _first_that(turn_id, other, deed)
    return None


async def _is_so(text: str, now: str, goal: str) -> bool:
    merged = await merged_texts(text, now, goal)
    return not merged.replacements and not merged.conflicts


def _of_file(
    file: FileLedger, whole: Sequence[Hunk], state: HunkState, now: TextFile | None, place: str
) -> Step | Clash:
    """Return the step of the first of the changes of the whole file."""
    hunk, ids = whole[0], (whole[0].id,)
    if hunk.kind == "moved":
        if now is None:
            return Clash(file.path, 0, None, file.text, MISSING)
        if place == file.path:
            return Step(ids, None)
        return Step(ids, MoveFile(path=file.path, base_version=now.version, new_path=place))
    if (hunk.kind == "created") == (state == "undone"):
        if now is None:
            return Step(ids, None)
        # A deletion that is done again takes what it took, and nothing that came since.
        taken = file.lost if hunk.kind == "deleted" else file.text
        if hunk.is_mixed or not is_reformatted(lines_of(taken or ""), lines_of(now.text)):
            return Clash(file.path, 0, now.text, None, "it was changed since")
        return Step(ids, DeleteFile(path=file.path, base_version=now.version))
    return _back(file, whole, now, place)


def _back(
    file: FileLedger, whole: Sequence[Hunk], now: TextFile | None, place: str
) -> Step | Clash:
    """Return the step by which a file comes back that was taken away."""
    ids = (whole[0].id,)
    if file.lost is None:
        raise bug(f"{file.path} was taken away and its text is not known")
    if place != file.path:
        # What was moved and then deleted comes back at once where it was before.
        ids, now = tuple(one.id for one in whole), None
    if now is None:
        return Step(ids, CreateFile(path=place, text=file.lost, mode=file.modes.lost))
    if flat(now.text) == flat(file.lost):
        return Step(ids, None)
    return Clash(file.path, 0, now.text, file.lost, "there is another file now")
