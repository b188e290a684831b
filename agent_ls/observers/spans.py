"""Makes the spans of a turn when it ends, with OpenTelemetry's names.

The nesting is turn > step > model call, tool call, wait. ``tracing.py`` supplies the facts and
``otel.py`` sends the spans. Source: OpenTelemetry semantic conventions for generative AI.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from agent_ls import __version__
from agent_ls.domain import events as ev
from agent_ls.domain.stops import TurnStatus
from agent_ls.domain.usage import Usage
from agent_ls.loop.state.state import SessionState
from agent_ls.observers.trace import (
    AttemptTrace,
    CallTrace,
    Note,
    SideTrace,
    StepTrace,
    TurnTrace,
    WaitTrace,
)
from agent_ls.observers.tracing import Tracing
from agent_ls.safety.secrets import mask

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

_PROVIDERS = {
    "azure": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "vertex_ai": "gcp.vertex_ai",
    "xai": "x_ai",
}
"""The conventions' provider names, where they differ from litellm's."""
_NOTES = {"gate": "gate_failed", "recovery": "recovery", "compaction": "compaction"}
"""Kinds of note that become span events on the step, with the events' names."""


class Spans:
    """A reader that makes spans of one session's turns."""

    def __init__(
        self, tracer: Tracer, session_id: str, model: str, *, with_content: bool = False
    ) -> None:
        self._tracer = tracer
        self._session_id = session_id
        self._with_content = with_content
        self._agent = ""
        self._tracing = Tracing(model)

    def begin(self, state: SessionState) -> None:
        """Replay a turn that began before this reader: a sub-agent's, or a resumed one."""
        if state.turn is not None and state.is_running:
            self._agent = state.agent
            for stored in state.turn.events:
                self._tracing.on_event(stored)

    def on_event(self, stored: ev.StoredEvent) -> None:
        """Add one event; send a turn's spans when it ends or the next turn starts."""
        if isinstance(stored.event, ev.TurnStarted):
            self._send(stored.at_ms)
        self._tracing.on_event(stored)
        if isinstance(stored.event, ev.TurnEnded):
            self._send(stored.at_ms)

    def on_ephemeral(self, session_id: str, piece: ev.Ephemeral) -> None:
        """Ignore streamed pieces."""

    def _send(self, at_ms: int) -> None:
        turns, self._tracing = self._tracing.session.turns, Tracing(self._tracing.model)
        for turn in turns:
            self._turn(turn, turn.ended_ms or at_ms)

    def _turn(self, turn: TurnTrace, ended_ms: int) -> None:
        root = self._start("invoke_agent agent-ls", turn.started_ms, None)
        root.set_attributes(
            {
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.agent.name": self._agent or "agent-ls",
                "gen_ai.agent.version": __version__,
                "gen_ai.conversation.id": self._session_id,
                "gen_ai.request.model": turn.model,
                "gen_ai.provider.name": provider_of(turn.model),
                "agent_ls.turn.id": turn.turn_id,
            }
        )
        self._content(root, "gen_ai.input.messages", _message("user", turn.prompt))
        within, within_end_ms = root, ended_ms
        for item in turn.items:
            if isinstance(item, StepTrace):
                self._end_step(within, root, within_end_ms)
                within, within_end_ms = self._step(item, root, turn), item.ended_ms or ended_ms
            else:
                self._beside(item, within, ended_ms)
        self._end_step(within, root, within_end_ms)
        failure = None
        if turn.ended_ms is not None:
            facts = {"agent_ls.stop_reason": turn.stop, "agent_ls.status": turn.status}
            root.set_attributes({**facts, **_used(turn.usage)})
            self._content(root, "gen_ai.output.messages", _message("assistant", turn.output))
            failure = turn.stop if turn.status == TurnStatus.FAILED else None
        self._end(root, ended_ms, failure, turn.failure_reason)

    def _end_step(self, step: Span, root: Span, at_ms: int) -> None:
        if step is not root:
            self._end(step, at_ms)

    def _step(self, step: StepTrace, root: Span, turn: TurnTrace) -> Span:
        """Return the span of a step, still open for the notes that follow."""
        span = self._start(f"step {step.number}", step.started_ms, root)
        span.set_attributes(
            {
                "agent_ls.step.number": step.number,
                "agent_ls.step.id": step.step_id,
                "agent_ls.input.messages": step.input.messages,
                "agent_ls.input.estimated_tokens": step.input.estimated_tokens,
                "agent_ls.input.slots": len(step.input.slots),
            }
        )
        if step.is_answered:
            self._content(span, "gen_ai.output.messages", _message("assistant", step.text))
        for hook in step.hooks:
            facts = {
                "agent_ls.hook": hook.name,
                "agent_ls.hook.point": hook.moment,
                "agent_ls.hook.outcome": hook.outcome,
                "agent_ls.hook.duration_ms": hook.duration_ms,
            }
            span.add_event("hook", facts, _ns(hook.ended_ms or hook.started_ms))
        for attempt in step.attempts:
            self._chat(attempt, step.asked_model, span)
        children = {side.call_id: side.session_id for side in turn.sides if side.kind == "child"}
        for call in step.calls:
            self._call(call, step, children.get(call.call_id, ""), span)
        return span

    def _chat(self, one: AttemptTrace | SideTrace, model: str, parent: Span) -> None:
        """Make the span of one model request; ``model`` is the requested model."""
        from opentelemetry.trace import SpanKind

        span = self._start(f"chat {model}", one.started_ms, parent, SpanKind.CLIENT)
        span.set_attributes(
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": provider_of(model),
                "gen_ai.conversation.id": self._session_id,
                "gen_ai.request.model": model,
                "gen_ai.response.model": one.model or model,
                "gen_ai.request.stream": True,
                **_used(one.usage),
            }
        )
        message = ""
        if isinstance(one, SideTrace):
            span.set_attribute("agent_ls.origin", one.origin)
        else:
            message = one.message
            if one.finish:
                span.set_attribute("gen_ai.response.finish_reasons", [one.finish])
        self._end(span, one.ended_ms or one.started_ms, one.failure.partition(":")[0], message)

    def _call(self, call: CallTrace, step: StepTrace, child: str, parent: Span) -> None:
        if call.run is None and call.decision != "deny":
            return
        start_ms = call.run.started_ms if call.run else step.ended_ms or step.started_ms
        span = self._start(f"execute_tool {call.tool}", start_ms, parent)
        span.set_attributes(
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.call.id": call.call_id,
                "gen_ai.tool.type": "function",
                "gen_ai.tool.name": call.tool,
                **({"agent_ls.tool.effect": call.effect} if call.effect else {}),
                **({"agent_ls.decided_by": call.decided_by} if call.run is None else {}),
                "agent_ls.tool.outcome": call.outcome,
                **({"agent_ls.child.conversation.id": child} if child else {}),
            }
        )
        self._content(span, "gen_ai.tool.call.arguments", call.arguments_json)
        self._content(span, "gen_ai.tool.call.result", call.text)
        self._end(span, max(start_ms, call.finished_ms or 0), call.error)

    def _beside(self, item: Note | WaitTrace | SideTrace, within: Span, ended_ms: int) -> None:
        match item:
            case WaitTrace():
                self._wait(item, within, ended_ms)
            case SideTrace(kind="advice"):
                self._chat(item, item.model, within)
            case Note():
                kind, _, action = item.kind.partition(": ")
                if kind in _NOTES:
                    facts = {"agent_ls.origin": item.origin}
                    facts |= {"agent_ls.recovery": action} if action else {}
                    within.add_event(_NOTES[kind], facts, _ns(item.at_ms))
            case _:
                pass

    def _wait(self, wait: WaitTrace, within: Span, ended_ms: int) -> None:
        span = self._start(f"{wait.kind} {wait.asked_by}", wait.started_ms, within)
        if wait.call_id:
            span.set_attribute("gen_ai.tool.call.id", wait.call_id)
        if wait.ended_ms is not None:
            is_told = self._with_content or wait.kind == "approval"
            span.set_attribute("agent_ls.answer", wait.answer if is_told else "")
            span.set_attribute("agent_ls.answered_by", wait.answered_by)
        self._end(span, wait.ended_ms or ended_ms)

    def _start(self, name: str, at_ms: int, parent: Span | None, kind: Any = None) -> Span:
        from opentelemetry.context import Context
        from opentelemetry.trace import SpanKind, set_span_in_context

        # An empty context, not the current one: a turn has no outer span.
        context = set_span_in_context(parent, Context()) if parent is not None else Context()
        return self._tracer.start_span(
            name, context=context, kind=kind or SpanKind.INTERNAL, start_time=_ns(at_ms)
        )

    def _end(self, span: Span, at_ms: int, failure: str | None = None, message: str = "") -> None:
        from opentelemetry.trace import StatusCode

        if failure:
            span.set_attribute("error.type", failure)
            # An endpoint's message may repeat the request.
            span.set_status(StatusCode.ERROR, mask(message) if self._with_content else None)
        span.end(_ns(at_ms))

    def _content(self, span: Span, name: str, text: str) -> None:
        if self._with_content and text:
            span.set_attribute(name, mask(text))


def provider_of(model: str) -> str:
    """Return the conventions' provider name for a litellm model name."""
    prefix, slash, _ = model.partition("/")
    return _PROVIDERS.get(prefix, prefix) if slash else "unknown"


def _used(usage: Usage) -> dict[str, int | float]:
    return {
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read_tokens,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_tokens,
        "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens,
        "agent_ls.cost_usd": usage.cost_usd,
    }


def _message(role: str, text: str) -> str:
    parts = [{"type": "text", "content": text}]
    return json.dumps([{"role": role, "parts": parts}], ensure_ascii=False)


def _ns(at_ms: int) -> int:
    return at_ms * 1_000_000
