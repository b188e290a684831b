"""Files brought back to how they were before a turn, or before a call of it.

Every edit since then is taken back, newest first, each by a three-way merge: what others typed
before, between and after the edits stays, and so does what the user decided about older changes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import NamedTuple

from agent_ls.domain.edits import (
    ChangeText,
    CreateFile,
    DeleteFile,
    FileEdit,
    MoveFile,
    TextFile,
    apply_replacements,
)
from agent_ls.domain.events import ReviewDecided
from agent_ls.domain.images import PutImage
from agent_ls.edits.line_ends import with_ends_of
from agent_ls.edits.lines import BOM
from agent_ls.edits.minimal import replacements_between
from agent_ls.edits.modes import FileModes
from agent_ls.edits.reformatted import is_reformatted
from agent_ls.loop.ports.store import Blobs
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.review.file_changes import holds_same, joined
from agent_ls.review.hunks import flat, lines_of
from agent_ls.review.ledger import FileChain, Ledger, names_in
from agent_ls.review.steps import APART, MISSING, Clash, merged_texts, put_back
from agent_ls.review.touches import Touch, both_images, images_of, text_of, texts_of

Sides = tuple[str | None, str | None]
"""The text before and after an edit; None: no file."""


class RestorePoint(NamedTuple):
    """A moment that files can be brought back to: before a turn, or before a call of it."""

    turn_id: str
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class Since:
    """What happened to one file since a moment."""

    chain: FileChain
    touches: Sequence[Touch]
    """Oldest first; never none."""

    @property
    def goal(self) -> str:
        """Return where the file was at the moment; a rename of the user's stays."""
        moves = [one for one in self.touches if one.path != one.new_path]
        if not moves or moves[0].path == moves[-1].new_path:
            return self.chain.path
        return moves[0].path


def calls_that_changed(ledger: Ledger, turn_id: str) -> list[str]:
    """Return the calls of a turn that changed files, in the order of its answers."""
    changed = {one.call_id for one in ledger.touches}
    return [call for call, turn in ledger.turn_of.items() if turn == turn_id and call in changed]


def moment_before(ledger: Ledger, hunk_id: str) -> RestorePoint | None:
    """Return the moment before the call that changed a hunk last; None for an unknown one."""
    for one in ledger.touches:
        if one.call_id and f"{hunk_id}.".startswith(f"{one.at}."):
            return RestorePoint(one.turn_id, one.call_id)
    return None


def chains_since(ledger: Ledger, point: RestorePoint) -> list[Since]:
    """Return the edits since a moment, file by file, the file that was edited last first."""
    calls = _calls_since(ledger, point)
    found: list[Since] = []
    for chain in ledger.chains:
        since: list[Touch] = []
        older = {one.at for one in chain.touches if _is_older(ledger, one, calls, point)}
        for one in chain.touches:
            decision = one.decision
            if decision is None:
                since += [one] if one.call_id in calls else []
            elif _is_since(ledger, decision, older, point):
                since.append(one)
            elif decision.decision == "restore" or one.is_gone or one.is_new:
                # It took all of them back, or the whole file away.
                since = []
        if since:
            found.append(Since(chain, since))
    return sorted(found, key=lambda one: int(one.touches[-1].at.partition(".")[0]), reverse=True)


def _calls_since(ledger: Ledger, point: RestorePoint) -> set[str]:
    """Return the calls from a moment on as the model made them: some of one answer run at once."""
    if point.call_id:
        calls = list(ledger.turn_of)
        return set(calls[calls.index(point.call_id) :])
    turns = list(ledger.turns)
    later = set(turns[turns.index(point.turn_id) :])
    return {call for call, turn in ledger.turn_of.items() if turn in later}


def _is_older(ledger: Ledger, touch: Touch, calls: Collection[str], point: RestorePoint) -> bool:
    """Say whether what a touch left was done before a moment, from which on these calls are."""
    decision = touch.decision
    if decision is None:
        return touch.call_id not in calls
    # A restore to before a call leaves what the turn had done by then, and nothing else.
    place = _place(ledger, decision.turn_id, decision.call_id)
    return bool(decision.call_id) and place <= _place(ledger, *point)


def _is_since(
    ledger: Ledger, decision: ReviewDecided, older: Collection[str], point: RestorePoint
) -> bool:
    """Say whether a decision was about changes since a moment alone, and none of ``older`` edits.

    Where a hunk is of edits before and after the moment, its id is that of the last one.
    """
    there, moment = _place(ledger, decision.turn_id, decision.call_id), _place(ledger, *point)
    if decision.decision == "restore":
        return there >= moment
    return there[0] >= moment[0] and not names_in(decision.hunks).intersection(older)


def _place(ledger: Ledger, turn_id: str, call_id: str) -> tuple[int, int]:
    """Return a moment's place among all: by turns, and by calls as the model made them."""
    turns, calls = list(ledger.turns), list(ledger.turn_of)
    return (
        turns.index(turn_id) if turn_id in turns else -1,
        calls.index(call_id) if call_id in calls else -1,
    )


async def restoring_step(
    workspace: Workspace,
    blobs: Blobs,
    ledger: Ledger,
    since: Since,
    freed: Collection[str] = (),
) -> FileEdit | PutImage | Clash | None:
    """Return the next edit that brings a file back; None when it is as it was.

    Shape: after a move there may be another one, after any other edit it is done. ``freed`` names
    count as free.

    Errors: ``WorkspaceError`` for a file that cannot be read, ``BytesDamaged`` where the store has
    lost what it was.
    """
    chain, touches = since.chain, since.touches
    is_taken = ledger.is_taken(chain)
    images = [await images_of(one, blobs.get_blob) for one in touches]
    if any(one is not None for one in images):
        return await _image_back(workspace, blobs, since)
    is_there = not is_taken and await workspace.exists(chain.path)
    now = await workspace.read(chain.path) if is_there else None
    sides = [await texts_of(one, blobs.get_blob) for one in touches]
    try:
        goal = await _without(sides, now.text if now else None)
        goal = await _beside_mark(workspace, now, goal)
        if now is not None and goal == now.text and (left := await _left_on_disk(sides, now)):
            return left
    except _Contradiction as error:
        wanted = await text_of(touches[0].before_blob, blobs.get_blob)
        return Clash(chain.path, error.line, now.text if now else None, wanted, str(error))
    if goal is None:
        return None if now is None else DeleteFile(path=chain.path, base_version=now.version)
    return await _edit_to(workspace, since, freed, now, goal, sides[0][0] or "")


async def _edit_to(
    workspace: Workspace,
    since: Since,
    freed: Collection[str],
    now: TextFile | None,
    goal: str,
    exact: str,
) -> FileEdit | Clash | None:
    """Return the edit that makes the goal of what is there now."""
    path, place = since.chain.path, since.goal
    if (now is None or path != place) and place not in freed and await workspace.exists(place):
        went = "deleted" if since.chain.is_gone else "moved"
        reason = f"it was {went}, and {place} exists again; move that file away, then try again"
        return Clash(path, 0, now and now.text, goal, reason)
    modes = FileModes()
    for one in since.touches:
        modes = modes.touched(one.modes, is_gone=one.after_blob is None)
    if now is None:
        return CreateFile(path=place, text=goal, mode=modes.lost)
    if path != place:
        return MoveFile(path=path, base_version=now.version, new_path=place)
    if replacements := replacements_between(now.text, goal):
        replacements = with_ends_of(exact, now.text, replacements)
        back = modes.back()
        return ChangeText(path=path, base_version=now.version, replacements=replacements, mode=back)
    return None


async def _image_back(workspace: Workspace, blobs: Blobs, since: Since) -> PutImage | Clash | None:
    path = since.chain.path
    if any(one.path != one.new_path for one in since.touches):
        return Clash(path, 0, None, None, "it is no text, and was moved since")
    images = [await both_images(one, blobs.get_blob) for one in since.touches]
    for older, newer in pairwise(images):
        if not holds_same(older[1], newer[0]):
            return Clash(path, 0, None, None, "it was changed by somebody else, too")
    before, after = reduce(joined, images)
    return await put_back(workspace, path, (after, before))


class _Contradiction(Exception):
    """An edit cannot be taken back: its lines were changed since."""

    def __init__(self, reason: str, line: int = 0) -> None:
        super().__init__(reason)
        self.line = line


async def _beside_mark(workspace: Workspace, now: TextFile | None, goal: str | None) -> str | None:
    """Return the goal without the byte order mark that a file has and its text does not show."""
    if now is None or goal is None or not goal.startswith(BOM) or now.text.startswith(BOM):
        return goal
    is_marked = (await workspace.snapshot(now.path) or b"").startswith(BOM.encode())
    return goal.removeprefix(BOM) if is_marked else goal


async def _without(sides: Sequence[Sides], text: str | None) -> str | None:
    """Return a text without edits, each with its own texts before and after, oldest first."""
    for before, after in _joined(sides):
        text = await _taken_back(before, after, text)
    return text


async def _left_on_disk(sides: Sequence[Sides], now: TextFile) -> Clash | None:
    """Return why it is not enough that unsaved text has none of the edits: the disk has some."""
    wanted = await _without(sides, now.on_disk) if now.on_disk is not None else None
    if _bare(wanted) == _bare(now.on_disk):
        return None
    return Clash(now.path, 0, now.on_disk, wanted, APART)


def _joined(
    sides: Sequence[Sides],
) -> Iterator[Sides]:
    """Yield the texts before and after each edit, newest first; as one where they touch."""
    held: Sides | None = None
    for before, after in reversed(sides):
        if held is not None and after is not None and _bare(held[0]) == _bare(after):
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
        raise _Contradiction(MISSING)
    if before is None:
        if not is_reformatted(lines_of(after), lines_of(now)):
            raise _Contradiction("it was made by the agent and changed since")
        return None
    text = now.removeprefix(BOM)
    merged = await merged_texts(flat(after), text, flat(before))
    if merged.conflicts:
        raise _Contradiction("these lines were changed since", merged.conflicts[0].line)
    return now[: len(now) - len(text)] + apply_replacements(text, merged.replacements)


def _bare(text: str | None) -> str | None:
    """Return a text without byte order mark: the bytes before an edit have it, its text not."""
    return None if text is None else text.removeprefix(BOM)
