"""Forks a session: builds a journal with the same events up to a turn's end or beginning.

Pure: reads a journal and returns one. Files are not restored; only the conversation is forked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agent_ls.domain.errors import StoreError
from agent_ls.domain.events import (
    Event,
    FileRenamed,
    PromptQueued,
    ReviewApplied,
    ReviewDecided,
    SessionArchived,
    SessionCreated,
    SessionRenamed,
    StoredEvent,
    TurnEnded,
    TurnStarted,
)
from agent_ls.loop.state.folding import fold_all


def fork_seq_after(journal: Sequence[StoredEvent], turn: str | None) -> int:
    """Return the seq at which to fork after a turn, named by its id or its number from 1.

    That is the turn's end, or its last review event before the next turn.
    None: the newest finished turn. Errors: ``StoreError`` when there is no such turn or it runs.
    """
    begun = [one.event.turn_id for one in journal if isinstance(one.event, TurnStarted)]
    ends = {one.event.turn_id: one.seq for one in journal if isinstance(one.event, TurnEnded)}
    if turn is None:
        if not ends:
            raise StoreError("this session has no finished turn to fork from")
        return _reviewed_until(journal, max(ends.values()))
    named = _id_of(begun, turn)
    if named not in ends:
        raise StoreError(f"turn {turn} is not over; stop it, or branch off at an earlier one")
    return _reviewed_until(journal, ends[named])


def fork_seq_before(journal: Sequence[StoredEvent], turn: str) -> int:
    """Return the seq at which to fork before a turn, named by its id or its number from 1.

    The turn itself may still run. Errors: ``StoreError`` when there is no such turn.
    """
    starts = {one.event.turn_id: one.seq for one in journal if isinstance(one.event, TurnStarted)}
    return starts[_id_of(list(starts), turn)] - 1


def _id_of(begun: Sequence[str], turn: str) -> str:
    """Return the id of a turn that is named by its id or its number from 1."""
    if turn.isdecimal() and 0 < int(turn) <= len(begun):
        return begun[int(turn) - 1]
    if turn not in begun:
        raise StoreError(f"there is no turn {turn}; the session has {len(begun)}, numbered from 1")
    return turn


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


def fork_journal(
    journal: Sequence[StoredEvent], session_id: str, last_seq: int
) -> list[StoredEvent]:
    """Return the journal of a fork that ends with event ``last_seq``, where no turn runs.

    Prompts that wait in the queue are left out. The fork has the source's title of today and is
    not archived.
    """
    kept = [one for one in journal if one.seq <= last_seq]
    source = journal[0].session_id
    queue = fold_all(kept).queue
    waiting, named = {id(one) for one in queue}, {one.id for one in queue if one.id}
    kept = [
        one
        for one in kept
        if not (
            isinstance(one.event, SessionArchived)
            or (
                isinstance(one.event, PromptQueued)
                and (id(one.event) in waiting or one.event.id in named)
            )
        )
    ]
    titles = [one for one in journal if isinstance(one.event, SessionRenamed)]
    kept += [one for one in titles[-1:] if one.seq > last_seq]
    seqs = {str(one.seq): str(seq) for seq, one in enumerate(kept, start=1)}
    return [
        StoredEvent(
            session_id=session_id,
            seq=seq,
            at_ms=one.at_ms,
            event=_own(one.event, session_id, source, last_seq, seqs),
        )
        for seq, one in enumerate(kept, start=1)
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
