"""Assembles one model answer from streamed pieces, for every provider's format.

Decides which tool call a piece belongs to, when a call is complete, and whether the stream ended
cleanly. Knows neither litellm nor HTTP.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from agent_ls.domain.errors import ProviderFailure
from agent_ls.domain.messages import ProviderData
from agent_ls.domain.model_io import (
    CallClosed,
    CallCut,
    FinishReason,
    ModelEvent,
    ReasoningDelta,
    StreamFinished,
    TextDelta,
    TextWasReasoning,
)
from agent_ls.domain.plain_json import softened
from agent_ls.domain.usage import Usage
from agent_ls.providers.chat_request import tool_name
from agent_ls.providers.dialects import finish_of
from agent_ls.providers.inline_thinking import InlineThinking, Part
from agent_ls.providers.shapes import Object, as_list, as_object, as_text

MAX_CHARACTERS = 16 * 2**20
MAX_CALLS = 1000
CHARACTERS_PER_TOKEN = 4
"""For estimates only."""

_SURROGATES = re.compile("[\ud800-\udfff]")


class MalformedAnswer(Exception):
    """The stream cannot be trusted; ``failure`` is the class to report."""

    def __init__(self, text: str, failure: ProviderFailure = ProviderFailure.BROKEN_STREAM) -> None:
        """``text`` tells a user what was wrong."""
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
    is_id_ours: bool = False
    """The provider has sent no id yet."""
    pieces: list[str] = field(default_factory=list[str])
    characters: WholeCharacters = field(default_factory=WholeCharacters)
    is_closed: bool = False
    other_ids: set[str] = field(default_factory=set[str])
    """Ids that its pieces came with beside its own."""

    @property
    def text(self) -> str:
        return "".join(self.pieces).strip()

    @property
    def _last_piece(self) -> str:
        return next((one for one in reversed(self.pieces) if one and not one.isspace()), "")

    @property
    def is_whole(self) -> bool:
        """Say whether the call is closed or its arguments parse as a JSON object or array."""
        if self.is_closed:
            return True
        # Cheap for most pieces, as servers that repeat the name ask this with each of them.
        texts = (self.text, self.text.removeprefix("{}"))
        return self._last_piece.rstrip()[-1:] in ("}", "]") and any(map(_is_json, texts))

    def close(self) -> CallClosed:
        self.is_closed = True
        text = self.text
        if not _is_json(text):
            # Some servers send with each piece all arguments so far, some an empty object first.
            others = (self._last_piece.strip(), text.removeprefix("{}"))
            text = next(filter(_is_json, others), text)
        return CallClosed(self.call_id, tool_name(self.name), text or "{}")


def _is_json(text: str) -> bool:
    """Say whether a text parses as a JSON object or array."""
    try:
        return isinstance(json.loads(text), dict | list)
    except (ValueError, RecursionError):
        return False


def _is_object(text: str) -> bool:
    """Say whether a piece may be whole arguments; cheap, as it is asked of every piece."""
    return text.lstrip()[:1] in ("{", "[") and text.rstrip()[-1:] in ("}", "]")


def _parted(parts: Iterator[Part]) -> Iterator[ModelEvent]:
    for kind, text in parts:
        match kind:
            case "text":
                yield TextDelta(text)
            case "thinking":
                yield ReasoningDelta(text)
            case "was_thinking":
                yield TextWasReasoning()


class Answer:
    """Turns pieces, added in stream order, into model events.

    Invariant: each call closes once, in the order the calls began.
    """

    def __init__(self, model: str, tools: Collection[str] = ()) -> None:
        """``tools`` are the wire names that the model may call; they tell names in pieces."""
        self.model = model
        self.usage: Usage | None = None
        self.is_finished = False
        """A finish reason was seen, or another sign that the answer is whole."""
        self.output_characters = 0
        self.contents = 0
        """Number of pieces with content: begun calls, and texts that are not blank."""
        self._tools = frozenset(tools)
        self._finish = FinishReason.UNKNOWN
        self._is_refusal = False
        self._text_characters = WholeCharacters()
        self._reasoning_characters = WholeCharacters()
        self._inline = InlineThinking()
        self._calls: list[_OpenCall] = []
        self._kept = _KeptFields()

    def text(self, text: str) -> Iterator[ModelEvent]:
        """Add a piece of the answer's text, which may hold thinking."""
        text = self.counted(self._text_characters.take(text))
        yield from _parted(self._inline.take(text))

    def refusal(self, text: str) -> Iterator[ModelEvent]:
        """Add a piece of a refusal: answer text that makes the finish reason ``REFUSAL``."""
        self._is_refusal = self._is_refusal or bool(text)
        return self.text(text)

    def reasoning(self, text: str) -> Iterator[ModelEvent]:
        """Add a piece of the visible thinking."""
        text = self.counted(self._reasoning_characters.take(text))
        if text:
            yield ReasoningDelta(text)

    def call(
        self,
        call_id: str,
        index: int | None,
        name: str,
        arguments: str,
        kept: Mapping[str, object] | None = None,
    ) -> Iterator[ModelEvent]:
        """Add a piece of a tool call; any argument may be empty.

        ``kept`` are fields of the call that its provider wants back.
        Errors: ``MalformedAnswer`` if arguments continue after the call was closed.
        """
        call = self._find(call_id, index, name)
        if call and call.name and (name or _is_object(arguments)) and call.is_whole:
            if call.text == arguments.strip():
                return  # Some servers repeat a whole call, with or without its name.
            call = None if name else call
        if call and name and self._is_another(call, name):
            call = None
        if call is None and any(call_id in one.other_ids for one in self._calls):
            raise MalformedAnswer("the pieces of two tool calls cannot be told apart")
        if call is None:
            yield from self.close_calls()
            call = self._begin(call_id, index, name)
        elif name and name != call.name and not (call.name and call.text):
            self.counted(name)
            # Some servers repeat the name so far in front of its next piece.
            call.name = name if call.name and name.startswith(call.name) else call.name + name
        if call.is_closed and arguments.strip():
            raise MalformedAnswer(f"the tool call {call.name!r} went on after its end")
        if call_id and call.is_id_ours and not call.is_closed:
            call.call_id, call.is_id_ours = call_id, False
        call.pieces.append(self.counted(call.characters.take(arguments)))
        if kept:
            self._kept.add_to_call(self._calls.index(call), kept)

    def keep(self, fields: Mapping[str, object]) -> None:
        """Keep fields of the message that its provider wants back."""
        self._kept.add_to_message(fields)

    def close_calls(self) -> Iterator[ModelEvent]:
        """Close calls in order, up to the first whose arguments are incomplete.

        At the end and before a new call this happens by itself.
        """
        for call in self._calls:
            if not call.is_whole:
                return
            if not call.is_closed:
                yield call.close()

    def finish(self, word: str) -> None:
        """Record the provider's finish reason."""
        self.is_finished = True
        self._finish = finish_of(word)

    def end_whole(self) -> None:
        """Record that the server ended the answer in another way than by a finish reason.

        Errors: ``MalformedAnswer`` if a call's arguments are incomplete.
        """
        if self.is_finished or not self.contents:
            return
        if any(call.text and not call.is_whole for call in self._calls):
            raise MalformedAnswer("the stream ended within a tool call")
        self.is_finished = True
        self._finish = FinishReason.TOOL_CALLS if self._calls else FinishReason.STOP

    def end(self, input_characters: int, origin: str = "") -> Iterator[ModelEvent]:
        """End the stream: close the open calls, then yield ``StreamFinished``.

        ``origin`` names the sender of the kept fields.
        Errors: ``MalformedAnswer`` if the server did not say that the answer is whole.
        """
        if not self.is_finished:
            raise MalformedAnswer("the stream ended without a finish reason")
        yield from _parted(self._inline.end())
        for call in self._calls:
            is_last = call is self._calls[-1]
            if self._finish is FinishReason.LENGTH and is_last and not call.is_whole:
                yield CallCut(call.call_id, tool_name(call.name), call.text)
            elif not call.is_closed:
                # Even if its JSON is broken: the model then gets an error as the result.
                yield call.close()
        finish = FinishReason.REFUSAL if self._is_refusal else self._finish
        usage = self.usage
        if usage is None or not usage.total_tokens:
            usage = self._estimate(input_characters)
        data = self._kept.data(origin, [call.call_id for call in self._calls])
        yield StreamFinished(finish, usage, self.model, data)

    def _find(self, call_id: str, index: int | None, name: str) -> _OpenCall | None:
        """Return the call that a piece belongs to; None: it begins a call.

        By index, then by name, then by id: a piece without a name goes on with the newest call of
        its index, whatever its id, as some servers send a new id with each piece.
        """
        for call in reversed(self._calls):
            if index is not None and index != call.index:
                continue
            if call_id in ("", call.call_id) or call.is_id_ours:
                return call
            if not name and (index is not None or call is self._calls[-1]) and not call.is_whole:
                return call
        # SGLang has counted the tools of the request in the first piece of a call.
        newest = self._calls[-1] if self._calls else None
        if newest is None or name or newest.is_whole:
            return None
        newest.other_ids |= {call_id} - {""}
        return newest

    def _is_another(self, call: _OpenCall, name: str) -> bool:
        """Say whether a name begins a new call, beside a call that has no arguments yet."""
        is_piece = call.name + name in self._tools or name.startswith(call.name)
        return not call.text and name in self._tools and call.name in self._tools and not is_piece

    def _begin(self, call_id: str, index: int | None, name: str) -> _OpenCall:
        if len(self._calls) >= MAX_CALLS:
            raise MalformedAnswer(f"the answer has more than {MAX_CALLS} tool calls")
        ours = f"call_{len(self._calls)}"
        call = _OpenCall(call_id or ours, index, name, is_id_ours=not call_id)
        self._calls.append(call)
        self.contents += 1
        return call

    def counted(self, text: str) -> str:
        """Count a text and return it. Errors: ``MalformedAnswer`` if the answer is too long."""
        self.output_characters += len(text)
        self.contents += bool(text) and not text.isspace()
        if self.output_characters > MAX_CHARACTERS:
            raise MalformedAnswer(f"the answer is longer than {MAX_CHARACTERS} characters")
        return text

    def _estimate(self, input_characters: int) -> Usage:
        """Estimate usage for endpoints that report none, so that budgets still work."""
        return Usage(
            input_tokens=max(1, input_characters // CHARACTERS_PER_TOKEN),
            output_tokens=max(1, self.output_characters // CHARACTERS_PER_TOKEN),
        )


class _KeptFields:
    """Fields that came in pieces and go back whole."""

    def __init__(self) -> None:
        self._message: dict[str, object] = {}
        self._calls: dict[int, dict[str, object]] = {}

    def add_to_message(self, fields: Mapping[str, object]) -> None:
        for name, value in fields.items():
            self._message[name] = _joined(self._message.get(name), value)

    def add_to_call(self, number: int, fields: Mapping[str, object]) -> None:
        self._calls.setdefault(number, {}).update(fields)

    def data(self, origin: str, ids: list[str]) -> ProviderData | None:
        """Return the fields; ``ids`` are the ids of the calls, in order.

        Without calls nothing has to go back.
        """
        if not ids or not (self._message or self._calls):
            return None
        return ProviderData(
            origin=origin,
            message=softened(self._message),
            calls=softened({ids[number]: fields for number, fields in self._calls.items()}),
        )


def _joined(old: object, new: object) -> object:
    """Return a field with its next piece: texts are joined, and list items that go on."""
    if isinstance(old, str) and isinstance(new, str):
        return old + new
    if not as_list(old) or not as_list(new):
        return new
    items = as_list(old).copy()
    for piece in as_list(new):
        last, more = as_object(items[-1]), as_object(piece)
        if last and more and _goes_on(last, more):
            items[-1] = _with_piece(last, more)
        else:
            items.append(piece)
    return items


def _goes_on(last: Object, piece: Object) -> bool:
    """Say whether a piece continues an item: same kind and index, and the item is not signed."""
    if last.get("signature") or last.get("data") or last.get("encrypted_content"):
        return False
    return all(last.get(key) == piece.get(key, last.get(key)) for key in ("type", "index", "id"))


def _with_piece(last: Object, piece: Object) -> Object:
    texts = {"text", "thinking", "summary"} & {*piece}
    joined = {name: as_text(last.get(name)) + as_text(piece.get(name)) for name in texts}
    return {**last, **{name: one for name, one in piece.items() if one}, **joined}
