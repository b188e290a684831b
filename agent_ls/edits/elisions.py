"""What a mark for lines left out stands for.

A mark never gets into a file: what it stands for is certain, or the edit is refused.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from agent_ls.edits.indents import indent_of
from agent_ls.edits.keys import stripped
from agent_ls.edits.requests import Refused

_HEAD = re.compile(
    r"(return)\b"
    r"|([\w. ]*\b(?:def|class|func|fn|function\*?|struct|interface|enum|trait|impl) +[\w$.<>]+)"
    r"|([^=!<>+*/%&|^-]+?) *=(?![=>])"
    r"|([\"'][^\"']*[\"']|[\w-]+) *:(?![:=])"
    r"|([^(){}]+)\(.*\{$"
)
"""What a line is about: what it returns, defines, sets, or names."""


def restored(old: Sequence[str], new: Sequence[str], marks: Sequence[int]) -> list[str] | Refused:
    """Return the new lines with each mark replaced by the old lines that it stands for."""
    bounds = [-1, *marks, len(new)]
    parts = [list(new[low + 1 : high]) for low, high in pairwise(bounds)]
    result = parts[0]
    at = 0
    for mark, (above, below) in zip(marks, pairwise(parts), strict=True):
        start = _end_of(old, above, at)
        stop = None if start is None else _begin_of(old, below, start)
        if start is None or stop is None:
            return unclear_marker()
        middle = list(old[start:stop])
        if not any(stripped(line) for line in middle) or _is_parted(middle, above, below):
            return unclear_marker()
        if _ends_before(middle, new[mark], below) or _is_moved(old, middle, new):
            return unclear_marker()
        middle = _without_doubled_blanks(middle, above, below)
        result += [*middle, *below]
        at = stop
    return result


def _is_parted(middle: list[str], above: list[str], below: list[str]) -> bool:
    """Tell whether the new text has a blank line beside the mark where the old text has none.

    Then the old line that stands there may have been meant to go.
    """
    lost = bool(below) and not stripped(below[0]) and bool(stripped(middle[-1]))
    return lost or (bool(above) and not stripped(above[-1]) and bool(stripped(middle[0])))


def _ends_before(middle: list[str], mark: str, below: list[str]) -> bool:
    """Tell whether the block that the mark stands in may end within the middle already."""
    end = next((line for line in below if stripped(line)), "")
    is_inside = (
        bool(end) and not any(map(str.isalnum, end)) and len(indent_of(end)) < len(indent_of(mark))
    )
    return is_inside and end in middle


def _is_moved(old: Sequence[str], middle: list[str], new: Sequence[str]) -> bool:
    """Tell whether the new text has a run of the middle itself, which the old one has once."""
    known, shown = Counter(_runs(old)), set(_runs(new))
    return any(known[run] == 1 and run in shown for run in _runs(middle))


def _runs(lines: Sequence[str]) -> list[tuple[str, str, str]]:
    solid = _solid(lines)
    return list(zip(solid, solid[1:], solid[2:], strict=False))


def _without_doubled_blanks(middle: list[str], above: list[str], below: list[str]) -> list[str]:
    """Return the middle without the blank lines at its ends that the new text has itself."""
    for line in reversed(above):
        if stripped(line) or not middle or stripped(middle[0]):
            break
        middle = middle[1:]
    for line in below:
        if stripped(line) or not middle or stripped(middle[-1]):
            break
        middle = middle[:-1]
    return middle


def unclear_marker() -> Refused:
    """Return the refusal of a mark whose lines are not certain."""
    return Refused(
        "The new text has a mark for left-out code (like `...`), and it is not certain which "
        "lines it stands for. Nothing was changed. Write the new text in full, or edit only the "
        "lines that change.",
        "marker",
    )


def _end_of(old: Sequence[str], above: list[str], at: int) -> int | None:
    """Return where in ``old`` the part above a mark ends."""
    part = _solid(above)
    if not part:
        return at
    if part == _solid(old[at:])[: len(part)]:
        return _numbers(old, at)[len(part) - 1] + 1
    found = _only(_numbers(old, at), old, part[::-1], backwards=True)
    if found is None and _are_changes(_solid(old[at:])[: len(part)], part):
        found = _numbers(old, at)[len(part) - 1]
    return None if found is None else found + 1


def _begin_of(old: Sequence[str], below: list[str], at: int) -> int | None:
    """Return where in ``old`` the part below a mark begins."""
    part, numbers = _solid(below), _numbers(old, at)
    if not part:
        return len(old)
    if part == _solid(old[at:])[-len(part) :]:
        return numbers[-len(part)]
    found = _only(numbers, old, part, backwards=False)
    if found is None and _are_changes(_solid(old[at:])[-len(part) :], part):
        found = numbers[-len(part)]
    return found


def _solid(lines: Sequence[str]) -> list[str]:
    return [line for line in lines if stripped(line)]


def _numbers(old: Sequence[str], at: int) -> list[int]:
    return [number for number in range(at, len(old)) if stripped(old[number])]


def _only(numbers: list[int], old: Sequence[str], run: list[str], *, backwards: bool) -> int | None:
    """Return the one line where the run begins, as far as it takes to be the only one."""
    rows = numbers[::-1] if backwards else numbers
    known = [row for row in range(len(rows)) if old[rows[row]] == run[0]]
    for size in range(1, len(run)):
        if len(known) < 2:
            break
        known = [
            row for row in known if row + size < len(rows) and old[rows[row + size]] == run[size]
        ]
    return rows[known[0]] if len(known) == 1 else None


def _are_changes(old: list[str], part: list[str]) -> bool:
    """Tell whether these lines are the old ones, each as it was or with another content."""
    return len(old) == len(part) and all(
        stripped(one) == stripped(other) or _is_change_of(one, other)
        for one, other in zip(old, part, strict=True)
    )


def _is_change_of(old: str, line: str) -> bool:
    """Tell whether both lines are about one thing, which no text has twice in a row.

    So two imports are not, and two calls are not: there the line may be a new one.
    """
    heads = [_HEAD.match(stripped(one)) for one in (old, line)]
    names = [next((one for one in head.groups() if one), "") if head else "" for head in heads]
    return bool(names[0]) and names[0] == names[1]
