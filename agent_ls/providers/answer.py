"""Assembles one model answer from streamed pieces, for every provider's format.

Decides which tool call a piece belongs to, when a call is complete, and whether the stream ended
cleanly. Knows neither litellm nor HTTP.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from agent_ls.domain.errors import ProviderFailure
from agent_ls.domain.model_io import (
    CallClosed,
    CallCut,
    FinishReason,
    ModelEvent,
    ReasoningDelta,
    StreamFinished,
    TextDelta,
)
from agent_ls.domain.usage import Usage
from agent_ls.providers.dialect import tool_name

MAX_CHARACTERS = 16 * 2**20
MAX_CALLS = 1000

_SURROGATES = re.compile("[\ud800-\udfff]")

_FINISH_WORDS = {
    "stop": FinishReason.STOP,
    "end_turn": FinishReason.STOP,
    "stop_sequence": FinishReason.STOP,
    "eos": FinishReason.STOP,
    "tool_calls": FinishReason.TOOL_CALLS,
    "tool_use": FinishReason.TOOL_CALLS,
    "function_call": FinishReason.TOOL_CALLS,
    "length": FinishReason.LENGTH,
    "max_tokens": FinishReason.LENGTH,
    "content_filter": FinishReason.CONTENT_FILTER,
    "refusal": FinishReason.REFUSAL,
    "error": FinishReason.ERROR,
}


class MalformedAnswer(Exception):
    """The stream cannot be trusted; ``failure`` is the class to report."""

    def __init__(self, text: str, failure: ProviderFailure = ProviderFailure.BROKEN_STREAM) -> None:
        """``text`` tells a person what was wrong."""
        super().__init__(text)
        self.text = text
        self.failure = failure


class WholeCharacters:
    """Joins surrogate pairs that were split between two pieces, and replaces lone surrogates.

    A lone surrogate can be neither stored nor sent as UTF-8.
    """

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held = ""

    def take(self, piece: str) -> str:
        """Return the characters that are complete now."""
        if not self._held and not _SURROGATES.search(piece):
            return piece
        piece, self._held = self._held + piece, ""
        if "\ud800" <= piece[-1:] <= "\udbff":
            piece, self._held = piece[:-1], piece[-1]
        return piece.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


@dataclass(slots=True, eq=False)
class _OpenCall:
    """A tool call as received so far."""

    call_id: str
    index: int | None
    name: str
    pieces: list[str] = field(default_factory=list[str])
    characters: WholeCharacters = field(default_factory=WholeCharacters)
    is_closed: bool = False

    @property
    def text(self) -> str:
        return "".join(self.pieces).strip()

    @property
    def is_whole(self) -> bool:
        """Say whether the call is closed or its arguments parse as a JSON object or array."""
        try:
            return self.is_closed or isinstance(json.loads(self.text), dict | list)
        except (ValueError, RecursionError):
            return False

    def close(self) -> CallClosed:
        self.is_closed = True
        return CallClosed(self.call_id, tool_name(self.name), self.text or "{}")


def _is_object(text: str) -> bool:
    """Say whether a piece may be whole arguments; cheap, as it is asked of every piece."""
    return text.lstrip()[:1] in ("{", "[") and text.rstrip()[-1:] in ("}", "]")


class Answer:
    """Turns pieces, added in stream order, into model events.

    Invariant: each call closes once, in the order the calls began.
    """

    def __init__(self, model: str) -> None:
        self.model = model
        self.usage: Usage | None = None
        self.is_finished = False
        """A finish reason was seen."""
        self.output_characters = 0
        self.contents = 0
        """Number of pieces with content: begun calls, and texts that are not blank."""
        self._finish = FinishReason.UNKNOWN
        self._is_refusal = False
        self._text_characters = WholeCharacters()
        self._reasoning_characters = WholeCharacters()
        self._calls: list[_OpenCall] = []

    def text(self, text: str) -> Iterator[ModelEvent]:
        """Add a piece of the answer's text."""
        text = self._counted(self._text_characters.take(text))
        if text:
            yield TextDelta(text)

    def refusal(self, text: str) -> Iterator[ModelEvent]:
        """Add a piece of a refusal: answer text that makes the finish reason ``REFUSAL``."""
        self._is_refusal = self._is_refusal or bool(text)
        return self.text(text)

    def reasoning(self, text: str) -> Iterator[ModelEvent]:
        """Add a piece of the visible thinking."""
        text = self._counted(self._reasoning_characters.take(text))
        if text:
            yield ReasoningDelta(text)

    def call(
        self, call_id: str, index: int | None, name: str, arguments: str
    ) -> Iterator[ModelEvent]:
        """Add a piece of a tool call; any argument may be empty.

        Errors: ``MalformedAnswer`` if arguments continue after the call was closed.
        """
        call = self._find(call_id, index)
        if call and (name or _is_object(arguments)) and call.is_whole:
            if call.text == arguments.strip():
                return  # Some servers repeat a whole call, with or without its name.
            call = None if name else call
        if call is None:
            yield from self._close_whole_calls()
            call = self._begin(call_id, index, name)
        elif name and name != call.name and not call.text:
            call.name += self._counted(name)
        if call.is_closed and arguments.strip():
            raise MalformedAnswer(f"the tool call {call.name!r} went on after its end")
        call.pieces.append(self._counted(call.characters.take(arguments)))

    def finish(self, word: str) -> None:
        """Record the provider's finish reason."""
        self.is_finished = True
        self._finish = _FINISH_WORDS.get(word.lower(), FinishReason.UNKNOWN)

    def end(self, input_characters: int) -> Iterator[ModelEvent]:
        """End the stream: close the open calls, then yield ``StreamFinished``.

        Errors: ``MalformedAnswer`` if no finish reason was seen.
        """
        if not self.is_finished:
            raise MalformedAnswer("the stream ended without a finish reason")
        for call in self._calls:
            is_last = call is self._calls[-1]
            if self._finish is FinishReason.LENGTH and is_last and not call.is_whole:
                yield CallCut(call.call_id, tool_name(call.name), call.text)
            elif not call.is_closed:
                # Even if its JSON is broken: the model then gets an error as the result.
                yield call.close()
        finish = FinishReason.REFUSAL if self._is_refusal else self._finish
        yield StreamFinished(finish, self.usage or self._estimate(input_characters), self.model)

    def _find(self, call_id: str, index: int | None) -> _OpenCall | None:
        """Return the newest call with this id and index; an empty id or no index matches any."""
        for call in reversed(self._calls):
            is_same_index = index is None or index == call.index
            if is_same_index and call_id in ("", call.call_id):
                return call
        return None

    def _begin(self, call_id: str, index: int | None, name: str) -> _OpenCall:
        if len(self._calls) >= MAX_CALLS:
            raise MalformedAnswer(f"the answer has more than {MAX_CALLS} tool calls")
        call = _OpenCall(call_id or f"call_{len(self._calls)}", index, name)
        self._calls.append(call)
        self.contents += 1
        return call

    def _close_whole_calls(self) -> Iterator[ModelEvent]:
        """Close calls in order, up to the first whose arguments are incomplete."""
        for call in self._calls:
            if not call.is_whole:
                return
            if not call.is_closed:
                yield call.close()

    def _counted(self, text: str) -> str:
        self.output_characters += len(text)
        self.contents += bool(text) and not text.isspace()
        if self.output_characters > MAX_CHARACTERS:
            raise MalformedAnswer(f"the answer is longer than {MAX_CHARACTERS} characters")
        return text

    def _estimate(self, input_characters: int) -> Usage:
        """Estimate usage for endpoints that report none, so that budgets still work."""
        return Usage(
            input_tokens=max(1, input_characters // 4),
            output_tokens=max(1, self.output_characters // 4),
        )
