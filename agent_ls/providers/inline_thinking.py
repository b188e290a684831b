"""Parts an answer's text into thinking and answer, for servers that send both as content.

Thinking stands between marks at the start of a text. A closing mark without an opening one ends
thinking whose opening the server's template had written itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Literal

Part = tuple[Literal["text", "thinking", "was_thinking"], str]
"""A piece of answer or thinking; or that all text so far was thinking, which has no text."""

_HARMONY = "<|start|>assistant"
_MARKS: Final = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("<seed:think>", "</seed:think>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|inner_prefix|>", "<|inner_suffix|>"),
    ("<|channel>thought", "<channel|>"),
    ("<|channel|>analysis<|message|>", "<|end|>"),
    (f"{_HARMONY}<|channel|>analysis<|message|>", "<|end|>"),
)
"""What opens and closes thinking, by model family."""
_ANSWER_OPENINGS: Final = (
    "<|channel|>final<|message|>",
    f"{_HARMONY}<|channel|>final<|message|>",
    "<|START_RESPONSE|>",
)
"""What begins the answer: left out."""
_ANSWER_ENDS: Final = ("<|return|>", "<|END_RESPONSE|>")
_OPENINGS: Final = (*(opening for opening, _ in _MARKS), *_ANSWER_OPENINGS)
# Of the others either too many texts hold the closing mark, or no template writes the opening.
_LONE_CLOSINGS: Final = tuple(dict.fromkeys(closing for _, closing in _MARKS[:7]))
_LONE: Final = re.compile("|".join(map(re.escape, _LONE_CLOSINGS)))
_QUOTES: Final = ("`", '"', "'", "“", "(", "«")
_FENCE: Final = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)


class InlineThinking:
    """Takes the pieces of one answer's text, in stream order."""

    __slots__ = ("_closing", "_held", "_is_after_thinking", "_said", "_state")

    def __init__(self) -> None:
        self._state: Literal["start", "thinking", "answer", "plain"] = "start"
        """``plain`` is an answer in which no mark counts any more."""
        self._held = ""
        """The end of the text so far, as it may be the beginning of a mark."""
        self._closing = ""
        """What ends the thinking that has begun."""
        self._is_after_thinking = False
        """The blanks between thinking and answer belong to neither."""
        self._said: list[str] = []
        """The text given out while it may still turn out to be thinking."""

    def take(self, piece: str) -> Iterator[Part]:
        """Yield what is certain now."""
        self._held += piece
        return self._parts(is_end=False)

    def end(self) -> Iterator[Part]:
        """Yield the rest, after the last piece."""
        return self._parts(is_end=True)

    def _parts(self, *, is_end: bool) -> Iterator[Part]:
        state = None
        while self._held and state != self._state:
            state = self._state
            match state:
                case "start":
                    self._start(is_end=is_end)
                case "thinking":
                    yield from self._thinking(is_end=is_end)
                case "answer":
                    yield from self._answer(is_end=is_end)
                case "plain":
                    yield from self._plain(is_end=is_end)

    def _start(self, *, is_end: bool) -> None:
        """Look for a mark at the start, after blanks."""
        text = self._held.lstrip()
        opening = next((one for one in _OPENINGS if text.startswith(one)), None)
        if opening is None and not is_end and any(one.startswith(text) for one in _OPENINGS):
            return  # It may become one; so may blanks alone.
        if opening is None:
            self._held = text if self._is_after_thinking else self._held
            self._state = "answer"
            return
        self._held = text[len(opening) :]
        self._is_after_thinking = True
        self._closing = dict(_MARKS).get(opening, "")
        self._state = "thinking" if self._closing else "plain"

    def _thinking(self, *, is_end: bool) -> Iterator[Part]:
        thought, mark, rest = self._held.partition(self._closing)
        kept = "" if mark or is_end else _beginning(thought, (self._closing,))
        thought = thought[: len(thought) - len(kept)]
        self._held = rest if mark else kept
        if mark:
            self._state = "start"
        if thought:
            yield "thinking", thought

    def _answer(self, *, is_end: bool) -> Iterator[Part]:
        """Give out text, unless a closing mark shows that it was thinking."""
        if (found := _LONE.search(self._held)) is None:
            text = self._certain(_LONE_CLOSINGS, is_end=is_end)
            self._said.append(text)
            if text:
                yield "text", text
            return
        # The first such mark decides. In code or in quotes it is spoken of.
        before = self._held[: found.start()]
        said = "".join((*self._said, before))
        opening = found[0].replace("/", "", 1)
        self._said.clear()
        if opening in said or said.rstrip(" ").endswith(_QUOTES) or _is_in_code(said):
            self._state = "plain"
            return
        self._held = self._held[found.end() :]
        self._is_after_thinking = True
        self._state = "start"
        if before:
            yield "text", before
        yield "was_thinking", ""

    def _plain(self, *, is_end: bool) -> Iterator[Part]:
        text = self._certain(_ANSWER_ENDS, is_end=is_end)
        end = next((one for one in _ANSWER_ENDS if is_end and text.endswith(one)), "")
        if text := text.removesuffix(end):
            yield "text", text

    def _certain(self, marks: tuple[str, ...], *, is_end: bool) -> str:
        """Return the held text without an end that may begin one of the marks."""
        kept = "" if is_end else _beginning(self._held, marks)
        text = self._held[: len(self._held) - len(kept)]
        self._held = kept
        return text


def _is_in_code(said: str) -> bool:
    """Say whether a place after this text stands in a code block or between backticks."""
    line = said.rpartition("\n")[2]
    return len(_FENCE.findall(said)) % 2 == 1 or line.count("`") % 2 == 1


def _beginning(text: str, marks: tuple[str, ...]) -> str:
    """Return the longest end of the text with which one of the marks begins."""
    longest = max(map(len, marks))
    for begin in range(max(0, len(text) - longest), len(text)):
        if any(mark.startswith(text[begin:]) for mark in marks):
            return text[begin:]
    return ""
