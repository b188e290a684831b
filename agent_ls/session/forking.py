"""Forks a session: builds a journal with the same events up to a turn or an event.

Pure: reads a journal and returns one. Files are not restored; only the conversation is forked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from agent_ls.domain.calls import ErrorKind
from agent_ls.domain.errors import StoreError
from agent_ls.domain.events import (
    Event,
    FileRenamed,
    Moved,
    PromptQueued,
    ReviewApplied,
    ReviewDecided,
    SessionCreated,
    StoredEvent,
    TurnEnded,
    TurnStarted,
)
from agent_ls.domain.phases import Phase
from agent_ls.domain.stops import STATUS, StopReason
from agent_ls.loop.machine.breaking_off import results_of_open_calls
from agent_ls.loop.state.folding import fold_all

_CUT = "The session was branched off here, before this call was over; its effect is unknown."
_NEVER = "The session was branched off here, before this call began; it had no effect."


def place_of_turn(journal: Sequence[StoredEvent], turn: str | None) -> int:
    """Return the seq at which to fork after a turn, named by its id or its number from 1.

    That is the turn's end, or its last review event before the next turn.
    None: the newest finished turn. Errors: ``StoreError`` when there is no such turn or it runs.
    """
    begun = [one.event.turn_id for one in journal if isinstance(one.event, TurnStarted)]
    ends = {one.event.turn_id: one.seq for one in journal if isinstance(one.event, TurnEnded)}
    if turn is None:
        if not ends:
            raise StoreError("no turn of this session is over, so there is none to go on from")
        return _reviewed_until(journal, max(ends.values()))
    named = turn
    if turn.isdecimal() and 0 < int(turn) <= len(begun):
        named = begun[int(turn) - 1]
    if named not in begun:
        raise StoreError(f"there is no turn {turn}; the session has {len(begun)}, numbered from 1")
    if named not in ends:
        raise StoreError(f"turn {turn} is not over; stop it, or branch off at an earlier one")
    return _reviewed_until(journal, ends[named])


def _reviewed_until(journal: Sequence[StoredEvent], end: int) -> int:
    """Return the seq of the last review event between a turn's end and the next turn, or ``end``.

    So the fork keeps the turn's decisions and the names of renamed files.
    """
    place = end
    for one in journal:
        if one.seq > end and isinstance(one.event, TurnStarted):
            break
        if one.seq > end and isinstance(one.event, (ReviewDecided, ReviewApplied, FileRenamed)):
            place = one.seq
    return place


def forked(
    journal: Sequence[StoredEvent], session_id: str, last_seq: int, now_ms: int
) -> list[StoredEvent]:
    """Return the journal of a fork that ends after event ``last_seq``.

    A turn that was running then is ended as cancelled, with a result for each call; the queue is
    left out. Errors: ``StoreError`` when there is no such event.
    """
    kept = [one for one in journal if one.seq <= last_seq]
    if not kept or not 0 < last_seq <= journal[-1].seq:
        raise StoreError(f"there is no event {last_seq}; the session has {len(journal)}")
    source = journal[0].session_id
    waiting = {id(one) for one in fold_all(kept).queue}
    kept = [
        one
        for one in kept
        if not (isinstance(one.event, PromptQueued) and id(one.event) in waiting)
    ]
    seqs = {str(one.seq): str(seq) for seq, one in enumerate(kept, start=1)}
    events = [(_own(one.event, session_id, source, last_seq, seqs), one.at_ms) for one in kept]
    events += [(event, now_ms) for event in _endings(kept)]
    return [
        StoredEvent(session_id=session_id, seq=seq, at_ms=at_ms, event=event)
        for seq, (event, at_ms) in enumerate(events, start=1)
    ]


def _own(
    event: Event, session_id: str, source: str, last_seq: int, seqs: Mapping[str, str]
) -> Event:
    """Return an event for the fork; ``seqs`` maps the source's event numbers to the fork's."""
    if isinstance(event, ReviewDecided):
        # A hunk's id begins with the number of its event.
        parted = [one.partition(".") for one in event.hunks]
        hunks = tuple(seqs.get(seq, seq) + dot + rest for seq, dot, rest in parted)
        return event.model_copy(update={"hunks": hunks})
    if not isinstance(event, SessionCreated):
        return event
    # A fork belongs to the user, even of a sub-agent's session.
    return event.model_copy(
        update={
            "session_id": session_id,
            "forked_from": source,
            "forked_at": last_seq,
            "agent": "",
            "parent_id": "",
            "parent_call_id": "",
        }
    )


def _endings(kept: Sequence[StoredEvent]) -> Iterator[Event]:
    """Yield the events that end a turn cut off by the fork."""
    state = fold_all(kept)
    turn = state.turn
    if turn is None or not state.is_running:
        return
    yield from results_of_open_calls(turn, ErrorKind.CANCELLED, not_begun=_NEVER, begun=_CUT)
    stop = StopReason.CANCELLED
    why = "Branched off in the middle of this turn."
    yield Moved(to=Phase.DONE, stop=stop, why=why)
    yield TurnEnded(
        turn_id=turn.turn_id,
        stop=stop,
        status=STATUS[stop],
        output=turn.answer.text if turn.answer else "",
        failure_reason=why,
    )
