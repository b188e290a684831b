"""CALL: did we get a usable response?

Streams one attempt after the other until the recoveries accept one. Nothing of an attempt that
broke is kept, and no call of it ran but reads. Source: seed 000 phase 3, seeds 002 and 003.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import assert_never

from agent_ls.domain.calls import ToolCall
from agent_ls.domain.errors import ProviderError
from agent_ls.domain.events import (
    Answered,
    AttemptDiscarded,
    AttemptFinished,
    ReasoningStreamed,
    RecoveryChosen,
    RequestPrepared,
    TextStreamed,
)
from agent_ls.domain.messages import AssistantMessage
from agent_ls.domain.model_io import (
    CallClosed,
    CallCut,
    FinishReason,
    ModelEvent,
    ReasoningDelta,
    StreamFinished,
    TextDelta,
)
from agent_ls.domain.phases import Phase
from agent_ls.domain.stops import StopReason
from agent_ls.domain.usage import Usage
from agent_ls.domain.verdicts import (
    Accept,
    Compact,
    Continue,
    Fail,
    Promote,
    Reask,
    RecoveryVerdict,
    Retry,
    StepFailed,
)
from agent_ls.loop.early_reads import EarlyReads
from agent_ls.loop.llm_hooks import ask_after_llm_call
from agent_ls.loop.request import request_of
from agent_ls.loop.sockets import Attempt
from agent_ls.loop.turn import Move, Turn


async def call(turn: Turn) -> Move:
    """Make attempts until one is accepted, the step fails, or its time is over."""
    if turn.view.each_since(Answered, RequestPrepared):
        # The process died between the answer and the move: the answer counts.
        return _after_answer(turn)
    limit_s = turn.kit.options.step_timeout_s
    try:
        async with asyncio.timeout(limit_s):
            move = None
            while move is None:
                move = await _attempt_once(turn)
            return move
    except TimeoutError:
        turn.discard_early()
        why = f"The model did not answer within {limit_s:.0f} s (setting loop.step_timeout_s)."
        return Move(Phase.CLOSE, StopReason.TIMEOUT, why)


async def _attempt_once(turn: Turn) -> Move | None:
    """Make one attempt and do what the recoveries say; None: make another."""
    turn.discard_early()
    attempt = await _stream(turn)
    for recovery in turn.kit.recoveries:
        verdict = await recovery.judge(attempt, turn.view)
        if not isinstance(verdict, Accept):
            return await _recover(turn, attempt, recovery.name, verdict)
    if attempt.error is not None:
        return await _recover(turn, attempt, "call", Fail(StopReason.ERROR, attempt.error.message))
    return await _accept(turn, attempt, attempt.text)


async def _stream(turn: Turn) -> Attempt:
    """Send the request, show what comes as it comes, and record how it ended."""
    started_s = turn.kit.clock.monotonic_s()
    gathered = _Gathered(turn)
    error: ProviderError | None = None
    try:
        async with aclosing(turn.kit.provider.stream(request_of(turn))) as events:
            async for event in events:
                gathered.take(event)
    except ProviderError as failed:
        error = failed
    attempt = gathered.attempt(error)
    finished = AttemptFinished(
        step_id=turn.state.step_id,
        finish=attempt.finish,
        failure=error.failure if error else None,
        message=error.message if error else "",
        usage=attempt.usage,
        model=gathered.model,
        duration_ms=int((turn.kit.clock.monotonic_s() - started_s) * 1000),
    )
    await turn.emit(finished)
    await ask_after_llm_call(turn, attempt, finished)
    return attempt


class _Gathered:
    """What one stream has brought so far."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._early = EarlyReads(turn)
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls: list[ToolCall] = []
        self._cut: list[ToolCall] = []
        self._end: StreamFinished | None = None
        self.model = turn.session.model

    def take(self, event: ModelEvent) -> None:
        turn, step_id = self._turn, self._turn.state.step_id
        match event:
            case TextDelta(text=text):
                self._text.append(text)
                turn.recorder.whisper(TextStreamed(step_id, text))
            case ReasoningDelta(text=text):
                self._reasoning.append(text)
                turn.recorder.whisper(ReasoningStreamed(step_id, text))
            case CallClosed():
                call = self._identified(event)
                self._calls.append(call)
                self._early.offer(call)
            case CallCut():
                self._cut.append(self._identified(event))
            case StreamFinished():
                self._end = event
                self.model = event.model or self.model
            case _:
                assert_never(event)

    def _identified(self, event: CallClosed | CallCut) -> ToolCall:
        return ToolCall(
            id=self._turn.kit.ids.new("cal"),
            provider_id=event.provider_id,
            tool=event.tool,
            arguments_json=event.arguments_json,
        )

    def attempt(self, error: ProviderError | None) -> Attempt:
        end = self._end
        return Attempt(
            text="".join(self._text),
            reasoning="".join(self._reasoning),
            calls=tuple(self._calls),
            cut_calls=tuple(self._cut),
            finish=end.finish if end and error is None else None,
            error=error,
            usage=end.usage if end else Usage(),
        )


async def _accept(turn: Turn, attempt: Attempt, text: str) -> Move:
    """Take the attempt as the step's answer."""
    calls = attempt.calls
    if turn.state.text_only:
        # The request forbade calls; those that came all the same do not count.
        calls = ()
        turn.discard_early()
    message = AssistantMessage(text=text, reasoning=attempt.reasoning, calls=calls)
    is_partial = attempt.finish is FinishReason.LENGTH
    await turn.emit(Answered(step_id=turn.state.step_id, message=message, is_partial=is_partial))
    return _after_answer(turn)


def _after_answer(turn: Turn) -> Move:
    return Move(Phase.ACT if turn.state.calls else Phase.JUDGE)


async def _recover(
    turn: Turn, attempt: Attempt, origin: str, verdict: RecoveryVerdict
) -> Move | None:
    """Do what one recovery decided; None: make another attempt."""
    if isinstance(verdict, Promote):
        await _chosen(turn, origin, "promote")
        return await _accept(turn, attempt, verdict.text)
    turn.discard_early()
    if not isinstance(verdict, Continue):
        turn.recorder.whisper(AttemptDiscarded(turn.state.step_id))
    match verdict:
        case Accept():
            return None
        case Retry(after_s=after_s, why=why):
            await _chosen(turn, origin, "retry", text=why, wait_s=after_s)
            await turn.kit.clock.sleep(after_s)
            return None
        case Reask(text=text):
            await _chosen(turn, origin, "reask", text=text)
            return None
        case Continue(text=text):
            await _chosen(turn, origin, "continue", text=text, partial=attempt.text)
            return None
        case Compact(why=why):
            await _chosen(turn, origin, "compact", text=why)
            return Move(Phase.COMPACT, why=why)
        case StepFailed(why=why):
            await _chosen(turn, origin, "fail_step", text=why)
            return Move(Phase.CHECK, why=why)
        case Fail(stop=stop, why=why):
            await _chosen(turn, origin, "fail", text=why)
            return Move(Phase.DONE, stop, why)
        case _:
            assert_never(verdict)


async def _chosen(
    turn: Turn,
    origin: str,
    action: str,
    *,
    text: str = "",
    partial: str = "",
    wait_s: float = 0.0,
) -> None:
    await turn.emit(
        RecoveryChosen(
            step_id=turn.state.step_id,
            origin=origin,
            action=action,
            text=text,
            partial=partial,
            wait_s=wait_s,
        )
    )
