"""One model answer being put together from the pieces of a stream, whatever dialect they came in.

Owns which tool call a piece belongs to, when a call is complete, and whether the stream ended
cleanly. Knows neither litellm nor HTTP.
"""

from __future__ import annotations

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

MAX_CHARACTERS = 16 * 2**20
MAX_CALLS = 1000

_SURROGATES = re.compile("[\ud800-\udfff]")
_OUTSIDE = re.compile(r'["{}\[\]]')
_INSIDE = re.compile(r'["\\]')

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
    """The stream cannot be trusted as a whole; ``failure`` says how to take it."""

    def __init__(self, text: str, failure: ProviderFailure = ProviderFailure.BROKEN_STREAM) -> None:
        """Take what was wrong, in words for a person."""
        super().__init__(text)
        self.text = text
        self.failure = failure


class WholeCharacters:
    """Joins surrogate pairs that were torn between two pieces, and replaces lone halves.

    Half a character can be neither stored nor sent as UTF-8.
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


class JsonEnd:
    """Follows one JSON object or array over the pieces of its text.

    Counts brackets outside of strings; says nothing about whether the text is valid.
    """

    __slots__ = ("_depth", "_is_escaped", "_is_inside", "is_closed", "is_opened")

    def __init__(self) -> None:
        self._depth = 0
        self._is_inside = False
        self._is_escaped = False
        self.is_opened = False
        """The text began with a bracket; stays False for text that is neither object nor array."""
        self.is_closed = False

    def feed(self, piece: str) -> int:
        """Read on; return how many characters of the piece belong to the value.

        Invariant: after ``is_closed`` nothing belongs to it any more.
        """
        at = 0
        while not self.is_closed and at < len(piece):
            at = self._in_string(piece, at) if self._is_inside else self._outside(piece, at)
        return at

    def _in_string(self, piece: str, at: int) -> int:
        if self._is_escaped:
            self._is_escaped = False
            return at + 1
        found = _INSIDE.search(piece, at)
        if found is None:
            return len(piece)
        if found[0] == "\\":
            self._is_escaped = True
        else:
            self._is_inside = False
        return found.end()

    def _outside(self, piece: str, at: int) -> int:
        found = _OUTSIDE.search(piece, at)
        if not self.is_opened and piece[at : found.start() if found else None].strip():
            # Not an object, not an array: it never closes, whatever brackets follow.
            return len(piece)
        if found is None:
            return len(piece)
        if not self.is_opened and found[0] not in "{[":
            return len(piece)
        match found[0]:
            case '"':
                self._is_inside = True
            case "{" | "[":
                self.is_opened = True
                self._depth += 1
            case _:
                self._depth -= 1
                self.is_closed = self._depth == 0
        return found.end()


@dataclass(slots=True, eq=False)
class _OpenCall:
    """A call as far as it has come."""

    call_id: str
    index: int | None
    name: str
    pieces: list[str] = field(default_factory=list[str])
    end: JsonEnd = field(default_factory=JsonEnd)
    characters: WholeCharacters = field(default_factory=WholeCharacters)
    has_arguments: bool = False
    is_settled: bool = False
    """Nothing but a repetition of the same text may follow."""

    @property
    def text(self) -> str:
        return "".join(self.pieces)


class Answer:
    """Takes pieces in the order they come and gives the events they complete.

    Invariant: calls close in the order they were begun, each once.
    """

    def __init__(self, model: str) -> None:
        """Take the model that was asked."""
        self.model = model
        self.usage: Usage | None = None
        self.is_finished = False
        """A finish reason was seen."""
        self.output_characters = 0
        self.contents = 0
        """How often something came that is part of an answer: more than blanks, pings and roles."""
        self._finish = FinishReason.UNKNOWN
        self._is_refusal = False
        self._text_characters = WholeCharacters()
        self._reasoning_characters = WholeCharacters()
        self._calls: list[_OpenCall] = []
        self._announced = 0

    def text(self, text: str) -> Iterator[ModelEvent]:
        """Take a piece of the answer's text."""
        text = self._counted(self._text_characters.take(text))
        if text:
            yield TextDelta(text)

    def refusal(self, text: str) -> Iterator[ModelEvent]:
        """Take a piece of a refusal, which is the answer's text with another finish."""
        self._is_refusal = self._is_refusal or bool(text)
        return self.text(text)

    def reasoning(self, text: str) -> Iterator[ModelEvent]:
        """Take a piece of the visible thinking."""
        text = self._counted(self._reasoning_characters.take(text))
        if text:
            yield ReasoningDelta(text)

    def call(
        self, call_id: str, index: int | None, name: str, arguments: str
    ) -> Iterator[ModelEvent]:
        """Take a piece of a tool call; any part may be missing.

        Errors: ``MalformedAnswer`` for text after the arguments' end.
        """
        call = self._find(call_id, index, name, arguments)
        if call is None:
            call = self._begin(call_id, index, name)
        elif name and name != call.name and not call.has_arguments:
            call.name += self._counted(name)
        if arguments:
            self._extend(call, arguments)
        yield from self._announce()

    def finish(self, word: str) -> None:
        """Take the provider's finish reason."""
        self.is_finished = True
        self._finish = _FINISH_WORDS.get(word.lower(), FinishReason.UNKNOWN)

    def end(self, input_characters: int) -> Iterator[ModelEvent]:
        """Take the clean end of the stream; the last event is ``StreamFinished``.

        Errors: ``MalformedAnswer`` when no finish reason was seen.
        """
        if not self.is_finished:
            raise MalformedAnswer("the stream ended without a finish reason")
        is_cut = self._finish is FinishReason.LENGTH
        cut = [call for call in self._calls if not self._settle_at_end(call, is_cut)]
        yield from self._announce(cut)
        for call in cut:
            yield CallCut(call.call_id, call.name, call.text)
        finish = FinishReason.REFUSAL if self._is_refusal else self._finish
        yield StreamFinished(finish, self.usage or self._estimate(input_characters), self.model)

    def _find(self, call_id: str, index: int | None, name: str, arguments: str) -> _OpenCall | None:
        """Return the call a piece belongs to: by id, then by index, then the newest."""
        for call in reversed(self._calls):
            if call_id:
                same = call.call_id == call_id and (index is None or index == call.index)
            else:
                same = index is None or call.index == index
            if same:
                # A complete call that comes up again with other arguments is another call.
                is_other = call.end.is_closed and bool(name) and arguments.strip() != call.text
                return None if is_other else call
        return None

    def _begin(self, call_id: str, index: int | None, name: str) -> _OpenCall:
        if len(self._calls) >= MAX_CALLS:
            raise MalformedAnswer(f"the answer has more than {MAX_CALLS} tool calls")
        call = _OpenCall(call_id or f"call_{len(self._calls)}", index, name)
        self._calls.append(call)
        self.contents += 1
        return call

    def _extend(self, call: _OpenCall, arguments: str) -> None:
        arguments = self._counted(call.characters.take(arguments))
        if not call.has_arguments and arguments.strip():
            call.has_arguments = True
            # Calls come one after the other, so an earlier one that has none by now gets none.
            for earlier in self._calls[: self._calls.index(call)]:
                earlier.is_settled = earlier.is_settled or not earlier.has_arguments
        if call.is_settled:
            if arguments.strip() not in ("", call.text.strip()):
                raise MalformedAnswer(
                    f"the arguments of the tool call {call.name!r} went on after their end"
                )
            return
        used = call.end.feed(arguments)
        call.pieces.append(arguments[:used])
        call.is_settled = call.end.is_closed
        rest = arguments[used:]
        if rest.strip():
            raise MalformedAnswer(
                f"the arguments of the tool call {call.name!r} are followed by {rest[:80]!r}"
            )

    def _settle_at_end(self, call: _OpenCall, is_cut: bool) -> bool:
        """Say whether the call is complete, now that nothing more comes."""
        if call.is_settled:
            return True
        if is_cut:
            return False
        # Text that is neither object nor array was not cut: it is wrong, and the model is told.
        call.is_settled = not call.has_arguments or not call.end.is_opened
        return call.is_settled

    def _announce(self, skipped: list[_OpenCall] | None = None) -> Iterator[ModelEvent]:
        while self._announced < len(self._calls):
            call = self._calls[self._announced]
            if not call.is_settled and not (skipped and call in skipped):
                return
            self._announced += 1
            if call.is_settled:
                yield CallClosed(call.call_id, call.name, call.text if call.has_arguments else "{}")

    def _counted(self, text: str) -> str:
        self.output_characters += len(text)
        self.contents += bool(text) and not text.isspace()
        if self.output_characters > MAX_CHARACTERS:
            raise MalformedAnswer(f"the answer is longer than {MAX_CHARACTERS} characters")
        return text

    def _estimate(self, input_characters: int) -> Usage:
        """Return a guess for endpoints that report no usage, so that budgets still count."""
        return Usage(
            input_tokens=max(1, input_characters // 4),
            output_tokens=max(1, self.output_characters // 4),
        )
