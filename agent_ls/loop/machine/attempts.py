"""Makes one provider request: send it, show the stream, record the end.

It does not judge the outcome; CALL and the recoveries do.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing
from typing import assert_never

from agent_ls.domain.calls import ToolCall
from agent_ls.domain.errors import ProviderError
from agent_ls.domain.events import (
    INTERRUPTED,
    STOPPED,
    AttemptDiscarded,
    AttemptFinished,
    CancelRequested,
    ReasoningStreamed,
    RecoveryChosen,
    TextStreamed,
)
from agent_ls.domain.model_io import (
    CallClosed,
    CallCut,
    FinishReason,
    ModelEvent,
    ModelRequest,
    ReasoningDelta,
    StreamFinished,
    TextDelta,
    TextWasReasoning,
)
from agent_ls.domain.usage import Usage
from agent_ls.loop.calls.early_reads import EarlyReads
from agent_ls.loop.calls.other_agents import in_our_words
from agent_ls.loop.extension_points import Attempt
from agent_ls.loop.machine.llm_hooks import ask_after_llm_call
from agent_ls.loop.machine.request import request_of, with_images
from agent_ls.loop.printed.names import tool_meant
from agent_ls.loop.printed.reading import read_marked
from agent_ls.loop.printed.showing import ShownText
from agent_ls.loop.turn import Turn

_log = logging.getLogger(__name__)

_GO_ON = (
    "Your answer was cut off here, as agent-ls ended. Go on where it stopped, without repeating "
    "anything."
)
_CUT_OFF = (
    "The user stopped you here, so your answer is cut off. Go on with it only if they ask for it."
)


async def make_attempt(turn: Turn) -> Attempt:
    """Send the request, show its stream, and record how it ended."""
    started_s = turn.services.clock.monotonic_s()
    gathered = Gathered(turn, EarlyReads(turn))
    try:
        error = await gathered.stream(request_of(turn))
    except asyncio.CancelledError:
        if turn.is_left:
            await gathered.keep_text(INTERRUPTED, _GO_ON)
        elif any(True for _ in turn.view.each(CancelRequested)):
            await gathered.keep_text(STOPPED, _CUT_OFF)
        raise
    attempt = gathered.attempt(error)
    if attempt.finish is FinishReason.UNKNOWN:
        _log.warning("%s ended its answer for a reason we do not know", gathered.model)
    await record_attempt(turn, attempt, gathered.model, started_s)
    return attempt


async def record_attempt(turn: Turn, attempt: Attempt, model: str, started_s: float) -> None:
    """Record how a request ended, and run the hooks that watch requests."""
    error = attempt.error
    finished = AttemptFinished(
        step_id=turn.state.step_id,
        finish=attempt.finish,
        failure=error.failure if error else None,
        message=error.message if error else "",
        usage=attempt.usage,
        model=model,
        duration_ms=int((turn.services.clock.monotonic_s() - started_s) * 1000),
    )
    await turn.emit(finished)
    await ask_after_llm_call(turn, attempt, finished)


def call_of(turn: Turn, provider_id: str, tool: str, arguments_json: str) -> ToolCall:
    """Return a call with a new id of ours, as one of our tools carries it out.

    It is recorded in our words, so that all that looks at calls by the tool's name sees it.
    """
    call = ToolCall(
        id=turn.services.ids.new("cal"),
        provider_id=provider_id,
        tool=tool_meant(tool, turn.services.tools),
        arguments_json=arguments_json,
    )
    try:
        return in_our_words(call, turn.services.tools)
    except ValueError:
        # Its result will say why it cannot be carried out.
        return call


class Gathered:
    """What one stream has delivered so far."""

    def __init__(self, turn: Turn, early: EarlyReads | None = None) -> None:
        """``early`` starts reads while the stream continues; None: no early reads."""
        self._turn = turn
        self._early = early
        self._text: list[str] = []
        self._shown = ShownText()
        self._reasoning: list[str] = []
        self._calls: list[ToolCall] = []
        self._cut: list[ToolCall] = []
        self._end: StreamFinished | None = None
        self.model = turn.view.model

    async def stream(self, request: ModelRequest) -> ProviderError | None:
        """Send the request and gather its stream; return the error if it breaks."""
        try:
            request = await with_images(request, self._turn.services.blobs)
            async with aclosing(self._turn.services.provider.stream(request)) as events:
                async for event in events:
                    self._take(event)
        except ProviderError as error:
            return error
        return None

    def _take(self, event: ModelEvent) -> None:
        turn, step_id = self._turn, self._turn.state.step_id
        match event:
            case TextDelta(text=text):
                self._text.append(text)
                self._show(self._shown.take(text))
            case ReasoningDelta(text=text):
                self._reasoning.append(text)
                turn.recorder.emit_ephemeral(ReasoningStreamed(step_id, text))
            case TextWasReasoning():
                self._reasoning += self._text
                self._text.clear()
                self._shown = ShownText()
                # Whoever saw the text stream discards it.
                turn.recorder.emit_ephemeral(AttemptDiscarded(step_id))
            case CallClosed():
                call = self._identified(event)
                self._calls.append(call)
                if self._early is not None:
                    self._early.offer(call)
            case CallCut():
                self._cut.append(self._identified(event))
            case StreamFinished():
                if (held := self._shown.rest()) and read_marked("".join(self._text)) is None:
                    self._show(held)
                self._end = event
                self.model = event.model or self.model
            case _:
                assert_never(event)

    def _show(self, text: str) -> None:
        if text:
            self._turn.recorder.emit_ephemeral(TextStreamed(self._turn.state.step_id, text))

    def _identified(self, event: CallClosed | CallCut) -> ToolCall:
        return call_of(self._turn, event.provider_id, event.tool, event.arguments_json)

    async def keep_text(self, origin: str, told: str) -> None:
        """Record the text so far, and what the model is told about the interruption."""
        text = "".join(self._text)
        if text.strip():
            kept = RecoveryChosen(
                step_id=self._turn.state.step_id,
                origin=origin,
                action="continue",
                text=told,
                partial=text,
            )
            await self._turn.emit(kept)

    def attempt(self, error: ProviderError | None) -> Attempt:
        """Return the request's outcome, after the stream has ended."""
        end = self._end
        return Attempt(
            text="".join(self._text),
            reasoning="".join(self._reasoning),
            calls=tuple(self._calls),
            cut_calls=tuple(self._cut),
            finish=end.finish if end and error is None else None,
            error=error,
            usage=end.usage if end else Usage(),
            provider_data=end.provider_data if end else None,
        )
