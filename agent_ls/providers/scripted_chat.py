"""Encodes a scripted answer as the events of OpenAI's streamed chat completions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from agent_ls.providers.scenario import Answer, ScriptedUsage

Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Reply:
    """A scripted answer with the values needed to encode it."""

    answer: Answer
    usage: ScriptedUsage
    serial: int
    """The request's number; makes ids unique in the scenario."""
    model: str
    wants_usage: bool

    def stream(self) -> Iterator[bytes]:
        """Yield chunks, the finish reason, the usage when asked for, and the end mark."""
        answer = self.answer
        yield self._chunk({"role": "assistant", "content": ""})
        for name, text in (("reasoning_content", answer.reasoning), ("content", answer.text)):
            for piece in self._pieces(text):
                yield self._chunk({name: piece})
        for index, call in enumerate(answer.call):
            function = {"name": call.tool, "arguments": ""}
            call_id = call.id or f"call_{self.serial}_{index}"
            head = {"index": index, "id": call_id, "type": "function", "function": function}
            yield self._chunk({"tool_calls": [head]})
            for piece in self._pieces(call.text):
                more = {"index": index, "function": {"arguments": piece}}
                yield self._chunk({"tool_calls": [more]})
        yield self._chunk({}, answer.finish or ("tool_calls" if answer.call else "stop"))
        if self.wants_usage:
            yield _event(dumps({**self._envelope(), "choices": [], "usage": self._counts()}))
        yield _event("[DONE]")

    def _pieces(self, text: str) -> list[str]:
        size = self.answer.chunk or len(text) or 1
        return [text[at : at + size] for at in range(0, len(text), size)]

    def _chunk(self, delta: Json, finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return _event(dumps({**self._envelope(), "choices": [choice]}))

    def _counts(self) -> Json:
        usage = self.usage
        return {
            "prompt_tokens": usage.input,
            "completion_tokens": usage.output,
            "total_tokens": usage.input + usage.output,
            "prompt_tokens_details": {"cached_tokens": usage.cached},
            "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
        }

    def _envelope(self) -> Json:
        name = f"chatcmpl-{self.serial}"
        return {"id": name, "object": "chat.completion.chunk", "created": 0, "model": self.model}


def _event(data: str) -> bytes:
    return f"data: {data}\n\n".encode()


def dumps(value: object) -> str:
    """Return compact JSON."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
