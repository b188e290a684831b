"""Find all places of a hunk's old lines, with the strictest comparison that finds any.

Compares whole lines and skips blank ones; never ranks by similarity.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from agent_ls.edits.indents import Style, style_of
from agent_ls.edits.keys import Key, folded, stripped, trimmed
from agent_ls.edits.lines import FileLines

MAX_PLACES = 1_000
MAX_ALL = 10_000
"""Most places that one edit may change. Placing runs on the event loop and must not delay the
editor's messages."""
MAX_ALL_DRIFTED = 100
"""Most places if they differ in form from the old text, so each has to be handled by itself."""
_MAX_ALIGNED = 20_000
_MAX_NEAR = 200
"""With more lines like the one searched for, all lines are compared by their keys."""
_LEVELS: tuple[Key, ...] = (trimmed, stripped, folded)


@dataclass(frozen=True, slots=True)
class Place:
    """Maps each old line of a hunk to a line of the file."""

    at: tuple[int | None, ...]
    """File line of each old line; None if the file lacks it (a blank line, or changed context)."""
    first: int
    """First file line that matches an old line."""
    past: int
    is_same_layout: bool = True
    """The blank lines agree too."""


class Keyed:
    """The file's non-blank lines, one character per distinct line under one comparison key."""

    def __init__(self, lines: list[str], key: Key) -> None:
        self._ids: dict[str, int] = {}
        self.numbers: list[int] = []
        chars: list[str] = []
        ids = self._ids
        for number, line in enumerate(lines):
            name = key(line)
            if name:
                self.numbers.append(number)
                chars.append(chr(ids.setdefault(name, len(ids)) & 0x10FFFF))
        self.text = "".join(chars)
        self.key = key

    def encoded(self, names: list[str]) -> str | None:
        """Encode keys as characters of ``text``; None if one of them is not in the file."""
        ids = [self._ids.get(name) for name in names]
        return (
            None if None in ids else "".join(chr(one & 0x10FFFF) for one in ids if one is not None)
        )

    def lines_of(self, name: str) -> list[int]:
        """Return the numbers of the lines with this key."""
        char = self.number_of(name)
        found: list[int] = []
        at = -1 if char is None else self.text.find(char)
        while char is not None and at >= 0:
            found.append(self.numbers[at])
            at = self.text.find(char, at + 1)
        return found

    def number_of(self, name: str) -> str | None:
        """Return the character for this key in ``text``; None if the file lacks it."""
        one = self._ids.get(name)
        return None if one is None else chr(one & 0x10FFFF)


class _Blanks(Container[int]):
    """The numbers of the blank lines, of which few are ever asked for."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines

    def __contains__(self, number: object) -> bool:
        if not isinstance(number, int) or not 0 <= number < len(self._lines):
            return False
        return not stripped(self._lines[number])


class IndexedText:
    """The file that hunks are placed in, with its cached lookups."""

    def __init__(self, flat: str, *, is_read: bool = False) -> None:
        """Take a text with LF line ends; ``is_read`` if the edit's author read just this text."""
        self.file = FileLines(flat)
        self.is_read = is_read
        self._keyed: dict[Key, Keyed] = {}

    def has_keys(self, key: Key) -> bool:
        """Tell whether ``keyed`` costs nothing more."""
        return key in self._keyed

    def keyed(self, key: Key) -> Keyed:
        """Return the lines encoded under this key, cached."""
        if key not in self._keyed:
            self._keyed[key] = Keyed(self.file.lines, key)
        return self._keyed[key]

    @cached_property
    def blanks(self) -> Container[int]:
        """Return the numbers of the blank lines."""
        return _Blanks(self.file.lines)

    @cached_property
    def style(self) -> Style:
        """Return the file's indentation style."""
        return style_of(self.file.lines)


def most_places(old: list[str]) -> int:
    """Return the search limit for places; with that many the place is ambiguous anyway."""
    return max(50, min(MAX_PLACES, _MAX_ALIGNED // max(1, len(old))))


def places(indexed: IndexedText, old: list[str], *, are_apart: bool = False) -> list[Place]:
    """Return the places under the strictest comparison that finds any; none for blank lines only.

    Shape: at most ``most_places``. With ``are_apart`` they do not overlap, and the limit is one
    more than an edit may change.
    """
    most = MAX_ALL_DRIFTED + 1 if are_apart else most_places(old)
    solid = [number for number, line in enumerate(old) if stripped(line)]
    if not solid:
        return []
    for key in _LEVELS:
        found = _at_level(indexed, old, solid, key, most, are_apart=are_apart)
        if len(found) >= most:
            return found
        if found:
            return [one for one in found if one.is_same_layout] or found
    return []


def _at_level(
    indexed: IndexedText,
    old: list[str],
    solid: list[int],
    key: Key,
    most: int,
    *,
    are_apart: bool = False,
) -> list[Place]:
    names = [key(old[number]) for number in solid]
    near = None if indexed.has_keys(key) else _near(indexed, names, key, most, are_apart=are_apart)
    if near is not None:
        return [aligned(indexed, old, dict(zip(solid, one, strict=True))) for one in near]
    keyed = indexed.keyed(key)
    wanted = keyed.encoded(names)
    if wanted is None:
        return []
    found: list[Place] = []
    at = keyed.text.find(wanted)
    while at >= 0 and len(found) < most:
        numbers = keyed.numbers[at : at + len(wanted)]
        found.append(aligned(indexed, old, dict(zip(solid, numbers, strict=True))))
        at = keyed.text.find(wanted, at + (len(wanted) if are_apart else 1))
    return found


def _near(
    indexed: IndexedText, names: list[str], key: Key, most: int, *, are_apart: bool
) -> list[list[int]] | None:
    """Return the numbers of the lines of each place, found without the keys of all lines.

    Looks for the longest line, and compares the others only there. None: it is in the file too
    often, or the file has characters that the key replaces.
    """
    flat, lines = indexed.file.flat, indexed.file.lines
    if key is folded:
        if not flat.isascii():
            return None
        key = stripped
    if not all(names) or any(name not in flat for name in set(names)):
        return []
    anchor = max(range(len(names)), key=lambda at: len(names[at]))
    found: list[list[int]] = []
    number = start = past = 0
    for _ in range(_MAX_NEAR):
        at = flat.find(names[anchor], start)
        if at < 0 or len(found) >= most:
            return found
        number += flat.count("\n", start, at)
        start = flat.find("\n", at)
        if number < len(lines) and key(lines[number]) == names[anchor]:
            before = _solid(lines, names[:anchor][::-1], number, -1, key)
            after = _solid(lines, names[anchor + 1 :], number, 1, key)
            if before is not None and after is not None:
                place = [*before[::-1], number, *after]
                if not are_apart or place[0] >= past:
                    found.append(place)
                    past = place[-1] + 1
        if start < 0:
            return found
    return None


def _solid(
    lines: Sequence[str], names: Sequence[str], number: int, step: int, key: Key
) -> list[int] | None:
    """Return the next lines that are not blank; None if they do not have these keys."""
    found: list[int] = []
    for name in names:
        number += step
        while 0 <= number < len(lines) and not key(lines[number]):
            number += step
        if not 0 <= number < len(lines) or key(lines[number]) != name:
            return None
        found.append(number)
    return found


def aligned(indexed: IndexedText, old: list[str], solid: dict[int, int]) -> Place:
    """Return the place, with blank lines paired too where both sides have them.

    Shape: ``solid`` maps numbers of old lines to numbers of file lines, in order.
    """
    count = len(old)
    at: list[int | None] = [solid.get(number) for number in range(count)]
    known = list(solid.items())
    is_same = True
    for (one, here), (other, there) in pairwise(known):
        free = [line for line in range(here + 1, there) if line in indexed.blanks]
        slots = [number for number in range(one + 1, other) if not stripped(old[number])]
        is_same = is_same and len(free) == other - one - 1
        if len(slots) == other - one - 1 or len(free) == len(slots):
            # If context in between changed, blank lines are paired only if their counts agree.
            for number, line in zip(slots, free, strict=False):
                at[number] = line
    head, top = known[0]
    for step in range(1, head + 1):
        is_same = is_same and top - step in indexed.blanks
        if top - step not in indexed.blanks or stripped(old[head - step]):
            break
        at[head - step] = top - step
    tail, bottom = known[-1]
    for step in range(1, count - tail):
        if bottom + step not in indexed.blanks or stripped(old[tail + step]):
            is_same = is_same and bottom + step == len(indexed.file.lines)
            break
        at[tail + step] = bottom + step
    numbers = [number for number in at if number is not None]
    return Place(tuple(at), numbers[0], numbers[-1] + 1, is_same)
