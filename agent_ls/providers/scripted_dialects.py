"""How a scripted answer looks on the wire: OpenAI chat completions and Anthropic messages.

Pure: from an ``Answer`` to stream events or one JSON body, and from a request body to the few
facts a scenario may ask about.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from agent_ls.providers.scenario import Answer, ScriptedCall, ScriptedError, ScriptedUsage

Json = Mapping[str, object]
Mark = Literal["", "finish"]


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One server-sent event."""

    data: str
    name: str = ""
    mark: Mark = ""
    """``finish`` on the event that carries the finish reason."""

    def encode(self) -> bytes:
        """Return the event as it is sent."""
        head = f"event: {self.name}\n" if self.name else ""
        return f"{head}data: {self.data}\n\n".encode()


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer with everything a dialect needs to write it down."""

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


class Dialect(Protocol):
    """One provider API."""

    def stream(self, reply: Reply) -> Iterator[StreamEvent]:
        """Yield the events of a streamed answer, in order."""
        ...

    def whole(self, reply: Reply) -> Json:
        """Return the answer as one JSON body."""
        ...

    def error(self, error: ScriptedError) -> Json:
        """Return the error object."""
        ...


def pieces(text: str, size: int) -> list[str]:
    """Cut a text into pieces of that many characters; 0: one piece; none of an empty text."""
    if not text:
        return []
    return [text[i : i + size] for i in range(0, len(text), size)] if size else [text]


def dumps(value: object) -> str:
    """Return compact JSON."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


class ChatCompletions:
    """OpenAI's ``/v1/chat/completions``."""

    def stream(self, reply: Reply) -> Iterator[StreamEvent]:
        """Yield chunks, the finish reason, the usage when asked for, and the end mark."""
        answer, size = reply.answer, reply.answer.chunk or 0
        yield self._chunk(reply, {"role": "assistant", "content": ""})
        for piece in pieces(answer.reasoning, size):
            yield self._chunk(reply, {"reasoning_content": piece})
        for piece in pieces(answer.text, size):
            yield self._chunk(reply, {"content": piece})
        for index, (call_id, call) in enumerate(reply.calls):
            head = {"index": index, "id": call_id, "type": "function"}
            yield self._call(reply, {**head, "function": {"name": call.tool, "arguments": ""}})
            for piece in pieces(call.text, size):
                yield self._call(reply, {"index": index, "function": {"arguments": piece}})
        if answer.error:
            yield StreamEvent(dumps(self.error(answer.error)))
            return
        yield self._chunk(reply, {}, answer.finish_reason)
        if reply.wants_usage and not answer.is_usage_missing:
            yield StreamEvent(dumps(self._usage(reply)))
        yield StreamEvent("[DONE]")

    def whole(self, reply: Reply) -> Json:
        """Return a ``chat.completion`` object."""
        answer = reply.answer
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
                for call_id, call in reply.calls
            ]
        choice = {"index": 0, "message": message, "finish_reason": answer.finish_reason}
        body = {**self._envelope(reply), "object": "chat.completion", "choices": [choice]}
        return body if answer.is_usage_missing else {**body, "usage": _chat_usage(reply.usage)}

    def error(self, error: ScriptedError) -> Json:
        """Return OpenAI's error object."""
        return {
            "error": {
                "message": error.message,
                "type": error.kind or "scripted_error",
                "code": error.code,
            }
        }

    def _call(self, reply: Reply, call: Json) -> StreamEvent:
        return self._chunk(reply, {"tool_calls": [call]})

    def _chunk(self, reply: Reply, delta: Json, finish: str | None = None) -> StreamEvent:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return StreamEvent(
            dumps({**self._envelope(reply), "choices": [choice]}),
            mark="finish" if finish is not None else "",
        )

    def _usage(self, reply: Reply) -> Json:
        nothing: Sequence[Json] = []
        return {**self._envelope(reply), "choices": nothing, "usage": _chat_usage(reply.usage)}

    def _envelope(self, reply: Reply) -> Json:
        return {
            "id": f"chatcmpl-{reply.serial}",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": reply.model,
        }


class AnthropicMessages:
    """Anthropic's ``/v1/messages``."""

    def stream(self, reply: Reply) -> Iterator[StreamEvent]:
        """Yield the events of a message."""
        answer = reply.answer
        nothing: Json = {"content": [], "stop_reason": None}
        yield _named("message_start", message={**self._message(reply, 1), **nothing})
        for index, (block, deltas) in enumerate(self._blocks(reply)):
            yield _named("content_block_start", index=index, content_block=block)
            for delta in deltas:
                yield _named("content_block_delta", index=index, delta=delta)
            yield _named("content_block_stop", index=index)
        if answer.error:
            yield StreamEvent(dumps(self.error(answer.error)), name="error")
            return
        yield _named(
            "message_delta",
            mark="finish",
            delta={"stop_reason": self._stop(answer), "stop_sequence": None},
            usage={"output_tokens": reply.usage.output},
        )
        yield _named("message_stop")

    def whole(self, reply: Reply) -> Json:
        """Return a message object."""
        answer = reply.answer
        text: Sequence[Json] = [{"type": "text", "text": answer.text}] if answer.text else []
        calls = [
            {"type": "tool_use", "id": call_id, "name": call.tool, "input": call.arguments}
            for call_id, call in reply.calls
        ]
        stop = self._stop(answer)
        return {
            **self._message(reply, reply.usage.output),
            "content": [*text, *calls],
            "stop_reason": stop,
        }

    def error(self, error: ScriptedError) -> Json:
        """Return Anthropic's error object."""
        kind = error.kind or "api_error"
        return {"type": "error", "error": {"type": kind, "message": error.message}}

    def _blocks(self, reply: Reply) -> Iterator[tuple[Json, Sequence[Json]]]:
        answer, size = reply.answer, reply.answer.chunk or 0
        if answer.reasoning:
            deltas = [
                {"type": "thinking_delta", "thinking": piece}
                for piece in pieces(answer.reasoning, size)
            ]
            signed = {"type": "signature_delta", "signature": f"signed-{reply.serial}"}
            yield {"type": "thinking", "thinking": "", "signature": ""}, [*deltas, signed]
        if answer.text:
            deltas = [{"type": "text_delta", "text": piece} for piece in pieces(answer.text, size)]
            yield {"type": "text", "text": ""}, deltas
        for call_id, call in reply.calls:
            deltas = [
                {"type": "input_json_delta", "partial_json": piece}
                for piece in pieces(call.text, size)
            ]
            yield {"type": "tool_use", "id": call_id, "name": call.tool, "input": {}}, deltas

    def _message(self, reply: Reply, output_tokens: int) -> Json:
        usage = reply.usage
        return {
            "id": f"msg_{reply.serial}",
            "type": "message",
            "role": "assistant",
            "model": reply.model,
            "stop_sequence": None,
            # Anthropic counts what came from the cache and what went there apart.
            "usage": {
                "input_tokens": usage.input - usage.cached - usage.cache_write,
                "cache_read_input_tokens": usage.cached,
                "cache_creation_input_tokens": usage.cache_write,
                "output_tokens": output_tokens,
            },
        }

    def _stop(self, answer: Answer) -> str:
        words = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens"}
        return words.get(answer.finish_reason, answer.finish_reason)


def _chat_usage(usage: ScriptedUsage) -> Json:
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }


def _named(kind: str, *, mark: Mark = "", **fields: object) -> StreamEvent:
    return StreamEvent(dumps({"type": kind, **fields}), name=kind, mark=mark)
