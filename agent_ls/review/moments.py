"""The moments that files can be restored to, and what has happened to each file since one.

Pure: asks the ledger. What the person decided about older changes is theirs, like their typing.
"""

from __future__ import annotations

from dataclasses import replace

from agent_ls.domain.events import ReviewDecided
from agent_ls.review.ledger import Ledger, RestorePoint
from agent_ls.review.lineages import Lineage, names_in
from agent_ls.review.touches import Touch


def calls_that_changed(ledger: Ledger, turn_id: str) -> list[str]:
    """Return the calls of a turn that changed files, in the order of its answers."""
    changed = {one.call_id for one in ledger.touches}
    return [call for call, turn in ledger.turn_of.items() if turn == turn_id and call in changed]


def moment_before(ledger: Ledger, hunk_id: str) -> RestorePoint | None:
    """Return the moment before the call that changed a hunk last; None for an unknown one."""
    for one in reversed(ledger.touches):
        if one.call_id and f"{hunk_id}.".startswith(f"{one.at}."):
            return RestorePoint(one.turn_id, one.call_id)
    return None


def lineages(ledger: Ledger, point: RestorePoint) -> list[Lineage]:
    """Return every edit since a moment, those of one file together.

    Shape: the file that was touched last comes first; nothing for a call that changed none.
    """
    if point.call_id and point.call_id not in calls_that_changed(ledger, point.turn_id):
        return []
    calls = _calls_since(ledger, point)
    older = {one.at for one in ledger.touches if _is_before(ledger, one, point, calls)}
    found: list[Lineage] = []
    for lineage in ledger.lineages.all():
        since: list[Touch] = []
        for one in lineage.touches:
            decision = one.decision
            if decision is not None and _is_about(ledger, decision, point, older):
                since = _decided_before(since, one)
            elif decision is not None or one.call_id in calls:
                since.append(one)
        if since:
            found.append(replace(lineage, touches=since))
    return found


def _decided_before(since: list[Touch], one: Touch) -> list[Touch]:
    """Return what is left of the edits since a moment after a decision about older changes.

    Shape: none of a file that was taken away, brought back or restored with all of them; where it
    was moved to it belongs.
    """
    is_restored = one.decision is not None and one.decision.decision == "restore"
    if not since or one.is_gone or one.brings_back:
        return []
    if one.path == one.new_path:
        return [] if is_restored else since
    if is_restored or one.path == since[0].path:
        return [replace(each, path=one.new_path, new_path=one.new_path) for each in since]
    return [*since, one]


def _calls_since(ledger: Ledger, point: RestorePoint) -> set[str]:
    """Return the calls from a moment on as the model made them: some of one answer run at once."""
    if point.call_id:
        calls = list(ledger.turn_of)
        return set(calls[calls.index(point.call_id) :])
    turns = list(ledger.turns)
    later = set(turns[turns.index(point.turn_id) :])
    return {call for call, turn in ledger.turn_of.items() if turn in later}


def _is_before(ledger: Ledger, touch: Touch, point: RestorePoint, calls: set[str]) -> bool:
    """Say whether what is left of a touch was done before a moment, from which on these calls are.

    Not its number says that: of calls that run at once a later one may be the faster.
    """
    if touch.decision is None:
        return touch.call_id not in calls
    there, moment = _place(ledger, _point_of(touch.decision)), _place(ledger, point)
    if not touch.decision.call_id:
        # What an undo leaves can be of any call of its turn.
        return there[0] < moment[0]
    # A restore to before a call leaves what the turn had done by then, and nothing else.
    return there <= moment


def _is_about(
    ledger: Ledger, decision: ReviewDecided, point: RestorePoint, older: set[str]
) -> bool:
    """Say whether a decision was about changes of before a moment too: those of ``older`` edits."""
    if decision.hunks:
        return not older.isdisjoint(names_in(decision.hunks))
    return _place(ledger, _point_of(decision)) < _place(ledger, point)


def _point_of(decision: ReviewDecided) -> RestorePoint:
    return RestorePoint(decision.turn_id, decision.call_id)


def _place(ledger: Ledger, point: RestorePoint) -> tuple[int, int]:
    """Return a moment's place among all: by turns, and by calls as the model made them."""
    turns, calls = list(ledger.turns), list(ledger.turn_of)
    return (
        turns.index(point.turn_id) if point.turn_id in turns else -1,
        calls.index(point.call_id) if point.call_id in calls else -1,
    )
