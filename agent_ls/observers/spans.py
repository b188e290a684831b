"""Makes spans of what happens in one session, by OpenTelemetry's names for such things.

Knows the names and the nesting: turn > step > model call, tool call, wait. Where spans go is
``otel.py``'s. Source: OpenTelemetry semantic conventions for generative AI.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from agent_ls import __version__
from agent_ls.domain import events as ev
from agent_ls.domain.stops import TurnStatus
from agent_ls.domain.usage import Usage
from agent_ls.loop.state.state import SessionState
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
"""The conventions' names where they are not litellm's."""


class Spans:
    """Follows one session and makes spans of what it sees."""

    def __init__(
        self, tracer: Tracer, session_id: str, model: str, *, with_content: bool = False
    ) -> None:
        """Begin with nothing open."""
        self._tracer = tracer
        self._session_id = session_id
        self._model = model
        self._with_content = with_content
        self._turn: Span | None = None
        self._step: Span | None = None
        self._open: dict[str, Span] = {}
        self._usage = Usage()
        self._last_ms = 0

    def begin(self, state: SessionState) -> None:
        """Take over a turn that began before anybody followed: a sub-agent's, or a resumed one."""
        turn = state.turn
        if turn is None or not state.is_running:
            return
        self._begin_turn(turn.turn_id, turn.prompt, turn.events[-1].at_ms, state.agent)
        self._usage = turn.usage

    def on_event(self, stored: ev.StoredEvent) -> None:
        """Begin, note or end."""
        event, at_ms = stored.event, stored.at_ms
        if isinstance(event, ev.TurnStarted):
            self._begin_turn(event.turn_id, event.prompt, at_ms)
        elif isinstance(event, ev.ModelChanged):
            self._model = event.model
        elif self._turn is not None:
            for part in (self._of_model, self._of_call, self._of_person, self._of_loop):
                if part(event, at_ms):
                    break
        if not isinstance(event, ev.RequestPrepared):
            self._last_ms = at_ms

    def on_ephemeral(self, session_id: str, piece: ev.Ephemeral) -> None:
        """What is not kept makes no span."""

    def _begin_turn(self, turn_id: str, prompt: str, at_ms: int, agent: str = "") -> None:
        self._end_all(at_ms)
        self._usage = Usage()
        self._turn = self._start("invoke_agent agent-ls", at_ms, None)
        self._turn.set_attributes(
            {
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.agent.name": agent or "agent-ls",
                "gen_ai.agent.version": __version__,
                "gen_ai.conversation.id": self._session_id,
                "gen_ai.request.model": self._model,
                "gen_ai.provider.name": provider_of(self._model),
                "agent_ls.turn.id": turn_id,
            }
        )
        self._content(self._turn, "gen_ai.input.messages", _message("user", prompt))

    def _of_model(self, event: ev.Event, at_ms: int) -> bool:
        match event:
            case ev.RequestPrepared():
                self._end_step()
                self._step = self._start(f"step {event.number}", at_ms, self._turn)
                self._step.set_attributes(
                    {
                        "agent_ls.step.number": event.number,
                        "agent_ls.step.id": event.step_id,
                        "agent_ls.input.messages": event.messages,
                        "agent_ls.input.estimated_tokens": event.estimated_tokens,
                        "agent_ls.input.slots": len(event.slots),
                    }
                )
            case ev.AttemptFinished():
                self._attempt(event, at_ms)
            case ev.Answered(message=message) if self._step is not None:
                said = _message("assistant", message.text)
                self._content(self._step, "gen_ai.output.messages", said)
            case ev.AdviceGiven():
                self._usage += event.usage
                span = self._chat(event.model, at_ms, event.duration_ms, event.usage)
                span.set_attribute("agent_ls.origin", event.origin)
                self._end(span, at_ms, event.failure, event.message)
            case _:
                return False
        return True

    def _attempt(self, event: ev.AttemptFinished, at_ms: int) -> None:
        self._usage += event.usage
        span = self._chat(event.model or self._model, at_ms, event.duration_ms, event.usage)
        if event.finish:
            span.set_attribute("gen_ai.response.finish_reasons", [event.finish.value])
        self._end(span, at_ms, event.failure, event.message)

    def _chat(self, model: str, at_ms: int, duration_ms: int, usage: Usage) -> Span:
        """Return the span of one request to a model, still open."""
        from opentelemetry.trace import SpanKind

        parent = self._step or self._turn
        span = self._start(
            f"chat {self._model or model}", at_ms - duration_ms, parent, SpanKind.CLIENT
        )
        span.set_attributes(
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": provider_of(self._model),
                "gen_ai.conversation.id": self._session_id,
                "gen_ai.request.model": self._model,
                "gen_ai.response.model": model,
                "gen_ai.request.stream": True,
                **_used(usage),
            }
        )
        return span

    def _of_call(self, event: ev.Event, at_ms: int) -> bool:
        match event:
            case ev.ToolCallStarted():
                span = self._call(event.call_id, event.tool, at_ms)
                span.set_attribute("agent_ls.tool.effect", event.effect.value)
                self._content(span, "gen_ai.tool.call.arguments", event.arguments_json)
            case ev.CallDecided(decision="deny"):
                # It never starts; its refusal is all there is to see.
                span = self._call(event.call_id, "", at_ms)
                span.set_attribute("agent_ls.decided_by", event.origin)
            case ev.ToolCallFinished(result=result):
                span = self._open.pop(result.call_id, None)
                if span is not None:
                    self._content(span, "gen_ai.tool.call.result", result.text)
                    self._end(span, at_ms, result.error.value if result.error else None)
            case ev.ChildStarted():
                if (span := self._open.get(event.call_id)) is not None:
                    span.set_attribute("agent_ls.child.conversation.id", event.child_id)
            case _:
                return False
        return True

    def _call(self, call_id: str, tool: str, at_ms: int) -> Span:
        name = f"execute_tool {tool}".strip()
        span = self._start(name, at_ms, self._step or self._turn)
        span.set_attributes(
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.call.id": call_id,
                "gen_ai.tool.type": "function",
                **({"gen_ai.tool.name": tool} if tool else {}),
            }
        )
        self._open[call_id] = span
        return span

    def _of_person(self, event: ev.Event, at_ms: int) -> bool:
        match event:
            case ev.ApprovalRequested(request=request):
                span = self._wait(f"approval {request.tool}", request.id, at_ms)
                span.set_attribute("gen_ai.tool.call.id", request.call_id)
            case ev.ApprovalResolved(answer=answer):
                self._settle(event.approval_id, answer.choice.value, answer.by, at_ms)
            case ev.QuestionAsked(question=question):
                self._wait(f"question {question.origin}", question.id, at_ms)
            case ev.QuestionResolved(answer=answer):
                said = answer.text if self._with_content else ""
                self._settle(event.question_id, said, answer.by, at_ms)
            case _:
                return False
        return True

    def _wait(self, name: str, wait_id: str, at_ms: int) -> Span:
        self._open[wait_id] = self._start(name, at_ms, self._step or self._turn)
        return self._open[wait_id]

    def _settle(self, wait_id: str, answer: str, by: str, at_ms: int) -> None:
        span = self._open.pop(wait_id, None)
        if span is not None:
            span.set_attributes({"agent_ls.answer": answer, "agent_ls.answered_by": by})
            self._end(span, at_ms)

    def _of_loop(self, event: ev.Event, at_ms: int) -> bool:
        match event:
            case ev.TurnEnded():
                self._ended(event, at_ms)
            case ev.GateFailed(origin=origin):
                self._note("gate_failed", {"agent_ls.origin": origin}, at_ms)
            case ev.RecoveryChosen():
                facts = {"agent_ls.origin": event.origin, "agent_ls.recovery": event.action}
                self._note("recovery", facts, at_ms)
            case ev.HookRan():
                facts = {"agent_ls.hook": event.name, "agent_ls.hook.point": event.point.value,
                         "agent_ls.hook.outcome": event.outcome.value,
                         "agent_ls.hook.duration_ms": event.duration_ms}  # fmt: skip
                self._note("hook", facts, at_ms)
            case ev.Compacted():
                facts = {"agent_ls.origin": event.origin,
                         "agent_ls.before_tokens": event.before_tokens,
                         "agent_ls.after_tokens": event.after_tokens}  # fmt: skip
                self._note("compaction", facts, at_ms)
            case _:
                return False
        return True

    def _note(self, name: str, facts: dict[str, Any], at_ms: int) -> None:
        span = self._step or self._turn
        if span is not None:
            span.add_event(name, facts, _ns(at_ms))

    def _ended(self, event: ev.TurnEnded, at_ms: int) -> None:
        if self._turn is not None:
            facts = {"agent_ls.stop_reason": event.stop.value, "agent_ls.status": event.status}
            self._turn.set_attributes({**facts, **_used(self._usage)})
            self._content(self._turn, "gen_ai.output.messages", _message("assistant", event.output))
        is_failed = event.status is TurnStatus.FAILED
        self._end_all(at_ms, event.stop.value if is_failed else None, event.failure_reason)

    def _end_step(self) -> None:
        if self._step is not None:
            self._end(self._step, self._last_ms)
            self._step = None

    def _end_all(self, at_ms: int, failure: str | None = None, message: str = "") -> None:
        for span in self._open.values():
            self._end(span, at_ms)
        self._open.clear()
        self._end_step()
        if self._turn is not None:
            self._end(self._turn, at_ms, failure, message)
            self._turn = None

    def _start(self, name: str, at_ms: int, parent: Span | None, kind: Any = None) -> Span:
        from opentelemetry.context import Context
        from opentelemetry.trace import SpanKind, set_span_in_context

        # An empty context and not the current one: a turn belongs to nothing around it.
        context = set_span_in_context(parent, Context()) if parent is not None else Context()
        return self._tracer.start_span(
            name, context=context, kind=kind or SpanKind.INTERNAL, start_time=_ns(at_ms)
        )

    def _end(self, span: Span, at_ms: int, failure: str | None = None, message: str = "") -> None:
        from opentelemetry.trace import StatusCode

        if failure:
            span.set_attribute("error.type", failure)
            # An endpoint's words may repeat what it was sent.
            span.set_status(StatusCode.ERROR, mask(message) if self._with_content else None)
        span.end(_ns(at_ms))

    def _content(self, span: Span, name: str, text: str) -> None:
        if self._with_content and text:
            span.set_attribute(name, mask(text))


def provider_of(model: str) -> str:
    """Return the conventions' name of who serves a litellm model name."""
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
