"""Runs one call: the tool plans, its edits are applied, and every failure becomes a result."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from functools import partial

from agent_ls.domain.approvals import Question, QuestionAnswer
from agent_ls.domain.calls import Effect, ErrorKind, ToolResult
from agent_ls.domain.errors import StoreError, ToolError, WorkspaceError
from agent_ls.domain.events import CallOutputStreamed, QuestionResolved
from agent_ls.domain.sentences import seconds
from agent_ls.loop.calls.applying import Unapplied, apply_all, changed_by
from agent_ls.loop.calls.keeping import with_value
from agent_ls.loop.calls.planning import preview_of, with_edits
from agent_ls.loop.calls.plans import digest
from agent_ls.loop.extension_points import PlannedCall, Ran, ToolContext, ToolOutput
from agent_ls.loop.pausing import paused
from agent_ls.loop.turn import Turn

_log = logging.getLogger(__name__)

_PAUSES_S = (0.0, 0.0, 0.0, 0.1, 0.2, 0.4, 0.8)
"""Pauses before an edit is planned again. The first tries are immediate, to fit between two
keystrokes. Later ones wait for somebody who holds a key down."""

_ASKED_FOR_A_TOOL = "ask_user"
"""Origin of a question that a tool asks while it runs."""

_NOT_AS_APPROVED = {
    Effect.WRITE: "The file changed after the user had approved this edit, which would now change "
    "something else than they were shown. Nothing is changed. Read the file; your next edit is "
    "shown to them anew.",
    Effect.EXECUTE: "What this call does changed after the user had approved it. Nothing was run. "
    "Call again: it is shown to them anew.",
}


async def run_tool(planned: PlannedCall, turn: Turn) -> Ran:
    """Run the call and return its result.

    Errors: only ``StoreError``; every other failure becomes a result. A cancellation is raised
    after any started edit is settled.
    """
    call_id = planned.call.id
    started_s = turn.services.clock.monotonic_s()
    # A sub-agent has its own limits, which pause while it waits for a user.
    is_turn = planned.effect is Effect.DELEGATE
    limit_s = turn.within(None if is_turn else turn.services.options.tool_timeout_s)
    limit = asyncio.timeout(limit_s)
    try:
        async with limit:
            output = await _plan_and_apply(planned, turn, limit)
        if output.question is not None:
            output = await _answered(output.question, turn)
    except ToolError as error:
        output = ToolOutput(error.text, error.kind)
    except WorkspaceError as error:
        output = ToolOutput(str(error), ErrorKind.RUNTIME)
    except TimeoutError:
        changed = changed_by(turn.state.events, call_id)
        said = f" Changed by it: {', '.join(changed)}." if changed else ""
        # Otherwise the timeout came from the tool itself.
        within = f" within {seconds(limit_s)}" if limit_s and limit.expired() else ""
        output = ToolOutput(f"It did not end{within}.{said}", ErrorKind.TIMEOUT)
    except StoreError:
        raise
    except Exception as error:
        _log.exception("tool %s failed unexpectedly", planned.tool.name)
        text = f"The tool itself failed ({type(error).__name__}: {error}). Try another way."
        output = ToolOutput(text, ErrorKind.RUNTIME)
    images = [one.stored(await turn.services.blobs.put_blob(one.data)) for one in output.images]
    result = ToolResult(
        call_id=call_id,
        text="\n".join(filter(None, (output.text, planned.left_out))),
        error=output.error,
        data=with_value(output, planned),
        duration_ms=int((turn.services.clock.monotonic_s() - started_s) * 1000),
        images=tuple(images),
    )
    return Ran(result, output.events)


async def _answered(question: Question, turn: Turn) -> ToolOutput:
    answer = await turn.services.approver.ask(question)
    if answer.is_answered:
        return ToolOutput(f"The user answers: {answer.text}")
    text = "Nobody is there to answer. Decide yourself, and say what you assumed."
    return ToolOutput(text, ErrorKind.DENIED)


async def _ask_meanwhile(
    turn: Turn, limit: asyncio.Timeout, text: str, options: tuple[str, ...], default: str
) -> QuestionAnswer:
    """Ask the user for a tool that goes on with the answer; its time does not pass meanwhile."""
    question = Question(
        id=turn.services.ids.new("qst"),
        turn_id=turn.state.turn_id,
        origin=_ASKED_FOR_A_TOOL,
        text=text,
        options=options,
        default=default,
    )
    try:
        with paused(limit):
            return await turn.services.approver.ask(question)
    except asyncio.CancelledError:
        # The call ended without the answer, so nothing waits for it any more.
        if question.id in turn.session.questions:
            nobody = QuestionAnswer(text="", by="nobody")
            await turn.emit(QuestionResolved(question_id=question.id, answer=nobody))
        raise


async def _plan_and_apply(planned: PlannedCall, turn: Turn, limit: asyncio.Timeout) -> ToolOutput:
    """Let the tool plan and apply its edits; plan again when a file changed meanwhile."""
    context = ToolContext(
        call_id=planned.call.id,
        turn_id=turn.state.turn_id,
        view=turn.view,
        report=lambda text: turn.recorder.emit_ephemeral(CallOutputStreamed(planned.call.id, text)),
        reads_only=planned.reads_only,
        is_approved=bool(planned.approved),
        consent=planned.consent,
        ask=partial(_ask_meanwhile, turn, limit) if turn.services.is_attended else None,
    )
    replans = 0
    while True:
        shown = planned.plan
        planned = await with_edits(planned, turn.services.workspace)
        # The file, or a tool server, may have changed while the user decided.
        is_as_shown = shown is not None and planned.plan is shown
        if not is_as_shown and (refusal := await _if_not_as_approved(planned)):
            return ToolOutput(refusal, ErrorKind.RUNTIME)
        output = planned.plan or await planned.tool.run(planned.arguments, context)
        failed = await apply_all(planned.call.id, output.edits, turn)
        if failed is None:
            return output
        is_stale = failed.outcome.status == "stale" and not failed.changed
        may_replan = replans < turn.services.options.max_replans and output.may_plan_again
        if not (is_stale and may_replan):
            return ToolOutput(_refusal(failed, is_one=len(output.edits) == 1), ErrorKind.RUNTIME)
        await turn.services.clock.sleep(_PAUSES_S[min(replans, len(_PAUSES_S) - 1)])
        # A file that was opened meanwhile holds the same text under another version.
        planned = replace(planned, plan=None)
        replans += 1


async def _if_not_as_approved(planned: PlannedCall) -> str:
    """Return why an approved call may not run now; empty if it would do what was shown."""
    if not planned.approved or planned.effect not in _NOT_AS_APPROVED:
        return ""
    is_same = digest(planned, await preview_of(planned)) == planned.approved
    return "" if is_same else _NOT_AS_APPROVED[planned.effect]


def _refusal(failed: Unapplied, *, is_one: bool) -> str:
    path, outcome = failed.edit.path, failed.outcome
    reason = outcome.reason.removeprefix(f"{path}: ").rstrip(".")
    is_said = reason.startswith(f"{path} ")
    text = f"{reason}." if is_said else f"{path} was not changed: {reason}."
    if outcome.status == "stale":
        text = f"{path} was not changed: it changed meanwhile. Read it again first."
    if outcome.status == "unconfirmed":
        text = f"{path}: {outcome.reason} Read it before doing anything else with it."
    if failed.changed:
        return f"{text} Changed by this call before that: {', '.join(failed.changed)}."
    if is_one:
        return text
    return f"{text} Nothing {'else ' if outcome.status == 'unconfirmed' else ''}is changed."
