"""The place of quoted lines of which the file has some otherwise: the one rule of certainty.

Every line that the edit removes must be there; a line that only surrounds it may differ, and then
the file's version stays. Certain is a place whose evidence outweighs what the differences cost,
and that no other place comes near.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby, pairwise

from agent_ls.edits.alignments import MAX_LINES, Alignment, alignments, weight
from agent_ls.edits.drifted import COSTS, Fate, fate_of
from agent_ls.edits.keys import folded, stripped, trimmed
from agent_ls.edits.locate import Ground, Place, aligned
from agent_ls.edits.readings import is_escaped
from agent_ls.edits.requests import Hunk, changes_of

_MIN_ALONE = 2
"""So many lines that stay and stand nowhere else say which place is meant: a copy would have them
too."""
_TOLD = 2
"""What the differences may cost where the line number says the same."""
_LEAD = 2
"""In so many lines more another place has to differ to be one that does not come near."""
_CAME = 0.25
"""What a line costs that came between the old ones; a brace that is not there costs twice that."""
_SHORT = 10
"""A line with no more letters and digits than these may well stand in another block as well."""
_EQUAL_LINES = (
    "Of two equal lines of the old text the file has one: the other may be gone already, as the "
    "edit wants it."
)
_NEW_LINES = "What stands beside the change is not what the old text has there."
_TOO_LITTLE = (
    "No line that the edit replaces differs, but too little of the rest stands there alone to be "
    "certain that this is the place and no copy of it."
)
_ESCAPES = (
    "The old text has backslashes that the file has not, and so has the new text: whether they are "
    "meant is not certain. Write both as they are in the file, without escaping."
)
_TWO_PLACES = "Line {} may be meant, and so may line {}: no more of the old text is at one of them."


def stale_place(ground: Ground, hunk: Hunk, within: range | None = None) -> Place | str:
    """Return the place if it is certain though some of the context differs, or why it is not.

    ``within`` are the lines that are left between other hunks of the patch, which stand in order:
    if the place is there, what stands elsewhere is no rival. The reason is sentences for the
    model, or empty where the nearest text says it all.
    """
    old, core = hunk.old, _core(hunk)
    solid = [number for number, line in enumerate(old) if stripped(line)]
    found = alignments(ground.keyed(folded), old) if 2 <= len(solid) <= MAX_LINES else []
    if not found or not core <= found[0].lines.keys():
        return ""
    best, *others = found
    if within is None or not all(line in within for line in best.lines.values()):
        within = range(len(ground.file.lines))
    others = [one for one in others if any(line in within for line in one.lines.values())]
    reason = _unlike(ground, hunk, best) or _rivalled(ground, hunk, best, others, within)
    if reason:
        return reason
    if not _is_certain(ground, hunk, best, within):
        return _TOO_LITTLE
    return aligned(ground, old, dict(sorted((best.lines | best.changed).items())))


def _unlike(ground: Ground, hunk: Hunk, best: Alignment) -> str:
    """Return what speaks against the place by itself, in words for the model."""
    old, file, core = hunk.old, ground.file.lines, _core(hunk)
    runs = [set(run) for _, run in groupby(sorted(_rows(best)), lambda row: folded(old[row]))]
    if any(run & core and not run <= best.lines.keys() for run in runs):
        # Of equal neighbours one is not there: it may be the one that was to go, and is gone.
        return _EQUAL_LINES
    changed = ((stripped(old[row]), file[line]) for row, line in best.changed.items())
    adds_escapes = any(line.sign == "+" and "\\" in line.text for line in hunk.lines)
    if adds_escapes and any(is_escaped(line, stripped(now)) for line, now in changed):
        return _ESCAPES
    return "" if _is_held(ground, hunk, best) else _NEW_LINES


def _rivalled(
    ground: Ground, hunk: Hunk, best: Alignment, others: Sequence[Alignment], within: range
) -> str:
    """Return which other place may be meant as well, in words for the model."""
    alone = len(_alone(ground, hunk.old, best, within) - _core(hunk))
    is_sure = alone >= _MIN_ALONE or (hunk.is_diff and alone and len(best.lines) > _MIN_ALONE)
    lead = 0 if _is_told(hunk, best) else _LEAD - 1 if is_sure else _LEAD
    for one in others:
        if one.apart - best.apart < lead and _is_elsewhere(hunk, one, best):
            return _TWO_PLACES.format(*(min(each.lines.values()) + 1 for each in (best, one)))
    return ""


def _is_certain(ground: Ground, hunk: Hunk, best: Alignment, within: range) -> bool:
    """Tell whether the evidence for a place outweighs what the differences cost."""
    old, file, core = hunk.old, ground.file.lines, _core(hunk)
    keyed = ground.keyed(folded)
    is_told = _is_told(hunk, best)
    telling = {row for row in best.lines if weight(old[row]) == 1}
    if any(trimmed(old[row]) != trimmed(file[best.lines[row]]) for row in telling):
        # In another indentation, with a line that differs, it is a copy in another block.
        return False
    alone = _alone(ground, old, best, within)
    cost = _CAME * len(best.came) + _cost(ground, hunk, best, alone)
    sure = len(alone - core)
    kept = telling - core
    # The file's last line is as good as one that stands nowhere else.
    is_end = keyed.numbers[-1] in {line for row, line in best.lines.items() if row not in alone}
    evidence = sure + 0.5 * len(kept - alone) + is_end
    if alone & core and len(kept) + is_end >= _MIN_ALONE:
        evidence += 1
    if is_told and (evidence >= cost or (kept and cost < _TOLD)):
        return True
    if hunk.is_diff:
        return evidence > cost + (0.5 if sure else 1.5)
    return sure >= _MIN_ALONE and evidence >= 2 * cost


def _alone(ground: Ground, old: list[str], best: Alignment, within: range) -> set[int]:
    """Return the old lines that are there, say something, and stand nowhere else."""
    keyed = ground.keyed(folded)
    return {
        row
        for row in best.lines
        if weight(old[row]) == 1
        and sum(line in within for line in keyed.lines_of(folded(old[row]))) == 1
    }


def _cost(ground: Ground, hunk: Hunk, best: Alignment, alone: set[int]) -> float:
    """Return what the lines cost that the file has otherwise."""
    old, file = hunk.old, ground.file.lines
    past, is_told = changes_of(hunk)[-1].high, _is_told(hunk, best)
    ends = {min(_rows(best)), max(_rows(best))}
    cost = 0.0
    for row in sorted(best.changed.keys() | best.gone):
        if weight(old[row]) < 1:
            cost += 2 * _CAME
            continue
        now = file[best.changed[row]] if row in best.changed else None
        is_framed = bool(alone) and min(alone) < row < max(alone)
        is_beyond = hunk.is_diff and row >= past and not all(map(stripped, old[past:row]))
        fate = fate_of(
            old[row],
            now if now and weight(now) == 1 else None,
            old[row + 1 :],
            is_beyond=is_beyond or (is_told and is_framed),
        )
        if row in ends and not (hunk.is_diff or is_told) and _is_doubtful(old[row], fate):
            return math.inf
        cost += COSTS[fate][0 if is_framed else 1]
    return cost


def _is_doubtful(line: str, fate: Fate) -> bool:
    """Tell whether an end of a quote may be of another block, alike but for that line.

    A quote is as long as it takes to be the only one, so its ends may be there for that alone.
    """
    return sum(map(str.isalnum, line)) <= _SHORT or fate not in ("grown", "reworded")


def _is_held(ground: Ground, hunk: Hunk, best: Alignment) -> bool:
    """Tell whether each change has the lines beside it that it needs.

    One neighbour has to be there, with nothing new between, or one line beside those replaced; an
    addition between two needs both, or more around it.
    """
    laid, known = best.lines | best.changed, ground.keyed(folded).numbers
    solid = sorted(_rows(best))
    for change in changes_of(hunk):
        above = max((row for row in solid if row < change.low), default=-1)
        below = min((row for row in solid if row >= change.high), default=-1)
        inner = [row for row in solid if change.low <= row < change.high]
        there = [row for row in (above, *inner, below) if row in laid]
        new = [
            sum(laid[one] < came < laid[two] for came in best.came) for one, two in pairwise(there)
        ]
        if max(new, default=0) > bool(inner):
            return False
        sides = (above in laid) + (below in laid)
        sides += above < 0 and known[0] in laid.values()
        sides += below < 0 and known[-1] in laid.values()
        if not sides or (not inner and sides < 2 and len(best.lines) < 3):
            return False
    return True


def _is_elsewhere(hunk: Hunk, one: Alignment, best: Alignment) -> bool:
    """Tell whether another way to lay the lines puts the changes elsewhere."""
    rows = {row for change in changes_of(hunk) for row in range(change.low - 1, change.high + 1)}
    return all(one.lines.get(row, -1) != line for row, line in best.lines.items() if row in rows)


def _rows(best: Alignment) -> set[int]:
    return best.lines.keys() | best.changed.keys() | best.gone


def _is_told(hunk: Hunk, best: Alignment) -> bool:
    """Tell whether the hunk's line number says the same."""
    row, line = min(best.lines.items())
    return hunk.line is not None and line - row == hunk.line - 1


def _core(hunk: Hunk) -> set[int]:
    """Return the numbers of old lines that the edit removes."""
    olds = [line for line in hunk.lines if line.sign != "+"]
    return {at for at, line in enumerate(olds) if line.sign == "-" and stripped(line.text)}
