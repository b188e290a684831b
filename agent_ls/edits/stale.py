"""The place of a hunk whose context has changed since the model read it.

Every line that the edit removes must be there; lines that only surround it may differ, and then
the file's version stays. Owns when such a place is certain: what is left of the context has to
point there, no other place may come near, and each line that differs has to be the same line,
changed. Likeness of lines alone is no evidence.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby, islice, pairwise

from agent_ls.edits.alignments import Alignment, alignments, weight, with_fillers
from agent_ls.edits.certainty import LEAD, Evidence
from agent_ls.edits.changes import changes_of
from agent_ls.edits.drifted import Drift, fate_of, has_likes
from agent_ls.edits.heads import Head, head_of, sets_another
from agent_ls.edits.held import is_held
from agent_ls.edits.indents import indent_of
from agent_ls.edits.keys import folded, stripped, trimmed
from agent_ls.edits.locate import Ground, Place, aligned
from agent_ls.edits.readings import is_escaped
from agent_ls.edits.requests import Hunk

_MAX_LINES = 2_000
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
    "The old text has backslashes that line {} has not, and so has the new text: whether they are "
    "meant is not certain. Write both as they are in the file, without escaping."
)
_TWO_PLACES = "Line {} may be meant, and so may line {}: no more of the old text is at one of them."


def stale_place(ground: Ground, hunk: Hunk, within: range | None = None) -> Place | str:
    """Return the place if it is certain though some of the context differs, or why it is not.

    Shape: sentences for the model, or none where the nearest text says it all. ``within`` are the
    lines that are left between other hunks of the patch, which stand in order: if the place is
    there, what stands elsewhere is no rival.
    """
    old = hunk.old
    solid = [number for number, line in enumerate(old) if stripped(line)]
    if not 2 <= len(solid) <= _MAX_LINES:
        return ""
    core = _core(hunk)
    found = alignments(ground.keyed(folded), old, solid, core)
    if not found or not core <= found[0].lines.keys():
        return ""
    middle = core | _beside_changes(hunk, solid)
    best, *others = _by_place(ground, old, found, middle)
    if within is None or not all(line in within for line in best.lines.values()):
        within = range(len(ground.file.lines))
    others = [one for one in others if any(line in within for line in one.lines.values())]
    runs = [set(run) for _, run in groupby(solid, lambda number: folded(old[number]))]
    if any(run & core and not run <= best.lines.keys() for run in runs):
        # Of equal neighbours one is not there: it may be the one that was to go, and is gone.
        return _EQUAL_LINES
    best = with_fillers(ground, old, solid, core, best)
    telling = _telling(old, solid, best)
    evidence = _evidence(ground, hunk, solid, len(telling), best, within)
    most = (len(telling) - len(core)) // 4 if evidence.is_told else len(telling) // 8
    # A line that came is as much of a difference as one that is not there.
    if best.apart - (len(solid) - len(telling)) > max(1, most) or _skips(ground, old, best):
        return ""
    drifts = _drifts(ground, hunk, telling, best, evidence)
    whole = _with_drifts(best, drifts)
    if (escaped := _escaped(ground, hunk, whole)) is not None:
        return _ESCAPES.format(escaped + 1)
    if not is_held(ground, hunk, whole):
        return _NEW_LINES
    if not evidence.bears(drifts) or _has_short_edge(hunk, solid, drifts, evidence):
        return _TOO_LITTLE
    near = next((one for one in others if _comes_near(one, best, core, middle, evidence)), None)
    if near is not None:
        return _TWO_PLACES.format(*(min(one.lines.values()) + 1 for one in (best, near)))
    return aligned(ground, old, whole.lines)


def _by_place(
    ground: Ground, old: list[str], found: list[Alignment], middle: set[int]
) -> list[Alignment]:
    """Return the ways to lay the old lines, one for the first one's place: its fullest.

    Where the changes go to the same lines, what comes out is the same as well.
    """
    best = found[0]
    if not middle & best.lines.keys():
        return found
    here = [one for one in found if all(one.lines.get(n) == best.lines.get(n) for n in middle)]
    fullest = max(
        here, key=lambda one: (not _skips(ground, old, one), one.total, -one.apart, one.score)
    )
    return [fullest, *(one for one in found if one not in here)]


def _evidence(
    ground: Ground, hunk: Hunk, solid: list[int], count: int, best: Alignment, within: range
) -> Evidence:
    keyed, core = ground.keyed(folded), _core(hunk)
    low, high = (bisect_left(keyed.numbers, line) for line in (within.start, within.stop))
    singles = {
        number
        for number in best.lines
        if weight(hunk.old[number]) == 1
        and keyed.text.count(keyed.number_of(folded(hunk.old[number])) or "", low, high) == 1
    }
    alone = [n for n in _connected(ground, hunk, solid, best) if n in singles - core]
    return Evidence(
        frozenset(best.lines),
        best.context,
        best.total,
        tuple(alone),
        len(singles & core),
        is_diff=hunk.is_diff,
        is_told=_is_told(ground, hunk, best),
        is_bent=any(
            weight(hunk.old[row]) == 1
            and trimmed(hunk.old[row]) != trimmed(ground.file.lines[line])
            for row, line in best.lines.items()
        ),
        has_new=any(_is_parted(ground, best, *pair) for pair in pairwise(solid)),
        is_cut=count < len(solid),
        is_at_start=keyed.numbers[0] == best.lines.get(solid[0]),
        is_at_end=keyed.numbers[-1] == best.lines.get(solid[-1]),
    )


def _telling(old: list[str], solid: list[int], best: Alignment) -> list[int]:
    """Return the lines without those at both ends that are not there and say nothing."""
    needed = [n for n in solid if n in best.lines or weight(old[n]) == 1]
    return solid[solid.index(needed[0]) : solid.index(needed[-1]) + 1]


def _skips(ground: Ground, old: list[str], best: Alignment) -> bool:
    """Tell whether lines that came between two are old ones: then it joins parts of two places."""
    known = {folded(line) for line in old if weight(line) == 1}
    return any(
        folded(line) in known
        for above, below in pairwise(best.lines.values())
        for line in ground.file.lines[above + 1 : below]
    )


def _connected(ground: Ground, hunk: Hunk, solid: list[int], best: Alignment) -> list[int]:
    """Return the old lines that are there with nothing new between them and what changes.

    What stands beyond new lines does not say which place it is that comes behind them, but for
    the file's last line, which no copy has.
    """
    runs: list[list[int]] = [[]]
    last = ground.keyed(folded).numbers[-1]
    for row, below in pairwise([*solid, -1]):
        if row in best.lines:
            runs[-1].append(row)
        if _is_parted(ground, best, row, below) and best.lines[below] != last:
            runs.append([])
    middle = _core(hunk) | _beside_changes(hunk, solid)
    return [row for run in runs if middle & set(run) for row in run]


def _is_parted(ground: Ground, best: Alignment, above: int, below: int) -> bool:
    """Tell whether the file has something between two neighbours that it has both."""
    if above not in best.lines or below not in best.lines:
        return False
    between = range(best.lines[above] + 1, best.lines[below])
    return any(line not in ground.blanks for line in between)


def _beside_changes(hunk: Hunk, solid: list[int]) -> set[int]:
    """Return the numbers of the old lines right above and below what changes."""
    found: set[int] = set()
    for change in changes_of(hunk):
        found |= {max((n for n in solid if n < change.low), default=change.low)}
        found |= {min((n for n in solid if n >= change.high), default=change.low)}
    return found


def _is_told(ground: Ground, hunk: Hunk, best: Alignment) -> bool:
    """Tell whether the hunk's line number says the same, of lines that are as they were written."""
    number, there = next(iter(sorted(best.lines.items())))
    old, file = hunk.old, ground.file.lines
    return (
        hunk.line is not None
        and there - number == hunk.line - 1
        and all(trimmed(old[one]) == trimmed(file[other]) for one, other in best.lines.items())
    )


def _core(hunk: Hunk) -> set[int]:
    """Return the numbers of old lines that the edit removes."""
    found: set[int] = set()
    at = 0
    for line in hunk.lines:
        if line.sign == "+":
            continue
        if line.sign == "-" and stripped(line.text):
            found.add(at)
        at += 1
    return found


def _is_apart(hunk: Hunk, number: int) -> bool:
    """Tell whether a blank line stands between an old line and all that changes."""
    changes, old = changes_of(hunk), hunk.old
    low, high = changes[0].low, changes[-1].high
    between = old[number:low] if number < low else old[high:number]
    return not all(map(stripped, between))


def _drifts(
    ground: Ground, hunk: Hunk, solid: list[int], best: Alignment, evidence: Evidence
) -> dict[int, Drift]:
    """Return what became of the old lines that are not there, by their numbers."""
    found: dict[int, Drift] = {}
    old, file = hunk.old, ground.file.lines
    # What begins behind a blank line below all that changes is another block than the changed one.
    is_free = hunk.is_diff and (evidence.is_told or evidence.is_much)
    runs = changes_of(hunk)
    past = runs[-1].high
    for row, number in enumerate(solid):
        if number in best.lines:
            continue
        there = _in_place_of(ground, solid, best, row)
        below = old[number + 1 :] if number < solid[-1] else _below(ground, best, there)
        is_apart = _is_apart(hunk, number)
        is_beyond = is_free and is_apart and number >= past
        now = [file[line] for line in there]
        fate = fate_of(old[number], now, below, is_beyond=is_beyond)
        head: Head = ""
        if fate == "another":
            fate = fate_of(old[number], now, below, is_beyond=True)
            head = head_of(old, number, runs, now[0] if len(now) == 1 else None)
        is_one = len(there) == 1 and fate != "replaced"
        line = there[0] if is_one else None
        is_renamed = line is not None and sets_another(old[number], file[line])
        if is_renamed and evidence.is_told and indent_of(old[number]):
            # Inside of a block, the line number says enough.
            is_renamed = False
        is_doubtful = head or (is_apart and number >= past)
        is_like = bool(is_doubtful) and has_likes(old[number], file, line)
        found[number] = Drift(fate, line, is_renamed, is_like, head)
    return found


def _in_place_of(ground: Ground, solid: list[int], best: Alignment, row: int) -> list[int]:
    """Return the file lines where an old line should be: one if there are as many as old ones."""
    above, below = row - 1, row + 1
    while above >= 0 and solid[above] not in best.lines:
        above -= 1
    while below < len(solid) and solid[below] not in best.lines:
        below += 1
    count = below - above - 1
    low = best.lines[solid[above]] + 1 if above >= 0 else None
    high = best.lines[solid[below]] if below < len(solid) else None
    lines = range(low or 0, len(ground.file.lines) if high is None else high)
    if low is None:
        there = list(islice(_solid(ground, lines[::-1]), count))[::-1]
    else:
        there = list(islice(_solid(ground, lines), count if high is None else None))
    return [there[row - above - 1]] if len(there) == count else there


def _solid(ground: Ground, lines: range) -> Iterator[int]:
    return (line for line in lines if line not in ground.blanks)


def _below(ground: Ground, best: Alignment, there: list[int]) -> list[str]:
    """Return the file's lines behind the last old line."""
    past = (there[-1] if there else max(best.lines.values())) + 1
    return ground.file.lines[past : past + 2]


def _has_short_edge(
    hunk: Hunk, solid: list[int], drifts: dict[int, Drift], evidence: Evidence
) -> bool:
    """Tell whether an end of quoted text, without a word of where it stood, is short and differs.

    Of two blocks that are alike but for their first line, as the jobs of a workflow are, the one
    meant may be gone. A line of a few letters cannot show that it is the same one, changed.
    """
    if hunk.is_diff or evidence.is_told:
        return False
    ends = {solid[0], solid[-1]} & drifts.keys()
    return any(sum(map(str.isalnum, hunk.old[number])) <= _SHORT for number in ends)


def _with_drifts(best: Alignment, drifts: dict[int, Drift]) -> Alignment:
    """Return the alignment with the lines that changed laid over what they became."""
    more = {number: one.line for number, one in drifts.items() if one.line is not None}
    return replace(best, lines=dict(sorted((best.lines | more).items())))


def _escaped(ground: Ground, hunk: Hunk, whole: Alignment) -> int | None:
    """Return the file's line that an old one escapes, as it seems a line that comes does too."""
    if not any(line.sign == "+" and "\\" in line.text for line in hunk.lines):
        return None
    pairs = ((stripped(hunk.old[row]), line) for row, line in whole.lines.items())
    return next(
        (line for old, line in pairs if is_escaped(old, stripped(ground.file.lines[line]))), None
    )


def _comes_near(
    one: Alignment, best: Alignment, core: set[int], middle: set[int], evidence: Evidence
) -> bool:
    """Tell whether another place could be meant as well."""
    if any(one.lines.get(row) == best.lines.get(row, -1) for row in middle):
        return one.score >= best.score
    behind = one.apart - best.apart
    if core <= one.lines.keys() or evidence.is_told or evidence.is_sure:
        return behind < evidence.lead
    # What the edit removes may have been changed in the place that was meant.
    return behind < (LEAD if one.context >= best.context else 1)
