"""Place quoted lines although some of them differ from the file; the one rule of certainty.

Every line that the edit removes must be there. Context lines may differ; then the file's version
stays. A place is certain if its evidence outweighs the cost of the differences and no other place
comes near.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby, pairwise

from agent_ls.edits.alignments import MAX_LINES, Alignment, alignments, weight
from agent_ls.edits.fuzzy_context import COSTS, Fate, fate_of
from agent_ls.edits.input_cleanup import is_escaped
from agent_ls.edits.keys import folded, stripped, trimmed
from agent_ls.edits.locate import IndexedText, Place, aligned
from agent_ls.edits.requests import Hunk, changes_of

_MIN_UNIQUE = 2
"""This many context lines that occur only once identify the place: no copy of it has them."""
_MAX_COST_AT_LINE = 2
"""Most that the differences may cost if the line number confirms the place."""
_LEAD = 2
"""A rival place has to differ in this many more lines to be ruled out."""
_INSERTED_COST = 0.25
"""Cost of a line inserted between the old lines; a missing brace costs twice that."""
_SHORT = 10
"""A line with at most this many letters and digits may well occur in another block too."""
_EQUAL_LINES = (
    "Of two equal lines of the old text the file has one: the other may be gone already, as the "
    "edit wants it."
)
_NEW_LINES = "The lines beside the change are not those of the old text."
_TOO_LITTLE = (
    "The lines to replace were found, but too few of the other lines are unique in the file to be "
    "certain of the place. Quote more of the lines around it."
)
_ESCAPES = (
    "The old text has backslashes that the file has not, and so has the new text: whether they are "
    "meant is not certain. Write both as they are in the file, without escaping."
)
_TWO_PLACES = (
    "The old text fits line {} and line {} equally well. Add lines that only one of them has."
)


def stale_place(indexed: IndexedText, hunk: Hunk, within: range | None = None) -> Place | str:
    """Return the place if it is certain although context differs, or a reason for the model.

    Shape: ``within`` are the file lines between the neighbouring hunks; if the place is in them,
    places outside are no rivals. The reason may be empty: then the nearest text says enough.
    """
    old, removed = hunk.old, _removed_rows(hunk)
    non_blank = [number for number, line in enumerate(old) if stripped(line)]
    found = alignments(indexed.keyed(folded), old) if 2 <= len(non_blank) <= MAX_LINES else []
    if not found or not removed <= found[0].lines.keys():
        return ""
    best, *others = found
    if within is None or not all(line in within for line in best.lines.values()):
        within = range(len(indexed.file.lines))
    others = [one for one in others if any(line in within for line in one.lines.values())]
    reason = _own_objection(indexed, hunk, best) or _rival_objection(
        indexed, hunk, best, others, within
    )
    if reason:
        return reason
    if not _is_certain(indexed, hunk, best, within):
        return _TOO_LITTLE
    return aligned(indexed, old, dict(sorted((best.lines | best.changed).items())))


def _own_objection(indexed: IndexedText, hunk: Hunk, best: Alignment) -> str:
    """Return a reason against the place by itself, for the model; empty if there is none."""
    old, file, removed = hunk.old, indexed.file.lines, _removed_rows(hunk)
    runs = [set(run) for _, run in groupby(sorted(_rows(best)), lambda row: folded(old[row]))]
    if any(run & removed and not run <= best.lines.keys() for run in runs):
        # One of several equal lines is missing: it may be the one to remove, already removed.
        return _EQUAL_LINES
    changed = ((stripped(old[row]), file[line]) for row, line in best.changed.items())
    adds_escapes = any(line.sign == "+" and "\\" in line.text for line in hunk.lines)
    if adds_escapes and any(is_escaped(line, stripped(now)) for line, now in changed):
        return _ESCAPES
    return "" if _has_neighbours(indexed, hunk, best) else _NEW_LINES


def _rival_objection(
    indexed: IndexedText, hunk: Hunk, best: Alignment, others: Sequence[Alignment], within: range
) -> str:
    """Return a reason that names a rival place, for the model; empty if there is none."""
    unique = len(_unique_rows(indexed, hunk.old, best, within) - _removed_rows(hunk))
    is_sure = unique >= _MIN_UNIQUE or (hunk.is_diff and unique and len(best.lines) > _MIN_UNIQUE)
    lead = 0 if _line_number_agrees(hunk, best) else _LEAD - 1 if is_sure else _LEAD
    for one in others:
        if one.differing_lines - best.differing_lines < lead and _is_elsewhere(hunk, one, best):
            return _TWO_PLACES.format(*(min(each.lines.values()) + 1 for each in (best, one)))
    return ""


def _is_certain(indexed: IndexedText, hunk: Hunk, best: Alignment, within: range) -> bool:
    """Tell whether the evidence for a place outweighs the cost of the differences."""
    old, file, removed = hunk.old, indexed.file.lines, _removed_rows(hunk)
    keyed = indexed.keyed(folded)
    is_at_line = _line_number_agrees(hunk, best)
    telling = {row for row in best.lines if weight(old[row]) == 1}
    if any(trimmed(old[row]) != trimmed(file[best.lines[row]]) for row in telling):
        # Other indentation and a differing line: probably a copy in another block.
        return False
    unique = _unique_rows(indexed, old, best, within)
    cost = _INSERTED_COST * len(best.inserted) + _cost(indexed, hunk, best, unique)
    sure = len(unique - removed)
    kept = telling - removed
    # The file's last line counts like a line that occurs only once.
    is_end = keyed.numbers[-1] in {line for row, line in best.lines.items() if row not in unique}
    evidence = sure + 0.5 * len(kept - unique) + is_end
    if unique & removed and len(kept) + is_end >= _MIN_UNIQUE:
        evidence += 1
    if is_at_line and (evidence >= cost or (kept and cost < _MAX_COST_AT_LINE)):
        return True
    if hunk.is_diff:
        return evidence > cost + (0.5 if sure else 1.5)
    return sure >= _MIN_UNIQUE and evidence >= 2 * cost


def _unique_rows(indexed: IndexedText, old: list[str], best: Alignment, within: range) -> set[int]:
    """Return the matched old lines with enough text that occur only once in the file."""
    keyed = indexed.keyed(folded)
    return {
        row
        for row in best.lines
        if weight(old[row]) == 1
        and sum(line in within for line in keyed.lines_of(folded(old[row]))) == 1
    }


def _cost(indexed: IndexedText, hunk: Hunk, best: Alignment, unique: set[int]) -> float:
    old, file = hunk.old, indexed.file.lines
    past, is_at_line = changes_of(hunk)[-1].high, _line_number_agrees(hunk, best)
    ends = {min(_rows(best)), max(_rows(best))}
    cost = 0.0
    for row in sorted(best.changed.keys() | best.missing):
        if weight(old[row]) < 1:
            cost += 2 * _INSERTED_COST
            continue
        now = file[best.changed[row]] if row in best.changed else None
        is_framed = bool(unique) and min(unique) < row < max(unique)
        is_beyond = hunk.is_diff and row >= past and not all(map(stripped, old[past:row]))
        fate = fate_of(
            old[row],
            now if now and weight(now) == 1 else None,
            old[row + 1 :],
            is_beyond=is_beyond or (is_at_line and is_framed),
        )
        if row in ends and not (hunk.is_diff or is_at_line) and _is_doubtful(old[row], fate):
            return math.inf
        cost += COSTS[fate][0 if is_framed else 1]
    return cost


def _is_doubtful(line: str, fate: Fate) -> bool:
    """Tell whether the first or last line of a quote may show that another block is meant.

    Models quote just enough to be unique, so that line may be what tells the blocks apart.
    """
    return sum(map(str.isalnum, line)) <= _SHORT or fate not in ("grown", "reworded")


def _has_neighbours(indexed: IndexedText, hunk: Hunk, best: Alignment) -> bool:
    """Tell whether each change has the neighbouring lines that it needs.

    At least one neighbour has to be there, with no new line in between; next to replaced lines one
    new line is allowed. An addition needs both neighbours, or three matched lines in all.
    """
    placed, known = best.lines | best.changed, indexed.keyed(folded).numbers
    non_blank = sorted(_rows(best))
    for change in changes_of(hunk):
        above = max((row for row in non_blank if row < change.low), default=-1)
        below = min((row for row in non_blank if row >= change.high), default=-1)
        inner = [row for row in non_blank if change.low <= row < change.high]
        there = [row for row in (above, *inner, below) if row in placed]
        new = [
            sum(placed[one] < inserted < placed[two] for inserted in best.inserted)
            for one, two in pairwise(there)
        ]
        if max(new, default=0) > bool(inner):
            return False
        sides = (above in placed) + (below in placed)
        sides += above < 0 and known[0] in placed.values()
        sides += below < 0 and known[-1] in placed.values()
        if not sides or (not inner and sides < 2 and len(best.lines) < 3):
            return False
    return True


def _is_elsewhere(hunk: Hunk, one: Alignment, best: Alignment) -> bool:
    """Tell whether another alignment puts the changes at a different place."""
    rows = {row for change in changes_of(hunk) for row in range(change.low - 1, change.high + 1)}
    return all(one.lines.get(row, -1) != line for row, line in best.lines.items() if row in rows)


def _rows(best: Alignment) -> set[int]:
    return best.lines.keys() | best.changed.keys() | best.missing


def _line_number_agrees(hunk: Hunk, best: Alignment) -> bool:
    """Tell whether the hunk's line number confirms the place."""
    row, line = min(best.lines.items())
    return hunk.line is not None and line - row == hunk.line - 1


def _removed_rows(hunk: Hunk) -> set[int]:
    """Return the numbers of the non-blank old lines that the edit removes."""
    olds = [line for line in hunk.lines if line.sign != "+"]
    return {at for at, line in enumerate(olds) if line.sign == "-" and stripped(line.text)}
