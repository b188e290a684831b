"""Reads the objects of the chat dialect: stream chunks, and whole completions.

Owns what a chunk may contain. What has an unexpected shape counts as absent; nothing here trusts
the sender.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from agent_ls.domain.model_io import ModelEvent
from agent_ls.domain.usage import Usage
from agent_ls.providers.answer import Answer
from agent_ls.providers.shapes import Object, as_count, as_list, as_object, as_text


class ChatChunks:
    """Fills an answer from chunks, and gives the events they complete."""

    def __init__(self, answer: Answer) -> None:
        """Take the answer to fill."""
        self._answer = answer

    def take(self, chunk: Object) -> Iterator[ModelEvent]:
        """Take the next chunk of a stream; errors: ``MalformedAnswer``."""
        yield from self._choice(chunk, "delta")

    def take_whole(self, completion: Object) -> Iterator[ModelEvent]:
        """Take a completion that came in one piece; errors: ``MalformedAnswer``."""
        yield from self._choice(completion, "message")

    def _choice(self, found: Object, part: str) -> Iterator[ModelEvent]:
        usage = as_object(found.get("usage"))
        if usage:
            self._answer.usage = read_usage(usage)
        for choice in as_list(found.get("choices"))[:1]:
            choice = as_object(choice)
            if choice.get("index"):
                # We never ask for a second answer; an endpoint that gives one anyway is not mixed.
                continue
            yield from self._parts(as_object(choice.get(part)))
            finish = as_text(choice.get("finish_reason"))
            if finish:
                self._answer.finish(finish)

    def _parts(self, part: Object) -> Iterator[ModelEvent]:
        """Take a delta, or a whole message, which has the same fields."""
        answer = self._answer
        content = part.get("content")
        if content:
            yield from self._content(content)
        thinking = as_text(part.get("reasoning_content")) or as_text(part.get("reasoning"))
        if thinking:
            yield from answer.reasoning(thinking)
        refusal = as_text(part.get("refusal"))
        if refusal:
            yield from answer.refusal(refusal)
        for call in as_list(part.get("tool_calls")):
            yield from self._call(as_object(call))

    def _content(self, content: object) -> Iterator[ModelEvent]:
        if isinstance(content, str):
            yield from self._answer.text(content)
            return
        for piece in as_list(content):
            piece = as_object(piece)
            yield from self._answer.text(as_text(piece.get("text")))
            for thought in as_list(piece.get("thinking")):
                yield from self._answer.reasoning(as_text(as_object(thought).get("text")))

    def _call(self, call: Object) -> Iterator[ModelEvent]:
        function = as_object(call.get("function"))
        index, arguments = call.get("index"), function.get("arguments")
        if arguments and not isinstance(arguments, str):
            # Some servers send the object itself instead of its text.
            arguments = json.dumps(arguments, ensure_ascii=False)
        return self._answer.call(
            as_text(call.get("id")),
            index if isinstance(index, int) else None,
            as_text(function.get("name")),
            as_text(arguments),
        )


def read_usage(usage: Object) -> Usage:
    """Return the tokens a usage object reports, cached ones counted as part of the input."""
    prompt = as_object(usage.get("prompt_tokens_details"))
    completion = as_object(usage.get("completion_tokens_details"))
    cached = (
        as_count(prompt.get("cached_tokens"))
        or as_count(usage.get("prompt_cache_hit_tokens"))
        or as_count(usage.get("cache_read_input_tokens"))
    )
    written = as_count(usage.get("cache_creation_input_tokens")) or as_count(
        prompt.get("cache_creation_tokens")
    )
    return Usage(
        input_tokens=as_count(usage.get("prompt_tokens")),
        output_tokens=as_count(usage.get("completion_tokens")),
        cache_read_tokens=cached,
        cache_write_tokens=written,
        reasoning_tokens=as_count(completion.get("reasoning_tokens")),
    )
