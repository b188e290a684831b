"""Reads an OpenAI-compatible answer from its bytes: server-sent events, or one JSON body.

Owns what a chunk may contain and what counts as a clean end; fetching the bytes is the caller's.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator

from agent_ls.domain.errors import ProviderFailure
from agent_ls.domain.model_io import ModelEvent
from agent_ls.providers.answer import Answer, MalformedAnswer
from agent_ls.providers.chat_chunks import ChatChunks
from agent_ls.providers.shapes import Object, as_list, as_object

MAX_LINE_CHARACTERS = 32 * 2**20


class ErrorInStream(Exception):
    """The endpoint sent an error object where a chunk should be."""

    def __init__(self, error: object) -> None:
        """Take the error object, or the text that stands for it."""
        super().__init__("error object in the stream")
        self.error = error


class ChatStream:
    """Turns the bytes of one response into events, as they come."""

    def __init__(self, answer: Answer, content_type: str) -> None:
        """Take the answer to fill and the response's content type."""
        self._answer = answer
        self._chunks = ChatChunks(answer)
        self._content_type = content_type.lower()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest: list[str] = []
        self._rest_characters = 0
        self._data: list[str] = []
        self._event = ""
        self._is_whole: bool | None = None
        """One JSON body instead of events; None until something came that tells."""
        self.is_done = False
        """The end mark was seen; what follows does not matter."""
        self.is_fed = False
        """At least one event came."""

    def feed(self, data: bytes) -> Iterator[ModelEvent]:
        """Read on.

        Errors: ``MalformedAnswer``, ``ErrorInStream``.
        """
        text = self._decoder.decode(data)
        if self._is_whole is None and text.strip():
            # Servers that do not stream are told by their body, because content types lie.
            self._is_whole = text.lstrip().startswith("{")
        head, newline, tail = text.rpartition("\n")
        if self._is_whole or not newline:
            self._keep(text)
            return
        lines = ("".join(self._rest) + head).split("\n")
        self._rest, self._rest_characters = [tail], len(tail)
        for line in lines:
            yield from self._line(line.removesuffix("\r"))

    def end(self, input_characters: int) -> Iterator[ModelEvent]:
        """Take the proper end of the body, or of what is worth reading of it."""
        rest = "".join(self._rest)
        if self._is_whole:
            yield from self._whole(rest)
        elif not self.is_done:
            yield from self._line(rest.removesuffix("\r"))
            yield from self._line("")
            if not self.is_fed:
                raise _not_an_answer(self._content_type, rest)
        yield from self._answer.end(input_characters)

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
        yield from self._chunks.take_whole(body)


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
        # A page instead of an answer stays one; nothing at all is a connection that was lost.
        return MalformedAnswer("the endpoint ended its answer before it said anything")
    kind = "a web page" if "html" in content_type or "<" in start[:20] else "something else"
    return MalformedAnswer(
        f"instead of a model's answer the endpoint sent {kind} ({content_type or 'no type'}): "
        f"{start.strip()[:120]!r}",
        ProviderFailure.BAD_REQUEST,
    )
