"""An edit of the review's, recorded like the agent's own: intent, effect, outcome."""

from __future__ import annotations

from agent_ls.domain.edits import EditOutcome, FileEdit
from agent_ls.domain.errors import WorkspaceError
from agent_ls.domain.events import ReviewApplied, ReviewDecided
from agent_ls.loop.applying import content_after
from agent_ls.loop.ports import Store, Workspace
from agent_ls.loop.recorder import Recorder
from agent_ls.session.repair import is_after

_DIED = "The process died before this was done."


async def apply_recorded(
    recorder: Recorder, workspace: Workspace, store: Store, decided: ReviewDecided, edit: FileEdit
) -> EditOutcome:
    """Store the intent with the exact bytes before, apply, store the outcome; return it."""
    before = await workspace.snapshot(edit.path)
    before_blob = None if before is None else await store.put_blob(before)
    await recorder.emit(decided.model_copy(update={"edit": edit, "before_blob": before_blob}))
    try:
        outcome = await workspace.apply(edit)
    except WorkspaceError as error:
        outcome = EditOutcome(status="refused", reason=str(error))
    after = await content_after(edit, outcome, before, workspace)
    await recorder.emit(
        ReviewApplied(
            review_id=decided.review_id,
            path=edit.path,
            status=outcome.status,
            reason=outcome.reason,
            after_blob=None if after is None else await store.put_blob(after),
        )
    )
    return outcome


async def settle_recorded(
    recorder: Recorder, workspace: Workspace, store: Store, intent: ReviewDecided
) -> None:
    """Record what the file proves about an edit during which the process died."""
    edit, blob = intent.edit, intent.before_blob
    if edit is None:
        return
    before = None if blob is None else await store.get_blob(blob)
    try:
        now = await workspace.snapshot(_goal(edit))
        is_done = is_after(now, edit, before)
    except WorkspaceError:
        now, is_done = None, False
    await recorder.emit(
        ReviewApplied(
            review_id=intent.review_id,
            path=edit.path,
            status="applied" if is_done else "unconfirmed",
            reason="" if is_done else _DIED,
            after_blob=await store.put_blob(now) if is_done and now is not None else None,
        )
    )


def _goal(edit: FileEdit) -> str:
    return edit.new_path if edit.kind == "move" else edit.path
