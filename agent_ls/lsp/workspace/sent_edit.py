"""An edit that was sent to the editor, and what the document's text proves about it.

Pure: texts in, a verdict out. The person may type while an edit is under way, so the text that
comes back is not always the old or the expected one. It proves one of them if all that differs lies
apart from the edit, and if it cannot be taken for the other one as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

from lsprotocol import types

from agent_ls.lsp.connection.positions import split_lines

Proof = Literal["applied", "untouched", "nothing"]
"""``untouched``: the old text, with typing apart from the edit; ``nothing``: no proof."""


@dataclass(frozen=True)
class SentEdit:
    """An edit as it was planned, and as the editor was told it."""

    before: str
    expected: str
    said: Sequence[types.TextEdit]

    def is_shown_in(self, now: str) -> bool:
        """Say whether a text is the expected one, whatever line ends the editor made uniform."""
        if now == self.expected:
            return True
        if "\r" not in self.expected and "\r" not in now:
            return False
        # Where the line ends are all that was to change, they count.
        expected, before = self._plain
        return expected != before and _plain(now) == expected

    def proof_in(self, now: str) -> Proof:
        """Say what a text that is neither the old nor the expected one proves."""
        edit = _change(self.before, self.expected)
        as_new = _fit(_change(self.expected, now), edit.first, edit.new_end)
        as_old = _fit(_change(self.before, now), edit.first, edit.old_end)
        if as_new == "surely" and as_old == "not":
            return "applied"
        if as_old == "surely" and as_new == "not":
            return "untouched"
        return "nothing"

    @property
    def lines(self) -> str:
        """The lines, from 1, that a text has where the edit was carried out as it was told."""
        first = 1 + min(one.range.start.line for one in self.said)
        last = max(one.range.end.line + len(split_lines(one.new_text)) for one in self.said)
        return f"line {first}" if first == last else f"lines {first}-{last}"

    @cached_property
    def _plain(self) -> tuple[str, str]:
        return _plain(self.expected), _plain(self.before)


class _Change(NamedTuple):
    """Where one text differs from another.

    Text that is put in or taken out has several places where it is repeated beside itself: a line
    doubled is the first of the two as well as the second. The change covers all of these.
    """

    first: int
    old_end: int
    new_end: int
    slack: int
    """By how much later than ``first`` the change may have begun."""


def _change(old: str, new: str) -> _Change:
    limit = min(len(old), len(new))
    head = _longest(limit, lambda size: old[:size] == new[:size])
    tail = _longest(limit, lambda size: old[len(old) - size :] == new[len(new) - size :])
    slack = max(0, head + tail - limit)
    return _Change(head - slack, len(old) - tail + slack, len(new) - tail + slack, slack)


def _fit(typed: _Change, start: int, end: int) -> Literal["surely", "perhaps", "not"]:
    """Say whether what was typed lies apart from the span of an edit.

    ``perhaps``: it depends on which of several equal stretches the person is taken to have hit.
    """
    if end < typed.first or typed.old_end < start:
        return "surely"
    is_possible = end < typed.first + typed.slack or typed.old_end - typed.slack < start
    return "perhaps" if is_possible else "not"


def _longest(limit: int, is_shared: Callable[[int], bool]) -> int:
    """Return the greatest size up to ``limit`` that is shared; every smaller one is, too."""
    low, high = 0, 1
    while high <= limit and is_shared(high):
        low, high = high, 2 * high
    high = min(high - 1, limit)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if is_shared(middle) else (low, middle - 1)
    return low


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
