"""How a scripted answer looks on the wire, as OpenAI's chat completions: events, or one body."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from agent_ls.providers.scenario import Answer, ScriptedCall, ScriptedError, ScriptedUsage

Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One server-sent event."""

    data: str
    has_finish: bool = False
    """It carries the finish reason."""

    def encode(self) -> bytes:
        """Return the event as it is sent."""
        return f"data: {self.data}\n\n".encode()


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer with everything that is needed to write it down."""

    answer: Answer
    call_ids: tuple[str, ...]
    usage: ScriptedUsage
    serial: int
    model: str
    wants_usage: bool

    @property
    def calls(self) -> list[tuple[str, ScriptedCall]]:
        """Return the calls with their ids."""
        return list(zip(self.call_ids, self.answer.call, strict=True))

    def stream(self) -> Iterator[StreamEvent]:
        """Yield chunks, the finish reason, the usage when asked for, and the end mark."""
        answer, size = self.answer, self.answer.chunk or 0
        yield self._chunk({"role": "assistant", "content": ""})
        for name, text in (("reasoning_content", answer.reasoning), ("content", answer.text)):
            for piece in pieces(text, size):
                yield self._chunk({name: piece})
        for index, (call_id, call) in enumerate(self.calls):
            function = {"name": call.tool, "arguments": ""}
            head = {"index": index, "id": call_id, "type": "function", "function": function}
            yield self._chunk({"tool_calls": [head]})
            for piece in pieces(call.text, size):
                more = {"index": index, "function": {"arguments": piece}}
                yield self._chunk({"tool_calls": [more]})
        if answer.error:
            yield StreamEvent(dumps(error_body(answer.error)))
            return
        yield self._chunk({}, answer.finish_reason)
        if self.wants_usage and not answer.is_usage_missing:
            yield StreamEvent(dumps({**self._envelope("chunk"), "choices": [], **self._usage()}))
        yield StreamEvent("[DONE]")

    def whole(self) -> Json:
        """Return a ``chat.completion`` object."""
        answer = self.answer
        message: dict[str, object] = {"role": "assistant", "content": answer.text or None}
        if answer.reasoning:
            message["reasoning_content"] = answer.reasoning
        if answer.call:
            message["tool_calls"] = [
                {
                    "id": call_id,
                    "type": "function",
                    "function": {"name": call.tool, "arguments": call.text},
                }
                for call_id, call in self.calls
            ]
        choice = {"index": 0, "message": message, "finish_reason": answer.finish_reason}
        body = {**self._envelope(""), "choices": [choice]}
        return body if answer.is_usage_missing else {**body, **self._usage()}

    def _chunk(self, delta: Json, finish: str | None = None) -> StreamEvent:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return StreamEvent(
            dumps({**self._envelope("chunk"), "choices": [choice]}), finish is not None
        )

    def _usage(self) -> Json:
        usage = self.usage
        return {
            "usage": {
                "prompt_tokens": usage.input,
                "completion_tokens": usage.output,
                "total_tokens": usage.input + usage.output,
                "prompt_tokens_details": {"cached_tokens": usage.cached},
                "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
            }
        }

    def _envelope(self, part: str) -> Json:
        return {
            "id": f"chatcmpl-{self.serial}",
            "object": ".".join(filter(None, ("chat.completion", part))),
            "created": 0,
            "model": self.model,
        }


def pieces(text: str, size: int) -> list[str]:
    """Cut a text into pieces of that many characters; 0: one piece; none of an empty text."""
    if not text:
        return []
    return [text[i : i + size] for i in range(0, len(text), size)] if size else [text]


def dumps(value: object) -> str:
    """Return compact JSON."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def error_body(error: ScriptedError) -> Json:
    """Return OpenAI's error object."""
    kind = error.kind or "scripted_error"
    return {"error": {"message": error.message, "type": kind, "code": error.code}}
