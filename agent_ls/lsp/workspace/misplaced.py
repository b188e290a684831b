"""Edits that an editor carried out at their old places in a text that had moved meanwhile.

Pure: texts and edits in, what was done to which text out. Some editors look at no version, so an
edit that comes just after the person typed a line goes to the wrong lines.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from lsprotocol import types

from agent_ls.domain.edits import Replacement, apply_replacements, inverse
from agent_ls.lsp.connection.positions import Encoding, TextPositions, split_lines
from agent_ls.lsp.workspace.edit_proof import proven, shared_ends

_MOST_TEXTS = 9
"""Texts in which a misplaced edit is looked for: the editor may tell of it in several states."""

_Cuts = dict[int, list[tuple[int, int]]]
"""Sorted places to cut two texts at, by how much further on the first one's is."""


@dataclass(frozen=True, slots=True)
class SentEdit:
    """An edit as it was planned, and as the editor was told it."""

    before: str
    expected: str
    replacements: tuple[Replacement, ...]
    said: Sequence[types.TextEdit]
    encoding: Encoding


@dataclass(frozen=True, slots=True)
class Misplaced:
    """What an editor did to a text that the edit was not made for."""

    text: str
    """The person's, without the edit."""
    replacements: tuple[Replacement, ...]

    @property
    def damaged(self) -> str:
        """The text that the editor made of it."""
        return apply_replacements(self.text, self.replacements)

    @property
    def repair(self) -> tuple[Replacement, ...]:
        """What makes the person's text of the damaged one."""
        return inverse(self.replacements, self.text)

    @property
    def lines(self) -> tuple[int, int]:
        """The first and the last line of the damaged text that were hit, from 1."""
        positions = TextPositions(self.damaged, "utf-32")
        first, last = self.repair[0], self.repair[-1]
        ends = first.start, max(last.start, last.end - 1)
        return positions.position(ends[0])[0] + 1, positions.position(ends[1])[0] + 1


class Watch:
    """Follows a document, state by state, until an editor has carried an edit out in wrong lines.

    What an editor makes of a text on the way to the whole edit is no text that anybody typed; only
    where the rest of the edit does not come, it was the person's own.
    """

    def __init__(self, sent: SentEdit, positions: Callable[[], TextPositions | None]) -> None:
        """Take the edit, and the places of the text that was told last."""
        self._sent = sent
        self._positions = positions
        self._texts: list[_Blind] = []
        """What may be the person's, oldest first."""
        self._part: str | None = None
        """The text told last, if it is one of those with a part of the edit, or with none."""

    def found(self, now: str) -> Misplaced | None:
        """Return what the editor did, as soon as the text proves it."""
        wrong = next(filter(None, (one.misplaced(now) for one in reversed(self._texts))), None)
        if wrong is not None:
            return wrong
        is_whole = any(one.result == now for one in self._texts)
        if not is_whole and any(one.is_on_the_way(now) for one in self._texts):
            self._part = now
            return None
        part, self._part = self._part, None
        if part is not None and not is_whole:
            self._add(TextPositions(part, self._sent.encoding))
            return self.found(now)
        self._add(self._positions())
        return None

    def _add(self, positions: TextPositions | None) -> None:
        if positions is not None:
            self._texts = [*self._texts[1 - _MOST_TEXTS :], _Blind(self._sent, positions)]


class _Blind:
    """A text, and what an editor that looks at no version makes of it: worked out once."""

    def __init__(self, sent: SentEdit, positions: TextPositions) -> None:
        self._sent = sent
        self._text = positions.text
        self._places = tuple(_in(positions, one) for one in sent.said)
        self.result: str | None = None
        with suppress(ValueError):
            self.result = apply_replacements(self._text, self._places)

    def misplaced(self, now: str) -> Misplaced | None:
        """Return what the editor did if it made ``now`` of the text, in other places than meant."""
        sent, text = self._sent, self._text
        if self.result != now or text in (sent.before, now):
            return None
        end = sent.replacements[-1].end
        if text[:end] == sent.before[:end]:
            return None
        was_apart = proven(sent.before, sent.expected, sent.replacements, text) == "untouched"
        is_meant = was_apart and now == _meant(sent, text)
        return None if is_meant else Misplaced(text, self._places)

    def is_on_the_way(self, now: str) -> bool:
        """Say whether ``now`` is the text with the first or the last places of the edit changed.

        The last one of these may be half changed: its old text still there or its new one missing.
        """
        text, result = self._text, self.result
        if result is None:
            return False
        forth, back = self._cuts
        grown = len(now) - len(text), len(now) - len(result)
        return _is_joined(now, result, text, back.get(grown[0], ())) or _is_joined(
            now, text, result, forth.get(grown[1], ())
        )

    @cached_property
    def _cuts(self) -> tuple[_Cuts, _Cuts]:
        """The ends of the places in the text and in the result, and the other way round."""
        forth: _Cuts = defaultdict(list)
        back: _Cuts = defaultdict(list)
        for old, new in zip(self._places, inverse(self._places, self._text), strict=True):
            for one, other in product((old.start, old.end), (new.start, new.end)):
                forth[one - other].append((one, other))
                back[other - one].append((other, one))
        return forth, back


def _is_joined(now: str, head: str, tail: str, cuts: Sequence[tuple[int, int]]) -> bool:
    """Say whether ``now`` is a start of ``head`` and an end of ``tail``, cut at one of the cuts.

    The lengths fit, so the longest start that is shared decides: it leaves the shortest end.
    """
    low, high, shared = 0, len(cuts), 0
    while low < high:
        middle = (low + high) // 2
        cut = cuts[middle][0]
        if now[shared:cut] == head[shared:cut]:
            low, shared = middle + 1, cut
        else:
            high = middle
    return low > 0 and now.endswith(tail[cuts[low - 1][1] :])


def guessed_from(sent: SentEdit, now: str) -> Misplaced | None:
    """Return what the editor must have done if it told of typing and edit at once.

    Not of an editor that looks at versions: there ``now`` is what the person typed.
    The lines that were hit are not there any more. They are known only if the typing, which moved
    them, ended above them: if the line right above is an old one that is there once.
    """
    first = min(one.range.start.line for one in sent.said)
    grown = sum(_line_ends(one.new_text) for one in sent.said) - sum(
        one.range.end.line - one.range.start.line for one in sent.said
    )
    before, after = split_lines(sent.before), split_lines(now)
    down = len(after) - len(before) - grown
    above = first - 1 - down
    if now == sent.before or down == 0 or first == 0 or not 0 <= above < len(before):
        return None
    landmark = after[first - 1]
    is_old = landmark == before[above] and any(map(str.isalnum, landmark))
    if not is_old or before.count(landmark) > 1 or after[:first].count(landmark) > 1:
        return None
    text = "".join((*after[:first], *before[first - down :]))
    if proven(sent.before, sent.expected, sent.replacements, text) != "untouched":
        return None
    return _Blind(sent, TextPositions(text, sent.encoding)).misplaced(now)


def is_at_old_place(sent: SentEdit, now: str) -> bool:
    """Say whether a text has the new text of an edit's first place where the editor was told to put
    it, as it has where the editor did so whatever was typed; an edit that puts nothing in is seen
    nowhere."""
    first = sent.said[0]
    start = first.range.start
    at = TextPositions(now, sent.encoding).offset(start.line, start.character)
    return bool(first.new_text.strip()) and now.startswith(first.new_text, at)


def meant_lines(sent: SentEdit) -> tuple[int, int]:
    """Return the lines, from 1, that a text has where the edit was carried out as it was told."""
    first = min(one.range.start.line for one in sent.said)
    last = max(one.range.end.line + _line_ends(one.new_text) for one in sent.said)
    return first + 1, last + 1


def _meant(sent: SentEdit, text: str) -> str | None:
    """Return what the edit was to make of a text that was typed in apart from it."""
    head, tail = shared_ends(sent.before, text)
    behind, grown = len(sent.before) - tail, len(text) - len(sent.before)
    moved: list[Replacement] = []
    for one in sent.replacements:
        if not (one.end <= head or one.start >= behind):
            return None
        shift = 0 if one.end <= head else grown
        moved.append(Replacement(start=one.start + shift, end=one.end + shift, text=one.text))
    return apply_replacements(text, tuple(moved))


def _in(positions: TextPositions, edit: types.TextEdit) -> Replacement:
    start, end = (
        positions.offset(place.line, place.character)
        for place in (edit.range.start, edit.range.end)
    )
    return Replacement(start=start, end=end, text=edit.new_text)


def _line_ends(text: str) -> int:
    return len(split_lines(text)) - 1
