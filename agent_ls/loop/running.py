"""One call is run: the tool plans, edits are applied with intent before effect, and whatever
happens becomes a result.
"""

from __future__ import annotations

import asyncio
import logging

from agent_ls.domain.approvals import Question
from agent_ls.domain.calls import Effect, ErrorKind, ToolResult
from agent_ls.domain.edits import EditOutcome, FileEdit, changed_lines
from agent_ls.domain.errors import StoreError, ToolError, WorkspaceError
from agent_ls.domain.events import CallOutputStreamed, EditApplied, EditIntended
from agent_ls.loop.edit_order import edited_places
from agent_ls.loop.keeping import with_value
from agent_ls.loop.settling import settled
from agent_ls.loop.sockets import PlannedCall, Ran, ToolContext, ToolOutput
from agent_ls.loop.turn import Turn

_log = logging.getLogger(__name__)


async def run_tool(planned: PlannedCall, turn: Turn) -> Ran:
    """Run the call to its result.

    Errors: only ``StoreError``; every other failure becomes a result. Cancellation is raised on
    after an edit that had begun is settled.
    """
    call_id = planned.call.id
    started_s = turn.kit.clock.monotonic_s()
    # A delegated turn has limits of its own, which stand still while it waits for a person.
    is_turn = planned.effect is Effect.DELEGATE
    limit_s = None if is_turn else turn.kit.options.tool_timeout_s
    try:
        async with asyncio.timeout(limit_s):
            output = await _plan_and_apply(planned, turn)
        if output.question is not None:
            output = await _answered(output.question, turn)
    except ToolError as error:
        output = ToolOutput(error.text, error.kind)
    except WorkspaceError as error:
        output = ToolOutput(str(error), ErrorKind.RUNTIME)
    except TimeoutError:
        output = ToolOutput(f"It did not end within {limit_s:g} s.", ErrorKind.TIMEOUT)
    except StoreError:
        raise
    except Exception as error:
        _log.exception("tool %s failed unexpectedly", planned.tool.name)
        text = f"The tool itself failed ({type(error).__name__}: {error}). Try another way."
        output = ToolOutput(text, ErrorKind.RUNTIME)
    result = ToolResult(
        call_id=call_id,
        text=output.text,
        error=output.error,
        data=with_value(output, planned),
        duration_ms=int((turn.kit.clock.monotonic_s() - started_s) * 1000),
    )
    return Ran(result, output.events)


async def _answered(question: Question, turn: Turn) -> ToolOutput:
    """Ask the person, and return the answer as the tool's output."""
    answer = await turn.kit.approver.ask(question)
    if answer.is_answered:
        return ToolOutput(f"The user answers: {answer.text}")
    text = "Nobody is there to answer. Decide yourself, and say what you assumed."
    return ToolOutput(text, ErrorKind.DENIED)


async def _plan_and_apply(planned: PlannedCall, turn: Turn) -> ToolOutput:
    """Let the tool plan, apply its edits, and let it plan anew when a file moved under it."""
    context = ToolContext(
        call_id=planned.call.id,
        turn_id=turn.state.turn_id,
        view=turn.view,
        report=lambda text: turn.recorder.whisper(CallOutputStreamed(planned.call.id, text)),
    )
    for attempts_left in range(turn.kit.options.max_replans, -1, -1):
        output = await planned.tool.run(planned.arguments, context)
        failed = await _apply_all(planned, output.edits, turn)
        if failed is None:
            return output
        done, edit, outcome = failed
        if outcome.status == "stale" and not done and attempts_left and output.may_plan_again:
            continue
        return ToolOutput(_refusal(done, edit, outcome), ErrorKind.RUNTIME)
    return output  # pyright: ignore[reportPossiblyUnboundVariable] - the range is never empty


async def _apply_all(
    planned: PlannedCall, edits: tuple[FileEdit, ...], turn: Turn
) -> tuple[list[str], FileEdit, EditOutcome] | None:
    """Apply the edits in order; None when all are, else where it stopped and why."""
    done: list[str] = []
    for edit in edits:
        outcome = await settled(_apply(planned.call.id, edit, turn))
        if outcome.status != "applied":
            return done, edit, outcome
        done.append(edit.path)
    return None


async def _apply(call_id: str, edit: FileEdit, turn: Turn) -> EditOutcome:
    """Store the intent with the exact text before, apply, store the outcome."""
    async with turn.kit.order.of(edited_places(turn.kit.workspace, edit)):
        return await _apply_in_order(call_id, edit, turn)


async def _apply_in_order(call_id: str, edit: FileEdit, turn: Turn) -> EditOutcome:
    workspace, store = turn.kit.workspace, turn.kit.store
    before = await workspace.snapshot(edit.path)
    before_blob = None if before is None else await store.put_blob(before)
    await turn.emit(EditIntended(call_id=call_id, edit=edit, before_blob=before_blob))
    places = (edit.path, edit.new_path) if edit.kind == "move" else (edit.path,)
    _tell_watch(places, turn)
    try:
        outcome = await workspace.apply(edit)
    except WorkspaceError as error:
        outcome = EditOutcome(status="refused", reason=str(error))
    _tell_watch(places, turn)
    after: bytes | None = None
    if outcome.status == "applied":
        after = await workspace.snapshot(edit.new_path if edit.kind == "move" else edit.path)
    added, removed = _line_changes(before, after) if outcome.status == "applied" else (0, 0)
    await turn.emit(
        EditApplied(
            call_id=call_id,
            path=edit.path,
            status=outcome.status,
            reason=outcome.reason,
            after_blob=None if after is None else await store.put_blob(after),
            added_lines=added,
            removed_lines=removed,
        )
    )
    return outcome


def _tell_watch(paths: tuple[str, ...], turn: Turn) -> None:
    """Keep another agent's command from being held for an edit's author."""
    for path in paths:
        if turn.kit.watch is not None:
            turn.kit.watch.edits(path)


def _line_changes(before: bytes | None, after: bytes | None) -> tuple[int, int]:
    return changed_lines(
        (before or b"").decode(errors="replace"), (after or b"").decode(errors="replace")
    )


def _refusal(done: list[str], edit: FileEdit, outcome: EditOutcome) -> str:
    """Return what the model reads when an edit did not happen."""
    text = f"{edit.path} was not changed: {outcome.reason}"
    if outcome.status == "stale":
        text = f"{edit.path} was not changed: it changed meanwhile. Read it again first."
    if outcome.status == "unconfirmed":
        text = f"{edit.path}: {outcome.reason} Read it before doing anything else with it."
    return text + (f" Already changed by this call: {', '.join(done)}." if done else "")
