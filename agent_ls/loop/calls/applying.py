"""Applies the edits of one call in order, each recorded, and stops at the first failure.

The tool planned all edits beforehand, so only a change in between can stop it midway. The result
then says which files changed and which did not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agent_ls.domain.edits import EditOutcome, FileEdit
from agent_ls.domain.errors import WorkspaceError
from agent_ls.domain.events import EditApplied, EditIntended, StoredEvent
from agent_ls.loop.calls.edit_recorder import EditRecorder
from agent_ls.loop.edit_order import edited_places
from agent_ls.loop.shielding import settled
from agent_ls.loop.turn import Turn


@dataclass(frozen=True, slots=True)
class Unapplied:
    """The edit at which a call stopped, and the files that its earlier edits changed."""

    edit: FileEdit
    outcome: EditOutcome
    changed: tuple[str, ...]


async def apply_all(call_id: str, edits: Sequence[FileEdit], turn: Turn) -> Unapplied | None:
    """Apply the edits in order and stop at the first failure; None when all are applied."""
    for number, edit in enumerate(edits):
        # A started edit always gets its outcome recorded, even if the turn is cancelled meanwhile.
        outcome = await settled(_apply(call_id, edit, turn))
        if outcome.status != "applied":
            changed = tuple(dict.fromkeys(one.path for one in edits[:number]))
            return Unapplied(edit, outcome, changed)
    return None


def changed_by(events: Iterable[StoredEvent], call_id: str) -> tuple[str, ...]:
    """Return the paths that a call's applied edits changed, in order."""
    return tuple(
        stored.event.path
        for stored in events
        if isinstance(stored.event, EditApplied)
        and stored.event.call_id == call_id
        and stored.event.status == "applied"
    )


async def _apply(call_id: str, edit: FileEdit, turn: Turn) -> EditOutcome:
    services = turn.services
    recorder = EditRecorder(turn.recorder, services.workspace, services.blobs, services.watch)
    intent = EditIntended(call_id=call_id, edit=edit, before_blob=None)
    try:
        async with services.order.of(edited_places(services.workspace, edit)):
            return await recorder.apply(edit, intent)
    except WorkspaceError as error:
        return EditOutcome(status="refused", reason=str(error))
