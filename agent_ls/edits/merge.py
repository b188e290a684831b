"""Two changes of one text brought together, or the places where they contradict each other.

Owns the three-way merge by lines, and the rebase of an edit onto a newer text, which is one.
Lines side by side may change on both sides; the same lines may not, unless both say the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent_ls.domain.edits import Replacement, apply_replacements
from agent_ls.edits.lines import FileLines, FlatText, flattened
from agent_ls.edits.minimal import blocks
from agent_ls.edits.reach import Change, reach_of, run_together
from agent_ls.edits.refusing import cut
from agent_ls.edits.requests import Refused
from agent_ls.edits.spans import Span, replacements_of
from agent_ls.edits.weave import Block

_MAX_LINES = 6_000
"""A stretch of more changed lines than this is one change."""
_SHOWN_BESIDE = 2
_MAX_SHOWN = 12
"""Lines of a conflict that a refusal shows, and of what is around it."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """Lines that both sides changed, each in its own way."""

    line: int
    """1-based, in ours."""
    base: list[str]
    ours: list[str]
    theirs: list[str]


@dataclass(frozen=True, slots=True)
class Merged:
    """What has to change in ours; with conflicts, only what is free of them."""

    replacements: tuple[Replacement, ...]
    conflicts: tuple[Conflict, ...] = ()


def merge(base: str, ours: str, theirs: str, *, beside: bool = False) -> Merged:
    """Return what makes ours of theirs' changes too, as replacements in ours.

    Shape: what both changed in the same way is there already; line ends stay as ours has them, and
    the final one is there, or not, as the side has it that changed it. The replacements are sorted
    and apart. With ``beside`` new lines right before or behind changed ones contradict nothing.
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
    """Return the replacements, made for ``base``, as ones of the newer text.

    Errors: refused when the newer text changed what they replace, or may have, and when it has
    them already.
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
    """Return the refusal that shows the newer text around the first conflict."""
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
    """Return ours' changes of which nobody can say that they leave theirs' places alone.

    The two change no line together; but what was changed can be told in more than one way, or one
    stands between two changes of theirs that nothing parts.
    """
    base_lines, our_lines, their_lines = (
        FileLines(flattened(text)).lines for text in (base, ours, theirs)
    )
    found: dict[int, Conflict] = {}
    for others in readings_of(base_lines, their_lines):
        reaches = [reach_of(base_lines, each, their_lines) for each in others]
        places = run_together(base_lines, reaches)
        for one in (each for mine in readings_of(base_lines, our_lines) for each in mine):
            mine = reach_of(base_lines, one, our_lines)
            if any(map(mine.meets, places)) or mine.may_swap_with(reaches):
                old, new = base_lines[one.low : one.high], our_lines[one.first : one.past]
                found[one.low] = Conflict(one.first + 1, old, new, [])
    return tuple(found.values())


def readings_of(base: list[str], side: list[str]) -> tuple[list[Change], list[Change]]:
    """Return what a side changed, as it is told from the beginning and from the end."""
    mirrored = changes_between(base[::-1], side[::-1])
    size, goal = len(base), len(side)
    return changes_between(base, side), [
        Change(size - one.high, size - one.low, goal - one.past, goal - one.first)
        for one in reversed(mirrored)
    ]


def changes_between(base: list[str], side: list[str]) -> list[Change]:
    """Return what a side changed, in order."""
    start = 0
    most = min(len(base), len(side))
    while start < most and base[start] == side[start]:
        start += 1
    end = 0
    while end < most - start and base[-1 - end] == side[-1 - end]:
        end += 1
    old, new = base[start : len(base) - end], side[start : len(side) - end]
    if not old and not new:
        return []
    if max(len(old), len(new)) > _MAX_LINES:
        return [Change(start, start + len(old), start, start + len(new))]
    return [
        Change(start + low, start + high, start + first, start + past)
        for kind, low, high, first, past in blocks(old, new)
        if kind != "equal"
    ]


def unchanged(changes: Sequence[Change], count: int) -> dict[int, int]:
    """Return the line of the side that each of the base's ``count`` lines is that nobody changed.

    Shape: also for what stands before the first line and behind the last one.
    """
    found = {-1: -1}
    at = shift = 0
    for one in changes:
        found.update((line, line + shift) for line in range(at, one.low))
        at, shift = one.high, one.past - one.high
    found.update((line, line + shift) for line in range(at, count + 1))
    return found


def shift_before(mine: Sequence[Change], low: int, high: int) -> int:
    """Return how far lines of the base that no change meets have moved."""
    return sum(
        (one.past - one.first) - (one.high - one.low)
        for one in mine
        if one.high <= low and (one.low < low or low < high)
    )


def meet(one: Change, other: Change, *, beside: bool = False) -> bool:
    """Tell whether two changes of the base are about the same lines or the same gap."""
    if beside and (one.low < one.high or other.low < other.high):
        return one.low < other.high and other.low < one.high
    if one.low == one.high or other.low == other.high:
        return one.low <= other.high and other.low <= one.high
    return one.low < other.high and other.low < one.high


def brings_back(one: Change, lines: Sequence[str], other: Change, new: Sequence[str]) -> bool:
    """Tell whether a change right beside another one has some of its lines already."""
    if one.low > other.high or other.low > one.high:
        return False
    come = set(lines[one.first : one.past])
    return any(line in come for line in new if line.strip())


def _in_ours(mine: Sequence[Change], low: int, high: int) -> tuple[int, int]:
    """Return where lines of the base are in ours; changes lie wholly inside or outside."""
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
    """Tell whether what both make of the base ends with a line end; if it has a line at all."""
    if not ours.lines:
        return theirs.has_final_end
    is_theirs = base.lines and theirs.lines and base.has_final_end != theirs.has_final_end
    return theirs.has_final_end if is_theirs else ours.has_final_end


def _spans(ours: FileLines, found: Sequence[Block], *, has_end: bool) -> list[Span]:
    """Return the spans of sorted blocks, those that touch made one, and of the final line end."""
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
    # From the end of the last line that stays, so that its line end can come or go.
    lead, start = ("\n", ours.starts[tail.first] - 1) if tail.first else ("", ours.first)
    text = lead * bool(tail.new) + "\n".join(tail.new)
    last_end = "\n" if has_end and (lead or tail.new) else ""
    return [*spans, Span(start, len(ours.flat), text + last_end, 1)]
