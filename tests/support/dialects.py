"""Answers as the providers' public documentation shows them on the wire, one builder a dialect.

Each takes the same answer (thinking, text, calls, usage, why it ended) and returns what an endpoint
of that provider would send; ``faulty`` plays it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.support.faulty import Play, data, head, sends, whole

Arguments = dict[str, object]


@dataclass(frozen=True)
class Counts:
    """Tokens, as our own usage counts them: cached ones are part of the input."""

    input: int = 1_000
    output: int = 50
    cached: int = 800
    written: int = 0
    reasoning: int = 20


@dataclass(frozen=True)
class Said:
    """What a model answers."""

    thinking: str = ""
    text: str = ""
    calls: Sequence[tuple[str, str, Arguments]] = ()
    """Id, tool, arguments."""
    is_cut: bool = False
    counts: Counts = field(default_factory=Counts)


def _torn(text: str) -> list[str]:
    """Return a text in three pieces, as streams tear it."""
    size = max(1, -(-len(text) // 3))
    return [text[at : at + size] for at in range(0, len(text), size)]


def anthropic(said: Said) -> Play:
    """Return an answer of Anthropic's Messages API."""
    counts = said.counts
    usage = {
        "input_tokens": counts.input - counts.cached - counts.written,
        "cache_read_input_tokens": counts.cached,
        "cache_creation_input_tokens": counts.written,
        "output_tokens": 1,
    }
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    events: list[dict[str, Any]] = [{"type": "message_start", "message": message}]
    events.append({"type": "ping"})
    blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
    if said.thinking:
        deltas = [{"type": "thinking_delta", "thinking": one} for one in _torn(said.thinking)]
        deltas.append({"type": "signature_delta", "signature": "signed-1"})
        blocks.append(({"type": "thinking", "thinking": "", "signature": ""}, deltas))
    if said.text:
        deltas = [{"type": "text_delta", "text": one} for one in _torn(said.text)]
        blocks.append(({"type": "text", "text": ""}, deltas))
    for call_id, tool, arguments in said.calls:
        pieces = _torn(json.dumps(arguments))
        deltas = [{"type": "input_json_delta", "partial_json": one} for one in ["", *pieces]]
        blocks.append(({"type": "tool_use", "id": call_id, "name": tool, "input": {}}, deltas))
    for index, (block, deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events += [
            {"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas
        ]
        events.append({"type": "content_block_stop", "index": index})
    stop = "max_tokens" if said.is_cut else "tool_use" if said.calls else "end_turn"
    delta = {"stop_reason": stop, "stop_sequence": None}
    last = {"type": "message_delta", "delta": delta, "usage": {"output_tokens": counts.output}}
    return _named_events([*events, last, {"type": "message_stop"}])


def _named_events(events: Sequence[dict[str, Any]]) -> Play:
    body = b"".join(f"event: {one['type']}\n".encode() + data(one) for one in events)
    return sends(head(), body)


def gemini(said: Said) -> Play:
    """Return an answer of Gemini's ``streamGenerateContent`` as server-sent events."""
    parts: list[dict[str, Any]] = [
        *({"text": one, "thought": True} for one in _torn(said.thinking)),
        *({"text": one} for one in _torn(said.text)),
    ]
    for _, tool, arguments in said.calls:
        call = {"functionCall": {"name": tool, "args": arguments}}
        parts.append({**call, "thoughtSignature": "c2lnbmVk"} if said.thinking else call)
    counts = said.counts
    usage = {
        "promptTokenCount": counts.input,
        "cachedContentTokenCount": counts.cached,
        "candidatesTokenCount": counts.output - counts.reasoning,
        "thoughtsTokenCount": counts.reasoning,
        "totalTokenCount": counts.input + counts.output,
    }
    chunks: list[dict[str, Any]] = [
        {"candidates": [{"content": {"parts": [part], "role": "model"}, "index": 0}]}
        for part in parts
    ]
    end = {"finishReason": "MAX_TOKENS" if said.is_cut else "STOP", "index": 0}
    chunks.append({"candidates": [{"content": {"parts": [{"text": ""}], "role": "model"}, **end}]})
    chunks[-1]["usageMetadata"] = usage
    return sends(head(), b"".join(data({**one, "modelVersion": "gemini"}) for one in chunks))


def ollama(said: Said) -> Play:
    """Return an answer of Ollama's chat API: a JSON object a line."""
    messages: list[dict[str, Any]] = [
        *({"thinking": one, "content": ""} for one in _torn(said.thinking)),
        *({"content": one} for one in _torn(said.text)),
        *(
            {"content": "", "tool_calls": [{"function": {"name": tool, "arguments": arguments}}]}
            for _, tool, arguments in said.calls
        ),
    ]
    common = {"model": "qwen3", "created_at": "2026-01-01T00:00:00Z"}
    lines: list[dict[str, Any]] = [
        {**common, "message": {"role": "assistant", **one}, "done": False} for one in messages
    ]
    end = {
        "message": {"role": "assistant", "content": ""},
        "done": True,
        "done_reason": "length" if said.is_cut else "stop",
        "prompt_eval_count": said.counts.input,
        "eval_count": said.counts.output,
    }
    body = b"".join(json.dumps(one).encode() + b"\n" for one in [*lines, {**common, **end}])
    return sends(head(kind="application/x-ndjson"), body)


def responses(said: Said) -> Play:
    """Return an answer of OpenAI's Responses API."""
    output: list[dict[str, Any]] = []
    events: list[dict[str, Any]] = []

    def item(begun: dict[str, Any], between: list[dict[str, Any]], done: dict[str, Any]) -> None:
        index = len(output)
        events.append({"type": "response.output_item.added", "output_index": index, "item": begun})
        events.extend({**one, "item_id": done["id"], "output_index": index} for one in between)
        events.append({"type": "response.output_item.done", "output_index": index, "item": done})
        output.append(done)

    if said.thinking:
        summary = [{"type": "summary_text", "text": said.thinking}]
        reasoning = {"id": "rs_1", "type": "reasoning", "encrypted_content": "ENCRYPTED-1"}
        deltas = [
            {"type": "response.reasoning_summary_text.delta", "summary_index": 0, "delta": one}
            for one in _torn(said.thinking)
        ]
        item({**reasoning, "summary": []}, deltas, {**reasoning, "summary": summary})
    if said.text:
        message = {"id": "msg_1", "type": "message", "role": "assistant"}
        deltas = [
            {"type": "response.output_text.delta", "content_index": 0, "delta": one}
            for one in _torn(said.text)
        ]
        content = [{"type": "output_text", "text": said.text, "annotations": []}]
        item(
            {**message, "status": "in_progress", "content": []},
            deltas,
            {**message, "status": "completed", "content": content},
        )
    for number, (call_id, tool, arguments) in enumerate(said.calls):
        text = json.dumps(arguments)
        call = {"id": f"fc_{number}", "type": "function_call", "call_id": call_id, "name": tool}
        deltas = [
            {"type": "response.function_call_arguments.delta", "delta": one} for one in _torn(text)
        ]
        deltas.append({"type": "response.function_call_arguments.done", "arguments": text})
        item(
            {**call, "status": "in_progress", "arguments": ""},
            deltas,
            {**call, "status": "completed", "arguments": text},
        )
    counts = said.counts
    whole_response: dict[str, Any] = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "gpt-5",
        "status": "incomplete" if said.is_cut else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if said.is_cut else None,
        "error": None,
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": counts.input,
            "input_tokens_details": {"cached_tokens": counts.cached},
            "output_tokens": counts.output,
            "output_tokens_details": {"reasoning_tokens": counts.reasoning},
            "total_tokens": counts.input + counts.output,
        },
    }
    begun = {**whole_response, "status": "in_progress", "output": [], "usage": None}
    last = "response.incomplete" if said.is_cut else "response.completed"
    numbered = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
        *events,
        {"type": last, "response": whole_response},
    ]
    return _named_events([{**one, "sequence_number": n} for n, one in enumerate(numbered)])


ErrorBody = Callable[[int, str, str], dict[str, Any]]


def refuses(body: ErrorBody, status: int, kind: str, message: str) -> Play:
    """Return an error with a status, in a dialect's own shape."""
    return sends(whole(status, json.dumps(body(status, kind, message))))


def anthropic_error(_: int, kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


def gemini_error(status: int, kind: str, message: str) -> dict[str, Any]:
    return {"error": {"code": status, "message": message, "status": kind}}


def openai_error(_: int, kind: str, message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": kind}}


def ollama_error(_: int, __: str, message: str) -> dict[str, Any]:
    return {"error": message}
