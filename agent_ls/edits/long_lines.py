"""Cuts the long lines of a diff to the surroundings of their changes, for a user. Pure.

A removed and an added line that belong together are cut in the same places, so that they can be
compared. What is left out is counted in its place. Every diff that a user reads is cut here;
a patch that a program applies never is.
The cost grows only with the length of the lines, so one of a minified file takes milliseconds.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from agent_ls.edits.minimal import same_ahead, same_behind

MAX_WHOLE = 400
"""A line with more characters is cut."""
_AROUND = 80
"""Unchanged characters that are shown on each side of a change."""
MAX_CHANGED = 3_000
"""Changed characters that are shown of one line."""
_LEAST_CHANGED = 150
"""Characters that are shown of each change; changes for which no room is left are counted."""
_MAX_COUNTED = 700
"""After this many changes, the rest of the line counts as one. There is no room to show so many."""
_NEAR_ANCHOR, _ANCHOR = 8, 24
"""Two lines go on together where this many characters are the same, near a change and farther."""
_EACH = 16
"""So far ahead, every place may be the end of a change."""
_NEAR = 256
_REACHES = (_NEAR, 4_096, 65_536)
"""How far ahead to look for where two lines go on together, nearest first."""
_MAX_SCANNED = 40_000_000
"""Characters to search in one pair of lines; scanning this many takes about 20 ms."""
_MAX_SAMPLES = 4
"""Pieces of a line that are looked for in another one, to see whether it became that one."""
_NEAR_LINES = 3
"""How many lines away a line's partner may be."""
_MAX_JOINED = 16
"""Longest run of combining characters that is kept together."""


@dataclass(frozen=True, slots=True)
class _Change:
    """``old[start:end]`` became ``new[new_start:new_end]``."""

    start: int
    end: int
    new_start: int
    new_end: int


@dataclass(slots=True)
class _Side:
    """What is not compared yet of one of two lines."""

    text: str
    at: int
    end: int

    def piece(self, distance: int, size: int) -> str:
        """Return the characters to look for, so far ahead; empty at the end."""
        start = self.at + distance
        return self.text[start : start + size] if start + size <= self.end else ""

    def find(self, piece: str, reach: int) -> int:
        """Return how far ahead the piece stands, or -1."""
        found = self.text.find(piece, self.at, min(self.end, self.at + reach + len(piece)))
        return found if found < 0 else found - self.at


def cut_hunk(
    removed: Sequence[str], added: Sequence[str], *, most: int = MAX_CHANGED
) -> tuple[list[str], list[str]]:
    """Return the removed and the added lines of a change, the long ones cut.

    ``most`` is how many changed characters are shown of one line.
    """
    old, new = list(removed), list(added)
    if max(map(len, (*old, *new)), default=0) <= MAX_WHOLE:
        return old, new
    pairs = _pairs(old, new)
    for at, line in enumerate(old):
        if at in pairs:
            old[at], new[pairs[at]] = cut_pair(line, new[pairs[at]], most=most)
        else:
            old[at] = _cut_alone(line, most)
    partners = set(pairs.values())
    for at, line in enumerate(new):
        if at not in partners:
            new[at] = _cut_alone(line, most)
    return old, new


def cut_pair(
    old: str, new: str, *, around: int = _AROUND, most: int = MAX_CHANGED
) -> tuple[str, str]:
    """Return a line before and after its changes, both cut to the surroundings of the changes.

    ``around`` is how many unchanged characters are shown on each side of a change.
    """
    if max(len(old), len(new)) <= MAX_WHOLE:
        return old, new
    changes = _changes(old, new)
    half = max(_LEAST_CHANGED, most // max(1, len(changes))) // 2
    olds, news = list[str](), list[str]()
    room, shown, at, new_at = 2 * most, 0, 0, 0
    for one in changes:
        same = _cut(old[at : one.start], around if shown else 0, around)
        was = _cut(old[one.start : one.end], half, half, "changed ")
        now = _cut(new[one.new_start : one.new_end], half, half, "changed ")
        room -= len(same) + max(len(was), len(now))
        if shown and room < 0:
            break
        olds += (same, was)
        news += (same, now)
        shown, at, new_at = shown + 1, one.end, one.new_end
    more = "" if len(changes) == shown else _more(len(changes), shown)
    olds.append(_rest(old[at:], around, more))
    news.append(_rest(new[new_at:], around, more))
    return "".join(olds), "".join(news)


def cut_unchanged(line: str) -> str:
    """Return a line that did not change, without its middle if it is long."""
    return line if len(line) <= MAX_WHOLE else _cut(line, _AROUND, _AROUND)


def _cut_alone(line: str, most: int) -> str:
    """Return a line that was added or removed whole, without its middle if it is long."""
    return line if len(line) <= MAX_WHOLE else _cut(line, most // 2, most // 2, "changed ")


def _more(found: int, shown: int) -> str:
    """Return how many changes are not shown, in words."""
    left = found - shown
    many = f"at least {left}" if found == _MAX_COUNTED else f"{left}"
    return f"{many} more change{'' if left == 1 else 's'}"


def _rest(text: str, around: int, more: str) -> str:
    """Return what is shown behind the last change; ``more`` tells of changes that are not."""
    if not more:
        return _cut(text, around, 0)
    end = _apart(text, min(len(text), around), 1)
    return f"{text[:end]}… ({len(text) - end} characters with {more} left out) …"


def _cut(text: str, head: int, tail: int, kind: str = "") -> str:
    """Return the first ``head`` and the last ``tail`` characters, and a mark for the others."""
    start, end = min(head, len(text)), max(0, len(text) - tail)
    if start >= end:
        return text
    start, end = _apart(text, start, 1), _apart(text, end, -1)
    mark = f"… ({end - start} {kind}characters left out) …"
    return text if end - start <= len(mark) else f"{text[:start]}{mark}{text[end:]}"


def _apart(text: str, at: int, step: int) -> int:
    """Return the offset, moved by ``step`` until it divides no character that a user sees."""
    for _ in range(_MAX_JOINED):
        if not 0 < at < len(text) or not _are_joined(text[at - 1], text[at]):
            break
        at += step
    return at


def _are_joined(before: str, after: str) -> bool:
    """Tell whether a user sees two neighbouring characters as one."""
    if before == "\u200d":
        return True
    is_half = "\udc00" <= after <= "\udfff"
    is_tone = "\U0001f3fb" <= after <= "\U0001f3ff"
    is_flag = all("\U0001f1e6" <= one <= "\U0001f1ff" for one in (before, after))
    is_mark = after == "\u200d" or unicodedata.category(after).startswith("M")
    return is_mark or is_tone or is_half or is_flag


def _pairs(old: Sequence[str], new: Sequence[str]) -> dict[int, int]:
    """Return which removed line became which added one, in order, where one of them is long."""
    if len(old) == len(new) == 1:
        return {0: 0}
    found: dict[int, int] = {}
    free, shift = 0, len(new) - len(old)
    for at, line in enumerate(old):
        near = range(-_NEAR_LINES, _NEAR_LINES + 1)
        places = {at + one for one in near} | {at + shift + one for one in near}
        for other in sorted(
            places, key=lambda place: min(abs(place - at), abs(place - at - shift))
        ):
            if free <= other < len(new) and _is_like(line, new[other]):
                found[at] = other
                free = other + 1
                break
    return found


def _is_like(old: str, new: str) -> bool:
    """Tell whether one of the lines is long, and most pieces of the old one are in the new one."""
    if max(len(old), len(new)) <= MAX_WHOLE:
        return False
    step = max(_ANCHOR, len(old) // _MAX_SAMPLES)
    pieces = [old[at : at + _ANCHOR] for at in range(0, len(old) - _ANCHOR + 1, step)]
    return bool(pieces) and 2 * sum(piece in new for piece in pieces) >= len(pieces)


def _changes(old: str, new: str) -> list[_Change]:
    """Return the changes of a line, in order and apart."""
    most = min(len(old), len(new))
    at = same_ahead(old, 0, new, 0, most)
    behind = same_behind(old, len(old), new, len(new), most - at)
    sides = _Side(old, at, len(old) - behind), _Side(new, at, len(new) - behind)
    found: list[_Change] = []
    left = _MAX_SCANNED
    while any(one.at < one.end for one in sides):
        met, scanned = _meeting(*sides, left)
        left -= scanned
        if met is None or len(found) == _MAX_COUNTED - 1:
            met = sides[0].end - sides[0].at, sides[1].end - sides[1].at
        starts = [one.at for one in sides]
        for one, distance in zip(sides, met, strict=True):
            one.at += distance
        found.append(_Change(starts[0], sides[0].at, starts[1], sides[1].at))
        most = min(one.end - one.at for one in sides)
        same = same_ahead(old, sides[0].at, new, sides[1].at, most)
        for one in sides:
            one.at += same
    return found


def _meeting(old: _Side, new: _Side, most: int) -> tuple[tuple[int, int] | None, int]:
    """Return how far ahead both lines go on together (None: nowhere), and the characters scanned.

    ``most`` limits the characters scanned.
    """
    longest = max(one.end - one.at for one in (old, new))
    scanned = 0
    for reach in (*_REACHES, longest):
        steps = _steps(reach, longest)
        scanned += 2 * len(steps) * min(reach, longest)
        if scanned > most:
            break
        forth, back = _found(old, new, steps, reach), _found(new, old, steps, reach)
        met = [_tightened(old, new, *forth)] if forth else []
        met += [_tightened(old, new, *back[::-1])] if back else []
        if met:
            return min(met, key=sum), scanned
        if reach >= longest:
            break
    return None, scanned


def _steps(reach: int, longest: int) -> list[int]:
    """Return where to look for the end of a change, as far ahead as ``reach``: fewer far away.

    This finds the end of every change that is not too long and has as much unchanged text behind.
    """
    steps = [*range(_EACH + 1)] if reach == _NEAR else [0, 1]
    growth = 2 if reach in _REACHES else 8
    while steps[-1] * growth <= min(reach, longest):
        steps.append(steps[-1] * growth)
    return steps


def _found(one: _Side, other: _Side, steps: Sequence[int], reach: int) -> tuple[int, int] | None:
    """Return how far ahead a piece of ``one`` stands in it and in ``other``, the nearest found."""
    best: tuple[int, int] | None = None
    size = _NEAR_ANCHOR if reach <= _NEAR else _ANCHOR
    for step in steps:
        if best is not None and step >= sum(best):
            break
        piece = one.piece(step, size)
        there = other.find(piece, reach) if piece else -1
        if there >= 0 and (best is None or step + there < sum(best)):
            best = step, there
    return best


def _tightened(old: _Side, new: _Side, ahead: int, new_ahead: int) -> tuple[int, int]:
    """Return the distances without what is the same in both lines before them."""
    most = min(ahead, new_ahead)
    same = same_behind(old.text, old.at + ahead, new.text, new.at + new_ahead, most)
    return ahead - same, new_ahead - same
