"""What the agent changed in a session, for the command line: its turns, diffs and decisions.

The rules are the review's (``agent_ls/review``); here are only the names and the words.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from agent_ls.domain.errors import StoreError, WorkspaceError
from agent_ls.domain.review import HunkState, ReviewDecision
from agent_ls.domain.sentences import counted, sentence
from agent_ls.edits.diff import diff_to_read, hunks_to_read
from agent_ls.edits.notebooks import lines_to_read
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.review.file_changes import FileLedger
from agent_ls.review.hunks import Hunk
from agent_ls.review.ledger import Ledger, Selection, TurnLedger
from agent_ls.review.places import placed
from agent_ls.review.steps import FileResult
from agent_ls.safety.text import visible_line
from agent_ls.session.session import Session

_Deed = ReviewDecision | Literal["merge"]
_DONE: Mapping[_Deed, str] = {
    "keep": "Kept",
    "undo": "Undone",
    "redo": "Redone",
    "restore": "Restored",
    "merge": "Merged",
}
_WOULD = {"change": "change", "create": "create", "delete": "delete", "move": "move"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a decision, in words."""

    lines: tuple[str, ...]
    clashes: tuple[str, ...] = ()
    """For each conflict a diff, from the file as it is to what the decision alone would make."""
    is_whole: bool = True
    """Whether nothing was left undone."""


def turn_named(ledger: Ledger, named: str) -> TurnLedger:
    """Return a turn by its number, from 1, or by its id.

    Errors: ``StoreError`` when there is no such turn.
    """
    turns = list(ledger.turns.values())
    if named.isdecimal() and 0 < int(named) <= len(turns):
        return turns[int(named) - 1]
    if named in ledger.turns:
        return ledger.turns[named]
    raise StoreError(
        f"there is no turn {named}; the session has {counted(len(turns), 'turn')}, numbered from 1"
    )


def newest_turn(ledger: Ledger, state: HunkState) -> TurnLedger | None:
    """Return the newest turn with changes in this state."""
    return next(
        (
            turn
            for turn in reversed(list(ledger.turns.values()))
            if any(file.those(state) for file in turn.files.values())
        ),
        None,
    )


async def turn_diff(workspace: Workspace, turn: TurnLedger, path: str | None = None) -> str:
    """Return what a turn changed as a diff to read, later typing included; empty if nothing."""
    files = (one for one in turn.files.values() if one.hunks and path in (None, one.path))
    diffs = [await _file_diff(workspace, one) for one in sorted(files, key=lambda file: file.path)]
    return "".join(diffs)


async def _file_diff(workspace: Workspace, file: FileLedger) -> str:
    if file.images is not None:
        name = visible_line(file.path)
        return f"--- a/{name}\n+++ b/{name}\n({file.hunks[0].title})\n"
    now = await text_now(workspace, file.path)
    origin = file.moved_from or file.path
    return await asyncio.to_thread(diff_to_read, file.base, now, origin, file.path)


async def text_now(workspace: Workspace, path: str) -> str | None:
    """Return a file's text; None if there is none."""
    try:
        return (await workspace.read(path)).text
    except WorkspaceError:
        return None


async def hunk_diff(workspace: Workspace, file: FileLedger, hunk: Hunk) -> str:
    """Return one change as a diff with the line numbers that it has now."""
    head = f"--- a/{file.moved_from or file.path}\n+++ b/{file.path}\n"
    if hunk.kind in ("moved", "opaque"):
        return f"{head}({hunk.kind}: {visible_line(hunk.title)})\n"
    now = await text_now(workspace, file.path)
    places = placed(file, now) if now is not None else []
    first = next((one.first for one in places if one.hunk.id == hunk.id), hunk.first)
    old, new = (lines_to_read(file.path, lines) for lines in (hunk.old, hunk.new))
    if hunk.kind in ("created", "deleted"):
        # A whole text has an empty piece behind its last line break.
        old, new = (lines[:-1] if lines[-1:] == [""] else lines for lines in (old, new))
    lines = [
        line for line in hunks_to_read(list(old), list(new), around=0) if not line.startswith("@@")
    ]
    ranges = f"@@ -{first + 1},{len(old)} +{first + 1},{len(new)} @@"
    return "\n".join([head + ranges, *lines, ""])


async def decide(session: Session, decision: ReviewDecision, chosen: Selection) -> Outcome:
    """Keep, undo or redo changes, and say what became of each file."""
    results = await session.review.decide(decision, chosen)
    lost: list[str] = []
    if decision == "undo" and chosen.path is None and chosen.hunks is None:
        lost = [one.text for one in await session.review.lost(chosen.turn_id, only=True)]
        turns = [
            one
            for one in (await session.review.ledger()).turns.values()
            if chosen.turn_id in (None, one.turn_id)
        ]
        lost += [program.after_undo for one in turns for program in one.background]
        left = sum(one.left_files for one in turns)
        if left:
            lost.append(
                f"{counted(left, 'more file')} that commands changed were not under review: undo "
                "left them as they are"
            )
    return _outcome(decision, results, lost)


async def merge(session: Session) -> tuple[Outcome, list[str]]:
    """Redo all that is undone, said as a merge; also return the files that are merged wholly."""
    results = await session.review.decide("redo", Selection())
    whole = [one.path for one in results if one.status == "done"]
    return _outcome("merge", results, []), whole


async def restore(session: Session, turn_id: str, *, is_dry: bool) -> Outcome:
    """Bring all files back to before a turn, or say what that would do."""
    results = await session.review.restore(turn_id, dry_run=is_dry)
    if is_dry:
        lines = [
            f"Would {_WOULD.get(one.edit or 'change', 'change')} {one.path}"
            if one.status == "done"
            else f"Would leave {one.path}: {one.reason}"
            for one in results
            if one.status != "nothing"
        ]
        return Outcome(tuple(lines) or ("Nothing would change.",))
    lost = [one.text for one in await session.review.lost(turn_id)]
    return _outcome("restore", results, lost)


def _outcome(decision: _Deed, results: Sequence[FileResult], lost: Sequence[str]) -> Outcome:
    lines: list[str] = []
    clashes: list[str] = []
    is_whole = True
    for one in results:
        if one.status == "done" or one.hunks:
            many = f": {counted(one.hunks, 'change')}" if one.hunks else ""
            lines.append(f"{_DONE[decision]} {visible_line(one.path)}{many}")
        if one.status in ("conflict", "refused"):
            is_whole = False
            why = f"{one.path}: {decision} was not possible, {one.reason}"
            lines.append(visible_line(sentence(why)))
            if one.clash is not None and one.clash.has_texts:
                clashes.append(diff_to_read(one.clash.now, one.clash.wanted, one.clash.path))
    if not results and not lost:
        lines.append(f"There is nothing to {decision}.")
    lines += [visible_line(sentence(one)) for one in lost]
    return Outcome(tuple(lines), tuple(clashes), is_whole)
