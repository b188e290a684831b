"""The outermost lines of old text that say too little to be placed by themselves: braces, mostly.

Owns where they are in the file once the lines that say something have their places.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from agent_ls.edits.alignments import Alignment, weight
from agent_ls.edits.indents import indent_of
from agent_ls.edits.keys import folded, stripped, trimmed
from agent_ls.edits.locate import Ground

_MAX_NEW = 3
"""More new lines than this before a block's end, and it is another one."""


def with_outermost(
    ground: Ground, old: list[str], solid: Sequence[int], best: Alignment
) -> Alignment:
    """Return the alignment with the outermost lines that are right behind a line that is gone.

    The same goes for the end of a block that has new lines before it.
    """
    lines = dict(best.lines)
    gone = 0
    for rows, step in ((solid, 1), (solid[::-1], -1)):
        known = [at for at, row in enumerate(rows) if row in lines and weight(old[row]) == 1]
        if not known:
            continue
        at, here = _while_beside(ground, rows, known[-1], lines, step)
        left = rows[at + 1 :]
        if not left or left[0] in lines:
            continue
        if weight(old[left[0]]) < 1 and step > 0:
            lines |= _after_new_lines(ground, old, left, here)
            continue
        found = _right_behind(ground, old, left[1:], here, step)
        gone += len(found.keys() - lines.keys())
        lines |= found
    return replace(best, lines=dict(sorted(lines.items())), apart=best.apart - gone)


def with_inner(ground: Ground, old: list[str], solid: Sequence[int], best: Alignment) -> Alignment:
    """Return the alignment with inner lines that say nothing and stand behind new lines."""
    file = ground.file.lines
    found: dict[int, int] = {}
    for above, below in pairwise(best.lines):
        there = best.lines[below]
        if weight(old[below]) < 1:
            continue
        for row in reversed([row for row in solid if above < row < below]):
            while there > best.lines[above] and trimmed(file[there]) != trimmed(old[row]):
                there -= 1
            if there == best.lines[above] or weight(old[row]) == 1:
                break
            found[row] = there
    return replace(
        best, lines=dict(sorted((best.lines | found).items())), apart=best.apart - len(found)
    )


def _while_beside(
    ground: Ground, rows: Sequence[int], at: int, lines: dict[int, int], step: int
) -> tuple[int, int]:
    """Return the last row, and its line, up to which old lines and file lines go together."""
    numbers = ground.keyed(folded).numbers
    here = bisect_left(numbers, lines[rows[at]])
    while at + 1 < len(rows) and 0 <= here + step < len(numbers):
        if lines.get(rows[at + 1]) != numbers[here + step]:
            break
        at, here = at + 1, here + step
    return at, here


def _right_behind(
    ground: Ground, old: list[str], rows: Sequence[int], here: int, step: int
) -> dict[int, int]:
    """Return where rows stand that the file has directly behind a line."""
    keyed = ground.keyed(folded)
    found: dict[int, int] = {}
    for row in rows:
        here += step
        if not 0 <= here < len(keyed.numbers):
            break
        if keyed.number_of(folded(old[row])) != keyed.text[here]:
            break
        found[row] = keyed.numbers[here]
    return found


def _after_new_lines(
    ground: Ground, old: list[str], rows: Sequence[int], here: int
) -> dict[int, int]:
    """Return where the end of a block stands, if all lines up to it are deeper inside."""
    keyed, file = ground.keyed(folded), ground.file.lines
    end = old[rows[0]]
    for there in range(here + 1, min(here + 2 + _MAX_NEW, len(keyed.numbers))):
        line = file[keyed.numbers[there]]
        if trimmed(line) == trimmed(end):
            return _right_behind(ground, old, rows, there - 1, 1)
        if len(indent_of(line)) <= len(indent_of(end)) or not stripped(line):
            return {}
    return {}
