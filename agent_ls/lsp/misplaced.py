"""Edits that an editor carried out at their old places in a text that had moved meanwhile.

Pure: texts and edits in, what was done to which text out. Some editors look at no version, so an
edit that comes just after the person typed a line goes to the wrong lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lsprotocol import types

from agent_ls.domain.edits import Replacement, apply_replacements, inverse
from agent_ls.lsp.edit_proof import proven, shared_ends
from agent_ls.lsp.positions import Encoding, TextPositions, split_lines


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


def misplaced_in(sent: SentEdit, text: str, now: str) -> Misplaced | None:
    """Return what the editor did if it made ``now`` of ``text`` by the edit, in other places."""
    if text in (sent.before, now):
        return None
    positions = TextPositions(text, sent.encoding)
    blind = tuple(_in(positions, one) for one in sent.said)
    try:
        if apply_replacements(text, blind) != now:
            return None
    except ValueError:
        return None
    end = sent.replacements[-1].end
    if text[:end] == sent.before[:end]:
        return None
    was_apart = proven(sent.before, sent.expected, sent.replacements, text) == "untouched"
    return None if was_apart and now == _meant(sent, text) else Misplaced(text, blind)


def guessed_from(sent: SentEdit, now: str) -> Misplaced | None:
    """Return what the editor must have done if it told of typing and edit at once.

    Only of an editor that looks at no version: of any other, ``now`` is what the person typed.
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
    return misplaced_in(sent, text, now)


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
