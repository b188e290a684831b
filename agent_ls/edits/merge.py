"""Three-way merge by lines, and the rebase of an edit onto a newer text, which is such a merge.

Both sides may change adjacent lines. They may change the same lines only in the same way.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from agent_ls.domain.edits import Replacement, apply_replacements
from agent_ls.edits.keys import Key
from agent_ls.edits.lines import FileLines, FlatText, flattened
from agent_ls.edits.minimal import blocks
from agent_ls.edits.refusing import cut
from agent_ls.edits.requests import Refused
from agent_ls.edits.spans import Span, replacements_of
from agent_ls.edits.splice import Block

_MAX_LINES = 6_000
"""A changed region with more lines than this is treated as one change."""
_RUN = 512
"""So many lines are compared at once."""
_SHOWN_BESIDE = 2
_MAX_SHOWN = 12
"""Most lines of a conflict that a refusal shows."""


@dataclass(frozen=True, slots=True)
class Change:
    """Lines ``low:high`` of the base become lines ``first:past`` of a side."""

    low: int
    high: int
    first: int
    past: int


@dataclass(frozen=True, slots=True)
class Conflict:
    """Lines that both sides changed differently."""

    line: int
    """1-based, in ours."""
    base: list[str]
    ours: list[str]
    theirs: list[str]


@dataclass(frozen=True, slots=True)
class Merged:
    """The replacements to apply to ours, without the parts in conflict, and the conflicts."""

    replacements: tuple[Replacement, ...]
    conflicts: tuple[Conflict, ...] = ()


def merge(base: str, ours: str, theirs: str, *, beside: bool = False) -> Merged:
    """Merge theirs into ours; returns replacements in ours and the conflicts.

    Shape: the replacements are sorted and do not overlap. A change that both sides made needs no
    replacement. Line ends stay as in ours; the final one follows the side that changed it. With
    ``beside``, new lines directly above or below changed lines do not conflict.
    """
    flat = FlatText(ours)
    sides = [FileLines(flattened(text)) for text in (base, ours, theirs)]
    base_lines, our_lines, their_lines = (side.lines for side in sides)
    mine, others = changes_between(base_lines, our_lines), changes_between(base_lines, their_lines)
    found: list[Block] = []
    conflicts: list[Conflict] = []
    for change in others:
        new = their_lines[change.first : change.past]
        touched = [
            one
            for one in mine
            if meet(one, change, beside=beside)
            or (beside and brings_back(one, our_lines, change, new))
        ]
        low = min([change.low, *(one.low for one in touched)])
        high = max([change.high, *(one.high for one in touched)])
        if not touched:
            moved = shift_before(mine, low, high)
            found.append(Block(low + moved, high + moved, new))
            continue
        first, past = _in_ours(mine, low, high)
        whole = [*base_lines[low : change.low], *new, *base_lines[change.high : high]]
        if our_lines[first:past] != whole:
            conflicts.append(
                Conflict(first + 1, base_lines[low:high], our_lines[first:past], whole)
            )
    spans = _spans(sides[1], found, has_end=_has_final_end(*sides))
    return Merged(replacements_of(flat, spans), tuple(conflicts))


def rebase(
    base: str, replacements: Sequence[Replacement], now: str
) -> tuple[Replacement, ...] | Refused:
    """Convert replacements for ``base`` into replacements for the newer text.

    Errors: refused if the newer text changed, or may have changed, the lines they replace, and if
    it has the edit already.
    """
    if base == now:
        return tuple(replacements)
    after = apply_replacements(base, tuple(replacements))
    merged = merge(base, now, after)
    if not merged.conflicts and not merged.replacements:
        return Refused("The newer text has the edit already. Nothing is left to do.", "applied")
    conflicts = merged.conflicts or _unclear(base, now, after)
    return _conflicting(conflicts, now) if conflicts else merged.replacements


def _conflicting(conflicts: Sequence[Conflict], now: str) -> Refused:
    """Return a refusal that shows the newer text around the first conflict."""
    one = conflicts[0]
    lines = FileLines(flattened(now)).lines
    first = max(0, one.line - 1 - _SHOWN_BESIDE)
    window = lines[first : one.line - 1 + min(len(one.ours), _MAX_SHOWN) + _SHOWN_BESIDE]
    shown = "\n".join(f"{number:>6}: {cut(line)}" for number, line in enumerate(window, first + 1))
    return Refused(
        f"The file changed meanwhile in lines that the edit replaces, at line {one.line}:\n"
        f"{shown}\nRead the file again and give the edit for the text as it is now.",
        "conflict",
    )


def _unclear(base: str, ours: str, theirs: str) -> tuple[Conflict, ...]:
    """Return ours' changes that may affect the places theirs changed, although no line overlaps.

    A diff cannot tell which of several equal lines was added or removed, and lines without text (a
    brace) part nothing. So a change of theirs may concern all lines up to the next unique ones.
    """
    sides = [FileLines(flattened(text)).lines for text in (base, ours, theirs)]
    base_lines, our_lines, their_lines = sides
    most = Counter(base_lines) | Counter(our_lines) | Counter(their_lines)
    unique = [
        number
        for number, line in enumerate(base_lines)
        if most[line] == 1 and any(map(str.isalnum, line))
    ]
    found: dict[int, Conflict] = {}
    mine, others = (
        [(one, _reach(one, unique, len(base_lines))) for each in readings for one in each]
        for readings in (readings_of(base_lines, our_lines), readings_of(base_lines, their_lines))
    )
    for change, wide in others:
        for one, reach in mine:
            # An addition touches the lines above and below it too.
            more = change.low == change.high or one.low == one.high
            if any(
                a.low < b.high + more and b.low < a.high + more
                for a, b in ((wide, one), (change, reach))
            ):
                old, new = base_lines[one.low : one.high], our_lines[one.first : one.past]
                found[one.low] = Conflict(one.first + 1, old, new, [])
    return tuple(found.values())


def _reach(change: Change, unique: Sequence[int], count: int) -> Change:
    """Return the change, extended to the lines between the unique lines above and below it."""
    above, below = bisect_left(unique, change.low), bisect_left(unique, change.high)
    low = unique[above - 1] + 1 if above else 0
    return replace(change, low=low, high=unique[below] if below < len(unique) else count)


def readings_of(
    base: list[str], side: list[str], key: Key | None = None
) -> tuple[list[Change], list[Change]]:
    """Return two diffs of a side: computed from the start and from the end of the text."""
    mirrored = changes_between(base[::-1], side[::-1], key)
    size, goal = len(base), len(side)
    return changes_between(base, side, key), [
        Change(size - one.high, size - one.low, goal - one.past, goal - one.first)
        for one in reversed(mirrored)
    ]


def changes_between(base: list[str], side: list[str], key: Key | None = None) -> list[Change]:
    """Return the changes from base to side, in order; lines with equal keys are equal."""
    most = min(len(base), len(side))
    start = _equal_lines(base, side, most, key)
    end = _equal_lines(base[::-1], side[::-1], most - start, key)
    old, new = base[start : len(base) - end], side[start : len(side) - end]
    if key is not None:
        old, new = list(map(key, old)), list(map(key, new))
    if not old and not new:
        return []
    if max(len(old), len(new)) > _MAX_LINES:
        return [Change(start, start + len(old), start, start + len(new))]
    return [
        Change(start + low, start + high, start + first, start + past)
        for kind, low, high, first, past in blocks(old, new)
        if kind != "equal"
    ]


def _equal_lines(base: list[str], side: list[str], most: int, key: Key | None) -> int:
    """Return how many lines are equal from the start, at most so many."""
    at = 0
    while at < most:
        if base[at] == side[at]:
            # Long runs as lists, since a loop over all lines takes far longer.
            is_run = at + _RUN <= most and base[at : at + _RUN] == side[at : at + _RUN]
            at += _RUN if is_run else 1
        elif key is not None and key(base[at]) == key(side[at]):
            at += 1
        else:
            break
    return at


def unchanged(changes: Sequence[Change], count: int) -> Mapping[int, int]:
    """Map each unchanged line of the base to its line in the side.

    Shape: ``count`` is the number of lines of the base. The positions before the first line (-1)
    and after the last (``count``) are mapped too.
    """
    return _Unchanged(changes, count)


class _Unchanged(Mapping[int, int]):
    """The lines that stay, of which few are ever asked for."""

    def __init__(self, changes: Sequence[Change], count: int) -> None:
        self._changes, self._count = changes, count
        self._lows = [one.low for one in changes]

    def __getitem__(self, line: int) -> int:
        if line == -1:
            return -1
        if not 0 <= line <= self._count:
            raise KeyError(line)
        before = bisect_right(self._lows, line)
        # A change that only adds lines begins at the line below.
        if not before:
            return line
        last = self._changes[before - 1]
        if line < last.high:
            raise KeyError(line)
        return line + last.past - last.high

    def __iter__(self) -> Iterator[int]:
        return (line for line in range(-1, self._count + 1) if line in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def shift_before(mine: Sequence[Change], low: int, high: int) -> int:
    """Return by how many lines the base's lines ``low:high`` moved; no change may touch them."""
    return sum(
        (one.past - one.first) - (one.high - one.low)
        for one in mine
        if one.high <= low and (one.low < low or low < high)
    )


def meet(one: Change, other: Change, *, beside: bool = False) -> bool:
    """Tell whether two changes of the base touch the same lines or the same gap."""
    if beside and (one.low < one.high or other.low < other.high):
        return one.low < other.high and other.low < one.high
    if one.low == one.high or other.low == other.high:
        return one.low <= other.high and other.low <= one.high
    return one.low < other.high and other.low < one.high


def brings_back(one: Change, lines: Sequence[str], other: Change, new: Sequence[str]) -> bool:
    """Tell whether a change adjacent to another one already brings some of its new lines."""
    if one.low > other.high or other.low > one.high:
        return False
    come = set(lines[one.first : one.past])
    return any(line in come for line in new if line.strip())


def _in_ours(mine: Sequence[Change], low: int, high: int) -> tuple[int, int]:
    """Map the base's lines ``low:high`` to ours; each change lies wholly inside or outside."""
    shift = sum(
        (one.past - one.first) - (one.high - one.low)
        for one in mine
        if one.high <= low and one.low < low
    )
    inner = sum(
        (one.past - one.first) - (one.high - one.low)
        for one in mine
        if low <= one.low and one.high <= high
    )
    return low + shift, high + shift + inner


def _has_final_end(base: FileLines, ours: FileLines, theirs: FileLines) -> bool:
    """Tell whether the merged text, if it has any lines, ends with a line end."""
    if not ours.lines:
        return theirs.has_final_end
    is_theirs = base.lines and theirs.lines and base.has_final_end != theirs.has_final_end
    return theirs.has_final_end if is_theirs else ours.has_final_end


def _spans(ours: FileLines, found: Sequence[Block], *, has_end: bool) -> list[Span]:
    """Return the spans of sorted blocks, joined where they touch, with the final line end set."""
    count = len(ours.lines)
    apart: list[Block] = []
    for one in found:
        last = apart[-1] if apart else None
        if last is not None and last.past == one.first:
            apart[-1] = Block(last.first, one.past, [*last.new, *one.new])
        else:
            apart.append(one)
    if count and has_end == ours.has_final_end:
        return [Span(*ours.span(one.first, one.past, one.new), 1) for one in apart]
    is_tail = bool(apart) and apart[-1].past == count
    tail = apart.pop() if is_tail else Block(count, count, [])
    spans = [Span(*ours.span(one.first, one.past, one.new), 1) for one in apart]
    # Start at the end of the last kept line, so that its line end can be added or removed.
    lead, start = ("\n", ours.starts[tail.first] - 1) if tail.first else ("", ours.first)
    text = lead * bool(tail.new) + "\n".join(tail.new)
    last_end = "\n" if has_end and (lead or tail.new) else ""
    return [*spans, Span(start, len(ours.flat), text + last_end, 1)]
