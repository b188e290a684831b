"""Parses an answer in Anthropic's Messages format, from the objects of its stream.

The sender is not trusted: fields of an unexpected shape count as absent.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from agent_ls.domain.model_io import ModelEvent
from agent_ls.domain.usage import Usage
from agent_ls.providers.answer import MAX_CALLS, Answer, MalformedAnswer
from agent_ls.providers.anthropic_request import BLOCKS
from agent_ls.providers.chat_stream import read_usage
from agent_ls.providers.shapes import Object, as_count, as_list, as_object, as_text


class MessageEvents:
    """Adds the events of a stream to an answer and yields the events that they complete."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._counts: Usage | None = None
        self._blocks: dict[int, Object] = {}
        """The blocks so far: thinking as it came, of a text its size, of a call its id."""
        self._pieces: dict[tuple[int, str], list[str]] = {}
        """Thinking and signatures as they come."""
        self._whole: dict[int, str] = {}
        """Arguments that came with the beginning of their call, for when no pieces follow."""
        self.is_ended = False
        self.is_done = False

    def is_answer(self, body: Object) -> bool:
        """Say whether an object is a whole message."""
        return body.get("type") == "message" or bool(as_list(body.get("content")))

    def take(self, found: Object, part: str = "delta") -> Iterator[ModelEvent]:
        """Add one event of a stream, or a whole message with ``part`` set to ``message``.

        Errors: ``MalformedAnswer``.
        """
        if part == "message":
            yield from self._message(found)
            return
        number, delta = as_count(found.get("index")), as_object(found.get("delta"))
        match found.get("type"):
            case "message_start":
                self._count(as_object(found.get("message")))
            case "content_block_start":
                yield from self._begin(number, as_object(found.get("content_block")))
            case "content_block_delta":
                yield from self._continue(number, delta)
            case "content_block_stop":
                yield from self._end_block(number)
            case "message_delta":
                for begun in self._whole:
                    # Not every server says that a block is over.
                    yield from self._end_block(begun)
                self._count(found)
                self._finish(delta)
            case "message_stop":
                self.is_done = True
            case _:
                # Pings, and events that do not exist yet.
                return

    def _message(self, found: Object) -> Iterator[ModelEvent]:
        for number, block in enumerate(as_list(found.get("content"))):
            yield from self._begin(number, as_object(block))
            yield from self._end_block(number)
        self._count(found)
        self._finish(found)

    def _begin(self, number: int, block: Object) -> Iterator[ModelEvent]:
        """Begin a block. Some servers send all of it at once, here."""
        if len(self._blocks) >= MAX_CALLS:
            raise MalformedAnswer(f"the answer has more than {MAX_CALLS} blocks")
        match block.get("type"):
            case "tool_use":
                call_id, name = as_text(block.get("id")), as_text(block.get("name"))
                self._blocks[number] = {"type": "tool_use", "id": call_id, "characters": 0}
                yield from self._answer.call(call_id, number, name, "")
                if block.get("input"):
                    self._whole[number] = json.dumps(block["input"], ensure_ascii=False)
            case "text":
                self._blocks[number] = {"type": "text", "characters": 0}
                yield from self._text(number, as_text(block.get("text")))
            case "thinking" | "redacted_thinking":
                self._blocks[number] = dict(block)
                self._answer.counted(json.dumps(block))
                yield from self._answer.reasoning(as_text(block.get("thinking")))
            case _:
                # What a server's own tool did is its own.
                self._blocks[number] = {}

    def _continue(self, number: int, delta: Object) -> Iterator[ModelEvent]:
        match delta.get("type"):
            case "text_delta":
                yield from self._text(number, as_text(delta.get("text")))
            case "input_json_delta" if self._is(number, "tool_use"):
                yield from self._arguments(number, as_text(delta.get("partial_json")))
            case "thinking_delta":
                self._add(number, "thinking", as_text(delta.get("thinking")))
                yield from self._answer.reasoning(as_text(delta.get("thinking")))
            case "signature_delta":
                signature = self._answer.counted(as_text(delta.get("signature")))
                self._add(number, "signature", signature)
            case _:
                return

    def _text(self, number: int, text: str) -> Iterator[ModelEvent]:
        self._grow(number, text)
        return self._answer.text(text)

    def _arguments(self, number: int, text: str) -> Iterator[ModelEvent]:
        self._grow(number, text)
        return self._answer.call("", number, "", text)

    def _end_block(self, number: int) -> Iterator[ModelEvent]:
        block = self._blocks.get(number, {})
        if block.get("type") != "tool_use":
            return
        if not block["characters"]:
            # A call without any arguments may be one that was cut off: the answer's end decides.
            yield from self._arguments(number, self._whole.get(number, ""))
        yield from self._answer.close_calls()

    def _grow(self, number: int, text: str) -> None:
        if block := self._blocks.get(number):
            block["characters"] = as_count(block.get("characters")) + len(text)

    def _is(self, number: int, kind: str) -> bool:
        return self._blocks.get(number, {}).get("type") == kind

    def _add(self, number: int, field: str, text: str) -> None:
        self._pieces.setdefault((number, field), []).append(text)

    def _finish(self, fields: Object) -> None:
        if reason := as_text(fields.get("stop_reason")):
            if not self._answer.is_finished:
                self._keep()
            self._answer.finish(reason)

    def _keep(self) -> None:
        """Keep the order of the blocks where there is thinking, which has to go back in it."""
        for (number, field), pieces in self._pieces.items():
            block = self._blocks.get(number, {})
            block[field] = as_text(block.get(field)) + "".join(pieces)
        blocks = [block for _, block in sorted(self._blocks.items()) if block]
        if any(block.get("type") not in ("text", "tool_use") for block in blocks):
            self._answer.keep({BLOCKS: blocks})

    def _count(self, fields: Object) -> None:
        """Take token counts; Anthropic's input leaves out what was read from a cache or written."""
        if not (usage := as_object(fields.get("usage"))):
            return
        counts = self._counts = read_usage(usage, self._counts)
        cached = counts.cache_read_tokens + counts.cache_write_tokens
        whole = {"input_tokens": counts.input_tokens + cached}
        self._answer.usage = counts.model_copy(update=whole)
