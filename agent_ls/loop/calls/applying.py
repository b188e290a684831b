"""The edits of one call are applied, each with its record, and all or none.

When one of them cannot be applied, those before it are taken back, last first, each by an edit of
its own, and only where the file still is what the edit left.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from agent_ls.domain.edits import EditOutcome, FileEdit, taken_back, text_after, text_of
from agent_ls.domain.errors import WorkspaceError
from agent_ls.domain.events import EditApplied, EditIntended, StoredEvent
from agent_ls.loop.calls.edit_recorder import EditRecorder, Recorded
from agent_ls.loop.edit_order import edited_places
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.loop.settling import finished, settled
from agent_ls.loop.turn import Turn

_BOM = "\ufeff"
_CHANGED_SINCE = "it has been changed again since"


@dataclass(frozen=True, slots=True)
class Unapplied:
    """Why not all edits of a call were applied, and what became of the others."""

    edit: FileEdit
    outcome: EditOutcome
    back: tuple[str, ...]
    """Files that are again as they were before the call."""
    left: Mapping[str, str]
    """Files that stay changed, with the reason."""


@dataclass(frozen=True, slots=True)
class _Done:
    edit: FileEdit
    made: Recorded


async def apply_all(call_id: str, edits: Sequence[FileEdit], turn: Turn) -> Unapplied | None:
    """Apply the edits in order; None when all are. A cancellation takes back what was begun."""
    done: list[_Done] = []
    try:
        for edit in edits:
            outcome = await settled(_apply(call_id, edit, turn, done))
            if outcome.status != "applied":
                paths = [one.edit.path for one in done]
                left = await settled(_take_back(call_id, done, turn))
                back = tuple(path for path in paths if path not in left)
                return Unapplied(edit, outcome, back, left)
    except asyncio.CancelledError:
        if len(done) < len(edits):
            await finished(_take_back(call_id, done, turn))
        raise
    return None


def standing(events: Iterable[StoredEvent], call_id: str) -> dict[str, bool]:
    """Return the files of a call's applied edits, and whether they still are so: not taken back."""
    found: dict[str, bool] = {}
    intent: EditIntended | None = None
    for stored in events:
        match stored.event:
            case EditIntended() as event if event.call_id == call_id:
                intent = event
            case EditApplied() as event if event.call_id == call_id and intent is not None:
                if event.status == "applied":
                    found[intent.first_path] = not intent.takes_back
            case _:
                pass
    return found


async def _apply(call_id: str, edit: FileEdit, turn: Turn, done: list[_Done]) -> EditOutcome:
    try:
        async with turn.kit.order.of(edited_places(turn.kit.workspace, edit)):
            made = await _record(call_id, edit, turn)
    except WorkspaceError as error:
        return EditOutcome(status="refused", reason=str(error))
    if made.outcome.status == "applied":
        done.append(_Done(edit, made))
    return made.outcome


async def _take_back(call_id: str, done: list[_Done], turn: Turn) -> dict[str, str]:
    """Take the edits back, last first; return what stays changed, with the reason."""
    left: dict[str, str] = {}
    while done:
        one = done.pop()
        try:
            reason = await _take_one_back(call_id, one, turn)
        except WorkspaceError as error:
            reason = str(error)
        except ValueError:
            reason = "what it was before is no text"
        if reason:
            left[one.edit.path] = reason
    return left


async def _take_one_back(call_id: str, done: _Done, turn: Turn) -> str:
    """Take an edit back; return why that cannot be, else nothing.

    Errors: ``WorkspaceError``, and ``ValueError`` for bytes that are no text.
    """
    workspace = turn.kit.workspace
    async with turn.kit.order.of(edited_places(workspace, done.edit)):
        undoing = await _undoing(done, workspace)
        if undoing is None:
            return _CHANGED_SINCE
        outcome = (await _record(call_id, undoing, turn, takes_back=True)).outcome
    return "" if outcome.status == "applied" else outcome.reason or _CHANGED_SINCE


async def _undoing(done: _Done, workspace: Workspace) -> FileEdit | None:
    """Return the edit that undoes one; None when the file is not what it left."""
    edit, made = done.edit, done.made
    if edit.kind == "delete":
        text, encoding = text_of(made.before or b"")
        return taken_back(edit, text, "", made.before_mode, encoding)
    if edit.kind == "create" and edit.encoding is not None:
        # No text that could be read.
        return taken_back(edit, None, made.outcome.version or "")
    marked = None if made.before is None else made.before.decode("utf-8", "surrogatepass")
    before = marked and marked.removeprefix(_BOM)
    left = text_after(edit, before)
    now = await workspace.read(edit.new_path if edit.kind == "move" else edit.path)
    is_left = left is not None and now.text == left.removeprefix(_BOM)
    return taken_back(edit, before, now.version) if is_left else None


async def _record(
    call_id: str, edit: FileEdit, turn: Turn, *, takes_back: bool = False
) -> Recorded:
    kit = turn.kit
    recorder = EditRecorder(turn.recorder, kit.workspace, kit.blobs, kit.watch)
    intent = EditIntended(call_id=call_id, edit=edit, before_blob=None, takes_back=takes_back)
    return await recorder.apply(edit, intent)
