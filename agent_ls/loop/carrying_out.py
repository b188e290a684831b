"""One call's way from its valid arguments to its one recorded result.

Prepare (guards, the person), execute, finalize (follow-ups). Source: seed 000 phase 5.
"""

from __future__ import annotations

import hashlib
import logging
from typing import Literal, assert_never

from agent_ls.domain.approvals import ApprovalAnswer, ApprovalChoice, ApprovalRequest, Preview
from agent_ls.domain.calls import Effect, ErrorKind, ToolResult
from agent_ls.domain.errors import StoreError, ToolError, WorkspaceError
from agent_ls.domain.events import CallDecided, ToolCallFinished, ToolCallStarted
from agent_ls.domain.verdicts import Allow, Ask, Defer, Deny
from agent_ls.loop.arguments import plan_call
from agent_ls.loop.guarding import Decided, decide
from agent_ls.loop.running import run_tool
from agent_ls.loop.sockets import PlannedCall, Ran
from agent_ls.loop.turn import Turn

_log = logging.getLogger(__name__)

_ALLOWS = (
    ApprovalChoice.ALLOW_ONCE,
    ApprovalChoice.ALLOW_SESSION,
    ApprovalChoice.ALLOW_ALWAYS,
)

_AMENDED = "user"
"""The origin of a yes that a person gave by writing the arguments."""


async def carry_out(planned: PlannedCall, decided: Decided, turn: Turn) -> None:
    """Bring the call, on which the guards have decided, to its one result and record it."""
    prepared = await _prepare(planned, decided, turn)
    if isinstance(prepared, ToolResult):
        await turn.emit(ToolCallFinished(result=prepared))
        return
    await turn.emit(
        ToolCallStarted(
            call_id=prepared.call.id,
            tool=prepared.tool.name,
            effect=prepared.effect,
            paths=prepared.paths,
            arguments_json=prepared.call.arguments_json,
        )
    )
    ran = await _execute(prepared, turn)
    if prepared.call != planned.call:
        ran = _told(ran, prepared)
    await _finalize(prepared, ran, turn)


async def _prepare(planned: PlannedCall, decided: Decided, turn: Turn) -> PlannedCall | ToolResult:
    """Do what the guards say, with the person where they say so; amended calls are judged again."""
    while True:
        origin, verdict = decided
        match verdict:
            case Allow():
                await _decided(planned, turn, "allow", origin)
                return planned
            case Deny(reason=reason):
                await _decided(planned, turn, "deny", origin, reason)
                return _denied(planned, reason)
            case Defer(reason=reason):
                await _decided(planned, turn, "defer", origin, reason)
                return _denied(planned, reason)
            case Ask():
                await _decided(planned, turn, "ask", origin, verdict.reason)
                outcome = await _ask(planned, verdict, turn)
                if isinstance(outcome, ToolResult):
                    return outcome
                if outcome is planned:
                    return planned
                planned = outcome
                decided = await decide(planned, turn)
                if isinstance(decided[1], Ask) and decided[1].broad:
                    # The person wrote these arguments: that is their yes.
                    decided = (_AMENDED, Allow())
            case _:
                assert_never(verdict)


async def _decided(
    planned: PlannedCall,
    turn: Turn,
    decision: Literal["allow", "ask", "deny", "defer"],
    origin: str,
    reason: str = "",
) -> None:
    await turn.emit(
        CallDecided(call_id=planned.call.id, decision=decision, origin=origin, reason=reason)
    )


async def _ask(planned: PlannedCall, verdict: Ask, turn: Turn) -> PlannedCall | ToolResult:
    """Return the call itself when it may run, an amended one, or the denial."""
    async with turn.asking:
        return await _ask_alone(planned, verdict, turn)


async def _ask_alone(planned: PlannedCall, verdict: Ask, turn: Turn) -> PlannedCall | ToolResult:
    """Ask until what was approved is what would run: a file may change while the person looks."""
    try:
        preview = await planned.tool.preview(planned.arguments)
        while True:
            answer = await turn.kit.approver.approve(_request(planned, verdict, preview, turn))
            if answer.choice not in _ALLOWS:
                break
            now = await planned.tool.preview(planned.arguments)
            if digest(planned, now) == digest(planned, preview):
                return planned
            preview = now
    except ToolError as error:
        # It cannot work: nobody needs to be asked.
        return ToolResult(call_id=planned.call.id, text=error.text, error=error.kind)
    except WorkspaceError as error:
        return ToolResult(call_id=planned.call.id, text=str(error), error=ErrorKind.RUNTIME)
    if answer.choice is ApprovalChoice.AMEND and answer.arguments_json is not None:
        return _amended(planned, answer.arguments_json, turn)
    return _denied(planned, _refusal_words(answer))


def _request(planned: PlannedCall, verdict: Ask, preview: Preview, turn: Turn) -> ApprovalRequest:
    choices = [ApprovalChoice.ALLOW_ONCE]
    if verdict.broad and preview.grant:
        choices.append(ApprovalChoice.ALLOW_SESSION)
    choices += [ApprovalChoice.REJECT_ONCE, ApprovalChoice.AMEND]
    return ApprovalRequest(
        id=turn.kit.ids.new("apr"),
        call_id=planned.call.id,
        turn_id=turn.state.turn_id,
        tool=planned.tool.name,
        reason=verdict.reason,
        preview=preview,
        digest=digest(planned, preview),
        choices=tuple(choices),
    )


def _amended(planned: PlannedCall, arguments_json: str, turn: Turn) -> PlannedCall | ToolResult:
    """Return the call with the person's arguments; they are validated like the model's."""
    call = planned.call.model_copy(update={"arguments_json": arguments_json})
    return plan_call(call, turn.kit.tools, turn.kit.specs)


def _refusal_words(answer: ApprovalAnswer) -> str:
    """Return what the model reads when a person, or nobody, did not say yes."""
    if answer.by == "nobody":
        return (
            "This needs a person's permission and nobody is there to give it. "
            "Go on without it, or say what you would need."
        )
    words = f" The user says: {answer.note}" if answer.note else ""
    return f"The user rejected this call.{words} Do not repeat it; do it another way, or ask."


def _told(ran: Ran, planned: PlannedCall) -> Ran:
    """Let the model know that the person changed its call."""
    changed = f"The user changed the arguments to {planned.call.arguments_json}."
    result = ran.result.model_copy(update={"text": f"{changed}\n{ran.result.text}"})
    return Ran(result, ran.events)


def _denied(planned: PlannedCall, reason: str) -> ToolResult:
    return ToolResult(call_id=planned.call.id, text=reason, error=ErrorKind.DENIED)


def digest(planned: PlannedCall, preview: Preview) -> str:
    """Return the hash that binds an approval to exactly this call and what it would do.

    Where in a file it would do it does not count: lines above may come and go.
    """
    lines = (line for line in preview.payload.splitlines() if not line.startswith("@@ "))
    parts = (planned.tool.name, planned.call.arguments_json, *lines)
    return hashlib.sha256("\0".join(parts).encode(errors="replace")).hexdigest()


async def _execute(planned: PlannedCall, turn: Turn) -> Ran:
    """Run the call, or take over the read that already runs since it streamed."""
    early = turn.early.get(planned.call.id)
    if early is not None and planned.effect is Effect.READ:
        ran = await early
        if ran is not None:
            return ran
    return await run_tool(planned, turn)


async def _finalize(planned: PlannedCall, ran: Ran, turn: Turn) -> None:
    """Let the follow-ups complete the result, then record it."""
    result = ran.result
    for event in ran.events:
        await turn.emit(event)
    for one in turn.kit.follow_ups:
        try:
            outcome = await one.follow(planned, result, turn.view)
        except StoreError:
            raise
        except Exception:
            # The call has happened; its result must not get lost over what comes after it.
            _log.exception("follow-up %s failed", one.name)
            continue
        result = outcome.result
        for event in outcome.events:
            await turn.emit(event)
    await turn.emit(ToolCallFinished(result=result, effect=planned.effect))
