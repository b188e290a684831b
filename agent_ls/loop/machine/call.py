"""CALL: did we get a usable response?

Makes attempts until the recoveries accept one. A failed attempt leaves nothing behind: only reads
of it may have run. Source: S0 phase 3, S2 and S3.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any, assert_never

from agent_ls.domain.calls import ToolResult
from agent_ls.domain.events import (
    INTERRUPTED,
    Answered,
    AttemptDiscarded,
    AttemptFinished,
    Moved,
    RecoveryChosen,
    RequestPrepared,
    SessionResumed,
)
from agent_ls.domain.messages import AssistantMessage
from agent_ls.domain.model_io import FinishReason
from agent_ls.domain.phases import Phase
from agent_ls.domain.sentences import seconds
from agent_ls.domain.stops import StopReason
from agent_ls.domain.verdicts import (
    Accept,
    AcceptAsPartial,
    Compact,
    Continue,
    Fail,
    Promote,
    Reask,
    Retry,
    StepFailed,
    SwitchModel,
    TakeCalls,
)
from agent_ls.loop.calls.arguments import plan_call
from agent_ls.loop.extension_points import Attempt
from agent_ls.loop.machine.attempts import call_of, make_attempt
from agent_ls.loop.turn import Move, Turn

_PARTIAL = "accept_partial"


async def call(turn: Turn) -> Move:
    """Make attempts until one is accepted, the step fails, or its time is over."""
    if turn.view.each_since(Answered, RequestPrepared):
        # The process died between the answer and the move; the answer counts.
        return _after_answer(turn)
    if (move := _decided(turn)) is not None:
        # The process died between a recovery's decision and the move; another request would fail
        # again.
        return move
    if _is_outdated(turn):
        return Move(Phase.CHECK)
    limit_s = turn.within(turn.services.options.step_timeout_s)
    try:
        async with asyncio.timeout(limit_s):
            move = None
            while move is None:
                move = await _attempt_once(turn)
            return move
    except TimeoutError:
        if turn.view.each_since(Answered, RequestPrepared):
            # The answer was recorded just in time, so it counts.
            return _after_answer(turn)
        turn.discard_early()
        setting = "loop.step_timeout_s"
        if limit_s != turn.services.options.step_timeout_s:
            setting = "policies.wall_clock.limit_s"
        why = f"The model did not answer within {seconds(limit_s)} (setting {setting})."
        return Move(Phase.CLOSE, StopReason.TIMEOUT, why)


def _is_outdated(turn: Turn) -> bool:
    """Say whether the request is unanswered and was prepared before the process died.

    Its slots do not know what happened since, so it is prepared again. A request that follows a
    recovery or a text-only check is sent unchanged.
    """
    view = turn.view
    recoveries = view.each_since(RecoveryChosen, RequestPrepared)
    return (
        bool(view.each_since(SessionResumed, RequestPrepared))
        and all(one.origin == INTERRUPTED for one in recoveries)
        and not turn.state.text_only
    )


def _decided(turn: Turn) -> Move | None:
    """Return the move that a recovery chose in this phase; None: make more attempts."""
    chosen = turn.view.each_since(RecoveryChosen, Moved)
    match chosen[-1:]:
        case [RecoveryChosen(action="compact", text=why)]:
            return Move(Phase.COMPACT, why=why)
        case [RecoveryChosen(action="fail_step", text=why)]:
            return Move(Phase.CHECK, why=why)
        case [RecoveryChosen(action="fail", text=why, stop=StopReason.CONTEXT_FULL)]:
            # A shorter request may still get a closing answer.
            return Move(Phase.CLOSE, StopReason.CONTEXT_FULL, why)
        case [RecoveryChosen(action="fail", text=why, stop=StopReason() as stop)]:
            return Move(Phase.DONE, stop, why)
        case _:
            return None


async def _attempt_once(turn: Turn) -> Move | None:
    """Make one attempt and follow the recoveries' verdicts; None: make another attempt."""
    turn.discard_early()
    attempt = await make_attempt(turn)
    for recovery in turn.services.recoveries:
        await turn.yield_if_due()
        verdict = await recovery.judge(attempt, turn.view)
        match verdict:
            case Accept():
                continue
            case Promote() | AcceptAsPartial() | TakeCalls():
                if (move := await _take(turn, attempt, recovery.name, verdict)) is not None:
                    return move
            case _:
                return await _recover(turn, attempt, recovery.name, verdict)
    if attempt.error is not None:
        return await _recover(turn, attempt, "call", Fail(StopReason.ERROR, attempt.error.message))
    return await _accept(turn, attempt)


async def _accept(turn: Turn, attempt: Attempt) -> Move:
    """Record the attempt as the step's answer."""
    calls = attempt.calls
    if turn.state.text_only:
        # The request forbade calls; ignore any that came anyway.
        calls = ()
        turn.discard_early()
    message = AssistantMessage(
        text=attempt.text,
        reasoning=attempt.reasoning,
        calls=calls,
        provider_data=attempt.provider_data,
    )
    is_partial = attempt.finish is FinishReason.LENGTH
    await turn.emit(Answered(step_id=turn.state.step_id, message=message, is_partial=is_partial))
    return _after_answer(turn)


def _after_answer(turn: Turn) -> Move:
    chosen = turn.view.each_since(RecoveryChosen, AttemptFinished)
    if chosen and chosen[-1].action == _PARTIAL:
        return Move(Phase.DONE, StopReason.CONTEXT_FULL, chosen[-1].text)
    return Move(Phase.ACT if turn.state.calls else Phase.JUDGE)


async def _take(
    turn: Turn, attempt: Attempt, origin: str, verdict: Promote | AcceptAsPartial | TakeCalls
) -> Move | None:
    """Accept the attempt in the form a recovery found; None: it does not fit after all."""
    match verdict:
        case Promote(text=text):
            await _chosen(turn, origin, "promote")
            return await _accept(turn, replace(attempt, text=text))
        case AcceptAsPartial(why=why):
            await _chosen(turn, origin, _PARTIAL, why)
            return await _accept(turn, attempt)
        case TakeCalls(calls=written, text=text, is_certain=is_certain):
            calls = tuple(
                call_of(turn, f"{TakeCalls.provider_id}_{turn.state.step_number}_{index}", *one)
                for index, one in enumerate(written)
            )
            planned = (plan_call(one, turn.services.tools, ()) for one in calls)
            if not is_certain and any(isinstance(one, ToolResult) for one in planned):
                return None
            await _chosen(turn, origin, "take_calls", ", ".join(one.tool for one in calls))
            return await _accept(turn, replace(attempt, text=text, calls=calls))
        case _:
            assert_never(verdict)


async def _recover(
    turn: Turn,
    attempt: Attempt,
    origin: str,
    verdict: Retry | Reask | Continue | SwitchModel | Compact | StepFailed | Fail,
) -> Move | None:
    """Carry out a recovery's verdict; None: make another attempt."""
    turn.discard_early()
    if isinstance(verdict, Compact) and verdict.carry_on:
        await _chosen(turn, origin, "continue", verdict.carry_on, partial=attempt.text)
    elif not isinstance(verdict, Continue):
        turn.recorder.emit_ephemeral(AttemptDiscarded(turn.state.step_id))
    match verdict:
        case Retry(after_s=after_s, why=why):
            await _chosen(turn, origin, "retry", why, wait_s=after_s)
            await turn.services.clock.sleep(after_s)
            return None
        case Reask(text=text):
            await _chosen(turn, origin, "reask", text)
            return None
        case Continue(text=text):
            await _chosen(turn, origin, "continue", text, partial=attempt.text)
            return None
        case SwitchModel(model=model, why=why):
            await _chosen(turn, origin, "switch_model", why, model=model)
            await turn.learn_facts()
            return None
        case Compact(why=why):
            await _chosen(turn, origin, "compact", why)
            # The refusal may have told the window.
            await turn.learn_facts()
        case StepFailed(why=why):
            await _chosen(turn, origin, "fail_step", why)
        case Fail(stop=stop, why=why):
            await _chosen(turn, origin, "fail", why, stop=stop)
        case _:
            assert_never(verdict)
    return _decided(turn)


async def _chosen(turn: Turn, origin: str, action: str, text: str = "", **facts: Any) -> None:
    chosen = RecoveryChosen(
        step_id=turn.state.step_id, origin=origin, action=action, text=text, **facts
    )
    await turn.emit(chosen)
