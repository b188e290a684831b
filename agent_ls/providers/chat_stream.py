"""Parses an answer in OpenAI's chat format, from chunk objects or from response bytes.

Defines what a chunk may contain and what counts as a clean end. The sender is not trusted: fields
of an unexpected shape count as absent.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator

from agent_ls.domain.errors import ProviderFailure
from agent_ls.domain.model_io import ModelEvent
from agent_ls.domain.usage import Usage
from agent_ls.providers.answer import Answer, MalformedAnswer
from agent_ls.providers.shapes import Object, as_count, as_list, as_object, as_text

MAX_LINE_CHARACTERS = 32 * 2**20


class ErrorInStream(Exception):
    """The endpoint sent an error object where a chunk should be."""

    def __init__(self, error: object) -> None:
        """``error`` is the error object, or text in its place."""
        super().__init__("error object in the stream")
        self.error = error


class ChatChunks:
    """Adds chunks to an answer and yields the events they complete."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    def take(self, found: Object, part: str = "delta") -> Iterator[ModelEvent]:
        """Add a stream chunk, or a whole completion with ``part`` set to ``message``.

        Errors: ``MalformedAnswer``.
        """
        usage = as_object(found.get("usage"))
        if usage:
            self._answer.usage = read_usage(usage)
        for choice in as_list(found.get("choices"))[:1]:
            choice = as_object(choice)
            if choice.get("index"):
                # We ask for one answer. If an endpoint sends a second, do not mix the two.
                continue
            yield from self._parts(as_object(choice.get(part)))
            finish = as_text(choice.get("finish_reason"))
            if finish:
                self._answer.finish(finish)

    def _parts(self, part: Object) -> Iterator[ModelEvent]:
        """Add a delta, or a whole message, which has the same fields."""
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


class ChatStream:
    """Turns the bytes of one response into model events as they arrive."""

    def __init__(self, answer: Answer, content_type: str) -> None:
        self._chunks = ChatChunks(answer)
        self._content_type = content_type.lower()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest: list[str] = []
        self._rest_characters = 0
        self._data: list[str] = []
        self._event = ""
        self._is_whole: bool | None = None
        """The body is one JSON object, not an event stream; None until known."""
        self.is_done = False
        """``[DONE]`` was seen; anything after it is ignored."""
        self.is_fed = False
        """At least one event came."""

    def feed(self, data: bytes) -> Iterator[ModelEvent]:
        """Parse the next bytes of the response.

        Errors: ``MalformedAnswer``, ``ErrorInStream``.
        """
        text = self._decoder.decode(data)
        if self._is_whole is None and text.strip():
            # The body shows whether a server streams; content types are unreliable.
            self._is_whole = text.lstrip().startswith("{")
        head, newline, tail = text.rpartition("\n")
        if self._is_whole or not newline:
            self._keep(text)
            return
        lines = ("".join(self._rest) + head).split("\n")
        self._rest, self._rest_characters = [tail], len(tail)
        for line in lines:
            yield from self._line(line.removesuffix("\r"))

    def end(self) -> Iterator[ModelEvent]:
        """Finish after the end of the body, or after the end mark."""
        rest = "".join(self._rest)
        if self._is_whole:
            yield from self._whole(rest)
        elif not self.is_done:
            yield from self._line(rest.removesuffix("\r"))
            yield from self._line("")
            if not self.is_fed:
                raise _not_an_answer(self._content_type, rest)

    def _keep(self, text: str) -> None:
        self._rest.append(text)
        self._rest_characters += len(text)
        if self._rest_characters > MAX_LINE_CHARACTERS:
            raise MalformedAnswer("a line of the stream has no end")

    def _line(self, line: str) -> Iterator[ModelEvent]:
        if self.is_done:
            return
        if not line:
            data, self._data = "\n".join(self._data), []
            event, self._event = self._event, ""
            if data:
                yield from self._message(data, event)
        elif line.startswith("data:"):
            self._data.append(line[5:].removeprefix(" "))
        elif line.startswith("event:"):
            self._event = line[6:].strip()
        elif line.lstrip()[:1] == "<" and not self.is_fed:
            raise _not_an_answer(self._content_type, line)

    def _message(self, data: str, event: str) -> Iterator[ModelEvent]:
        if data.strip() == "[DONE]":
            self.is_done = True
            return
        chunk = _object(data)
        self.is_fed = True
        if chunk.get("error") or event == "error":
            raise ErrorInStream(chunk.get("error") or chunk)
        yield from self._chunks.take(chunk)

    def _whole(self, text: str) -> Iterator[ModelEvent]:
        body = _object(text)
        if body.get("error"):
            raise ErrorInStream(body["error"])
        if not as_list(body.get("choices")):
            raise _not_an_answer(self._content_type, text)
        yield from self._chunks.take(body, "message")


def _object(data: str) -> Object:
    try:
        found: object = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise MalformedAnswer(f"the stream contains what is no JSON: {data[:120]!r}") from error
    if not as_object(found) and found != {}:
        raise MalformedAnswer(f"the stream contains what is no object: {data[:120]!r}")
    return as_object(found)


def _not_an_answer(content_type: str, start: str) -> MalformedAnswer:
    if not start.strip():
        # An empty body is a lost connection. A web page is not: it would come again.
        return MalformedAnswer("the endpoint ended its answer before it said anything")
    kind = "a web page" if "html" in content_type or "<" in start[:20] else "something else"
    return MalformedAnswer(
        f"instead of a model's answer the endpoint sent {kind} ({content_type or 'no type'}): "
        f"{start.strip()[:120]!r}",
        ProviderFailure.BAD_REQUEST,
    )


def read_usage(usage: Object) -> Usage:
    """Return the token counts of a usage object; the input includes cached tokens."""
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
