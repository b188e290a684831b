"""Repairs a turn that was interrupted by its process's death, so that it can be resumed.

A started write or command is never repeated automatically. For an edit, the file proves whether it
happened. Source: decisions on crash safety, S2 resume.
"""

from __future__ import annotations

from collections.abc import Mapping

from agent_ls.domain.approvals import ApprovalAnswer, ApprovalChoice, QuestionAnswer
from agent_ls.domain.calls import Effect, ErrorKind, ToolResult
from agent_ls.domain.edits import EditOutcome
from agent_ls.domain.events import (
    ApprovalResolved,
    EditIntended,
    QuestionResolved,
    SessionResumed,
    ToolCallFinished,
    ToolCallStarted,
)
from agent_ls.loop.calls.applying import changed_by
from agent_ls.loop.calls.edit_recorder import EditRecorder
from agent_ls.loop.ports.store import Blobs
from agent_ls.loop.ports.workspace import Look, Workspace
from agent_ls.loop.state.recorder import Recorder
from agent_ls.loop.state.state import CallState, TurnState

_UNKNOWN = (
    "agent-ls itself ended while this call ran, so its outcome is unknown. Check what it did "
    "before you repeat it."
)
_APPLIED = "agent-ls itself ended right after this edit; the file shows that it was applied."
_NOT_BEGUN = "agent-ls itself ended before this edit; the file was not changed."


async def repair(recorder: Recorder, workspace: Workspace, blobs: Blobs) -> None:
    """Settle what the dead process left open, so that the machine can go on from the state.

    Reads, and calls that never started, stay open: ACT decides about them again.
    """
    turn = recorder.state.turn
    if turn is None or not recorder.state.is_running:
        return
    await _withdraw_questions(recorder)
    editing = EditRecorder(recorder, workspace, blobs, watch=None)
    edits = {
        path: _settled(await editing.settle(intent.edit, intent))
        for path, intent in turn.intents.items()
    }
    interrupted: list[str] = []
    for state in turn.open_calls:
        if state.effect is None or state.effect is Effect.READ:
            continue
        interrupted.append(state.call.id)
        await recorder.emit(_interrupted(state, _told(turn, state.call.id, edits) or _UNKNOWN))
    changed = await _changed_since(recorder, workspace)
    await recorder.emit(SessionResumed(interrupted_calls=tuple(interrupted), changed_files=changed))


async def _changed_since(recorder: Recorder, workspace: Workspace) -> tuple[str, ...]:
    """Return the files that no longer are as the turn's changes left them."""
    turn = recorder.state.turn
    if turn is None:
        return ()
    looks = [Look(path, digest=file.after_blob) for path, file in turn.touched.items()]
    return tuple(name for name, holds in await workspace.compare(looks) if not holds)


def _told(turn: TurnState, call_id: str, settled: Mapping[str, str]) -> str:
    """Return the outcome for each file of a call; empty when no edit was begun."""
    said = dict.fromkeys(changed_by(turn.events, call_id), _APPLIED)
    said |= {path: settled[path] for path, one in turn.intents.items() if one.call_id == call_id}
    begun = [one for one in turn.events.of(EditIntended) if one.call_id == call_id]
    goals = {one.edit.new_path for one in begun if one.edit.kind == "move"}
    for started in turn.events.of(ToolCallStarted) if said else ():
        for path in started.paths if started.call_id == call_id else ():
            if path not in goals:
                said.setdefault(path, _NOT_BEGUN)
    return " ".join(f"{path}: {words}" for path, words in said.items())


def _interrupted(state: CallState, text: str) -> ToolCallFinished:
    result = ToolResult(call_id=state.call.id, text=text, error=ErrorKind.INTERRUPTED)
    return ToolCallFinished(result=result, effect=state.effect or Effect.WRITE)


async def _withdraw_questions(recorder: Recorder) -> None:
    """Settle pending approvals and questions; those still needed are asked again with a new id."""
    for approval_id in list(recorder.state.approvals):
        answer = ApprovalAnswer(choice=ApprovalChoice.CANCELLED, by="nobody")
        await recorder.emit(ApprovalResolved(approval_id=approval_id, answer=answer))
    for question_id in list(recorder.state.questions):
        answer = QuestionAnswer(text="", by="nobody")
        await recorder.emit(QuestionResolved(question_id=question_id, answer=answer))


def _settled(outcome: EditOutcome) -> str:
    """Return the outcome of an edit during which the process died, in words."""
    match outcome.status:
        case "applied":
            return _APPLIED
        case "refused":
            return outcome.reason
        case _:
            return _UNKNOWN
