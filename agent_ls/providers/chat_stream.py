"""Parses an answer in OpenAI's chat format, from chunk objects or from response bytes.

Defines what a chunk may contain and what counts as a clean end. The sender is not trusted: fields
of an unexpected shape count as absent.
"""

from __future__ import annotations

import codecs
import io
import json
from collections.abc import Iterator
from typing import Protocol, cast

from agent_ls.domain.errors import ProviderFailure
from agent_ls.domain.model_io import ModelEvent
from agent_ls.domain.usage import Usage
from agent_ls.providers.answer import Answer, MalformedAnswer
from agent_ls.providers.dialects import THINKING, USAGE, Dialect, is_nothing
from agent_ls.providers.shapes import Object, as_count, as_list, as_object, as_text

MAX_LINE_CHARACTERS = 32 * 2**20
_MAX_EVENT_LINES = 1_000
_MAX_EVENT_CHARACTERS = 2**20
"""Limits of an event of several lines; each line more makes all of them be parsed again."""


class ErrorInStream(Exception):
    """The endpoint sent an error object where a chunk should be."""

    def __init__(self, error: object) -> None:
        """``error`` is the error object, or text in its place."""
        super().__init__("error object in the stream")
        self.error = error


class Reader(Protocol):
    """Adds what an endpoint sends to an answer, in one provider's format."""

    is_ended: bool
    """The answer is whole if nothing follows, also without a finish reason."""
    is_done: bool
    """The endpoint said that nothing follows."""

    def take(self, found: Object, part: str = "delta") -> Iterator[ModelEvent]:
        """Add one object of a stream, or a whole answer with ``part`` set to ``message``.

        Errors: ``MalformedAnswer``.
        """
        ...

    def is_answer(self, body: Object) -> bool:
        """Say whether an object is a whole answer."""
        ...


class ChatChunks:
    """Adds chunks to an answer and yields the events they complete."""

    def __init__(self, answer: Answer, dialect: Dialect) -> None:
        self._answer = answer
        self._dialect = dialect
        self._text: list[str] = []
        self._thinking: list[str] = []
        """The text and the thinking of the deltas so far."""
        self.is_ended = False
        """The usage came in a chunk of its own, which is the last."""
        self.is_done = False

    def is_answer(self, body: Object) -> bool:
        """Say whether an object is a whole completion."""
        return bool(as_list(body.get("choices")))

    def take(self, found: Object, part: str = "delta") -> Iterator[ModelEvent]:
        """Add a stream chunk, or a whole completion with ``part`` set to ``message``.

        Errors: ``MalformedAnswer``.
        """
        for place in USAGE.places:
            self._count(_at(found, place))
        choices = as_list(found.get("choices"))
        self.is_ended = bool(self._answer.usage) and not choices
        for choice in choices[:1]:
            choice = as_object(choice)
            if choice.get("index"):
                # We ask for one answer. If an endpoint sends a second, do not mix the two.
                continue
            self._count(choice.get("usage"))
            yield from self._parts(self._part(choice, part))
            finish = as_text(choice.get("finish_reason"))
            if not is_nothing(finish):
                self._answer.finish(finish)

    def _part(self, choice: Object, part: str) -> Object:
        """Return the delta or the message of a choice.

        Some servers end a stream with the last piece as a message, some with a message that
        repeats all of it, which is left out.
        """
        delta, message = as_object(choice.get("delta")), as_object(choice.get("message"))
        if part == "message":
            return message or delta
        if delta:
            self._text += filter(None, [as_text(delta.get("content"))])
            self._thinking += filter(None, [_thinking_in(delta)])
            return delta
        if not message:
            return message
        told = {"".join(self._text), "".join(self._thinking)} - {""}
        return {name: value for name, value in message.items() if _thought(value) not in told}

    def _count(self, usage: object) -> None:
        """Take token counts; what was counted before never becomes less."""
        found = as_object(usage)
        if found:
            self._answer.usage = read_usage(found, self._answer.usage)

    def _parts(self, part: Object) -> Iterator[ModelEvent]:
        """Add a delta, or a whole message, which has the same fields."""
        answer = self._answer
        kept = _chosen(part, self._dialect.message_fields)
        if kept:
            answer.keep(kept)
        content = part.get("content")
        if content:
            yield from self._content(content)
        if thinking := _thinking_in(part):
            yield from answer.reasoning(thinking)
        refusal = as_text(part.get("refusal"))
        if refusal:
            yield from answer.refusal(refusal)
        calls = part.get("tool_calls")
        # Some servers send one call instead of a list.
        for call in as_list([calls] if as_object(calls).get("function") else calls):
            yield from self._call(as_object(call))
        if legacy := as_object(part.get("function_call")):
            # The form before there were several calls in one answer.
            yield from self._call({"index": 0, "function": legacy})

    def _content(self, content: object) -> Iterator[ModelEvent]:
        if isinstance(content, str):
            yield from self._answer.text(content)
            return
        for piece in as_list(content):
            piece = as_object(piece)
            yield from self._answer.text(as_text(piece.get("text")))
            thinking = _thought([piece.get(name) for name in THINKING.parts])
            yield from self._answer.reasoning(thinking)

    def _call(self, call: Object) -> Iterator[ModelEvent]:
        function = as_object(call.get("function"))
        index, arguments = call.get("index"), function.get("arguments")
        name = as_text(function.get("name"))
        if isinstance(index, str) and index.isdecimal():
            index = int(index)
        if arguments and not isinstance(arguments, str):
            # Some servers send the object itself instead of its text.
            arguments = json.dumps(arguments, ensure_ascii=False)
        return self._answer.call(
            as_text(call.get("id")),
            index if isinstance(index, int) else None,
            "" if is_nothing(name) else name,
            as_text(arguments),
            _chosen(call, self._dialect.call_fields),
        )


class EventStream:
    """Turns the bytes of one response into model events as they arrive."""

    def __init__(self, answer: Answer, content_type: str, reader: Reader) -> None:
        self._answer = answer
        self._reader = reader
        self._content_type = content_type.lower()
        # A byte order mark is dropped, and every kind of line end becomes a newline.
        decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._decoder = io.IncrementalNewlineDecoder(decoder, translate=True)
        self._rest: list[str] = []
        self._rest_characters = 0
        self._data: list[str] = []
        self._event = ""
        self._is_whole: bool | None = None
        """The body is JSON, not an event stream; None until known."""
        self._is_done = False
        """``[DONE]`` was seen."""
        self.is_fed = False
        """At least one event came."""

    @property
    def is_done(self) -> bool:
        """Say whether the endpoint ended its answer; anything that follows is ignored."""
        return self._is_done or self._reader.is_done

    def feed(self, data: bytes) -> Iterator[ModelEvent]:
        """Parse the next bytes of the response.

        Errors: ``MalformedAnswer``, ``ErrorInStream``.
        """
        text = self._decoder.decode(data)
        if self._is_whole is None and text.strip():
            # The body shows whether a server streams; content types are unreliable.
            self._is_whole = text.lstrip()[:1] in ("{", "[")
        head, newline, tail = text.rpartition("\n")
        if self._is_whole or not newline:
            self._keep(text)
            return
        lines = ("".join(self._rest) + head).split("\n")
        self._rest, self._rest_characters = [tail], len(tail)
        for line in lines:
            yield from self._line(line)

    def end(self) -> Iterator[ModelEvent]:
        """Finish after the end of the body, or after the end mark."""
        rest = "".join(self._rest)
        if self._is_whole:
            yield from self._whole(rest)
        elif not self.is_done:
            yield from self._line(rest)
            yield from self._line("")
            if not self.is_fed:
                raise _not_an_answer(self._content_type, rest)
        if self.is_done or self._is_whole or self._reader.is_ended:
            self._answer.end_whole()

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
            if data.strip():
                yield from self._message(_object(data), event)
        elif line.startswith("data:"):
            yield from self._data_line(line)
        elif line.startswith("error:"):
            # Servers of llama.cpp from 2025 send an error as a field of its own.
            self._event = "error"
            yield from self._data_line(line.replace("error:", "data:", 1))
        elif line.startswith("event:"):
            self._event = line[6:].strip()
        elif line.lstrip()[:1] == "<" and not self.is_fed:
            raise _not_an_answer(self._content_type, line)

    def _data_line(self, line: str) -> Iterator[ModelEvent]:
        while line.startswith("data:"):
            # Proxies that wrap an event stream repeat the word.
            line = line[5:].removeprefix(" ")
        self._data.append(line)
        is_long = len(self._data) > 1 and sum(map(len, self._data)) > _MAX_EVENT_CHARACTERS
        if is_long or len(self._data) > _MAX_EVENT_LINES:
            raise MalformedAnswer("an event of the stream has no end")
        if line.strip() == "[DONE]":
            self._is_done = True
        elif (found := _parsed("\n".join(self._data))) is not None:
            # Not every server sends a blank line between two events.
            self._data, event, self._event = [], self._event, ""
            yield from self._message(found, event)

    def _message(self, chunk: Object, event: str) -> Iterator[ModelEvent]:
        self.is_fed = True
        error = _error_in(chunk) or (chunk if event == "error" else None)
        # Some gateways report the limit that has cut an answer as an error after its end.
        if error and not self._answer.is_finished:
            raise ErrorInStream(error)
        yield from self._reader.take(chunk)

    def _whole(self, text: str) -> Iterator[ModelEvent]:
        bodies = _bodies(text)
        for body in bodies:
            if error := _error_in(body):
                raise ErrorInStream(error)
        if not any(map(self._reader.is_answer, bodies)):
            raise _not_an_answer(self._content_type, text)
        for body in bodies:
            yield from self._reader.take(body, "message")


def _error_in(body: Object) -> object:
    """Return the error that stands in the place of an answer; None if it is an answer."""
    if error := body.get("error"):
        return error
    if body.get("choices") is not None or not (body.get("message") or body.get("detail")):
        return None
    # Gateways answer `{"success": false, "message": …}` with status 200.
    is_failed = body.get("success") is False or body.get("code") or body.get("type") == "error"
    return body if is_failed or body.get("detail") else None


def _thinking_in(part: Object) -> str:
    return next(filter(None, (_thought(part.get(name)) for name in THINKING.names)), "")


def _thought(value: object, depth: int = 4) -> str:
    """Return the thinking in a field: a text, or parts that hold texts."""
    if isinstance(value, str) or not depth:
        return as_text(value)
    found = as_object(value)
    inner = as_list(value) or [found.get(name) for name in ("text", *THINKING.parts) if found]
    return "".join(_thought(one, depth - 1) for one in inner)


def _at(found: Object, place: str) -> object:
    """Return what stands at a place such as ``x_groq.usage``."""
    value: object = found
    for name in place.split("."):
        value = as_object(value).get(name)
    return value


def _chosen(found: Object, names: frozenset[str]) -> Object:
    return {name: found[name] for name in names if found.get(name)}


def _bodies(text: str) -> list[Object]:
    """Return the objects of a body in JSON: one, a list of them, or one a line."""
    try:
        found: object = json.loads(text)
        return [as_object(one) for one in as_list(found)] or [as_object(found)]
    except (ValueError, RecursionError):
        return [_object(line) for line in text.splitlines() if line.strip()]


def _parsed(data: str) -> Object | None:
    """Return the object in a text; None if the text is none."""
    try:
        found: object = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return as_object(cast("object", found)) if isinstance(found, dict) else None


def _object(data: str) -> Object:
    found = _parsed(data)
    if found is None:
        raise MalformedAnswer(f"the stream contains what is no JSON object: {data[:120]!r}")
    return found


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


def read_usage(usage: Object, before: Usage | None = None) -> Usage:
    """Return the token counts of a usage object; the input includes cached tokens.

    ``before`` are counts of the same answer. The larger count holds, because some servers count
    up and some end with zeros.
    """
    found = {
        name: max((as_count(_at(usage, place)) for place in places), default=0)
        for name, places in (
            ("input_tokens", USAGE.input),
            ("output_tokens", USAGE.output),
            ("cache_read_tokens", USAGE.cache_read),
            ("cache_write_tokens", USAGE.cache_write),
            ("reasoning_tokens", USAGE.reasoning),
        )
    }
    if before:
        found = {name: max(count, getattr(before, name)) for name, count in found.items()}
    return Usage(**found)
