"""A session that begins with one turn whose changes are all undone.

The changes were made elsewhere, such as in a worktree. To redo them merges each into the file as
it is now, by the rules of the review: what is in conflict stays undone, and nothing is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agent_ls.domain.events import (
    Event,
    ReviewDecided,
    SessionCreated,
    StoredEvent,
    TurnEnded,
    TurnStarted,
)
from agent_ls.domain.stops import STATUS, StopReason
from agent_ls.loop.calls.command_changes import stored_change
from agent_ls.loop.ports.commands import CommandChange
from agent_ls.loop.ports.store import Blobs
from agent_ls.review.ledger import Ledger

_NO_CALL = ""


async def undone_turn(
    created: SessionCreated,
    begun: TurnStarted,
    output: str,
    changes: Sequence[CommandChange],
    *,
    blobs: Blobs,
    at_ms: int,
    new_id: Callable[[], str],
) -> list[StoredEvent]:
    """Return the journal of such a session; ``new_id`` names each decision.

    Both sides of all changes are in ``blobs`` then.
    """
    journal: list[StoredEvent] = []
    ledger = Ledger(blobs.get_blob)

    async def add(event: Event) -> None:
        session_id, seq = created.session_id, len(journal) + 1
        stored = StoredEvent(session_id=session_id, seq=seq, at_ms=at_ms, event=event)
        journal.append(stored)
        await ledger.feed(stored)

    await add(created)
    await add(begun)
    for change in changes:
        await add(await stored_change(_NO_CALL, change, blobs))
    stop = StopReason.COMPLETED
    turn_id = begun.turn_id
    await add(TurnEnded(turn_id=turn_id, stop=stop, status=STATUS[stop], output=output))
    # By these a created file comes back as executable as it was.
    modes = {one.path: one.modes[1] for one in changes if one.is_new}
    for file in list(ledger.turns[turn_id].files.values()):
        await add(
            ReviewDecided(
                review_id=new_id(),
                decision="undo",
                turn_id=turn_id,
                path=file.path,
                hunks=tuple(hunk.id for hunk in file.hunks),
                before_mode=modes.get(file.path),
            )
        )
    return journal
