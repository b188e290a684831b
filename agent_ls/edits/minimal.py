"""The least that has to change to make one text of another, so that all else keeps its bytes.

Pure. Spans never end inside a CRLF, and new lines take their neighbours' line end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from rapidfuzz.distance import Indel

from agent_ls.domain.edits import Replacement
from agent_ls.edits.lines import FlatText, flattened

_MAX_COMPARED_LINES = 2_000
"""More changed lines than this are replaced as one block."""


def replacements_between(before: str, after: str) -> tuple[Replacement, ...]:
    """Return the replacements that make ``after`` of ``before``; none when they are equal.

    Shape: sorted, apart from each other. CRLF and LF count as equal; where a line changes, its
    end stays as it was.
    """
    flat = FlatText(before)
    # A CR alone is a line end where the file has such, and else a character like any other.
    alone = "\r" in before.replace("\r\n", "")
    goal = flattened(after, alone=alone)
    return in_source(flat, changes(flat.text, goal))


def in_source(flat: FlatText, found: Iterable[tuple[int, int, str]]) -> tuple[Replacement, ...]:
    """Return changes of a flat text, in order, as those of its source."""
    source, past = flat.source, 0
    placed: list[Replacement] = []
    for first, last, text in found:
        start, end, line_end = flat.offset(first), flat.offset(last), flat.line_end_at(first)
        new = text.replace("\n", line_end) if line_end != "\n" else text
        follows = new or source[end : end + 1]
        if past < start and source[start - 1] == "\r" and follows.startswith("\n"):
            # A stray CR would become one line end with the LF that comes behind it.
            start, new = start - 1, "\n" + new
        placed.append(Replacement(start=start, end=end, text=new))
        past = end
    return tuple(placed)


def changes(before: str, after: str, shift: int = 0) -> list[tuple[int, int, str]]:
    """Return start, end and new text of what differs, in order; texts with LF alone."""
    start, old, new = _trimmed(before, after)
    if not old or not new:
        return [(shift + start, shift + start + len(old), new)] if old or new else []
    # Whole lines are compared, so that hunks begin and end where a reader expects it.
    line_start = before.rfind("\n", 0, start) + 1
    more = _to_line_end(before, start + len(old), is_at_end=old[-1:] == new[-1:] == "\n")
    old_lines = before[line_start : start + len(old) + more].splitlines(keepends=True)
    new_lines = after[line_start : start + len(new) + more].splitlines(keepends=True)
    if max(len(old_lines), len(new_lines)) > _MAX_COMPARED_LINES:
        return [(shift + start, shift + start + len(old), new)]
    found: list[tuple[int, int, str]] = []
    at = shift + line_start
    offsets = [0]
    for line in old_lines:
        offsets.append(offsets[-1] + len(line))
    for kind, low, high, new_low, new_high in blocks(old_lines, new_lines):
        if kind == "equal":
            continue
        first, was, now = _trimmed(
            "".join(old_lines[low:high]), "".join(new_lines[new_low:new_high])
        )
        begin = at + offsets[low] + first
        found.append((begin, begin + len(was), now))
    return found


def blocks(old: Sequence[str], new: Sequence[str]) -> list[tuple[str, int, int, int, int]]:
    """Return what is equal and what is replaced, in order; what lies side by side is one block.

    Shape: kind, then the bounds in ``old`` and in ``new``.
    """
    found: list[tuple[str, int, int, int, int]] = []
    for op in Indel.opcodes(old, new):
        kind = "equal" if op.tag == "equal" else "replace"
        if found and found[-1][0] == kind:
            _, low, _, new_low, _ = found.pop()
            found.append((kind, low, op.src_end, new_low, op.dest_end))
        else:
            found.append((kind, op.src_start, op.src_end, op.dest_start, op.dest_end))
    return found


def _trimmed(before: str, after: str) -> tuple[int, str, str]:
    """Return how much both begin with, and what is left of each without their common end."""
    most = min(len(before), len(after))
    start = _largest(most, lambda size: before[:size] == after[:size])
    end = _largest(
        most - start,
        lambda size: before[len(before) - size :] == after[len(after) - size :],
    )
    return start, before[start : len(before) - end], after[start : len(after) - end]


def _largest(most: int, holds: Callable[[int], bool]) -> int:
    """Return the largest size up to ``most`` that holds; all smaller ones do too."""
    low = 0
    while low < most:
        middle = (low + most + 1) // 2
        if holds(middle):
            low = middle
        else:
            most = middle - 1
    return low


def _to_line_end(text: str, offset: int, *, is_at_end: bool) -> int:
    """Return how far it is to the end of the line, its line end included."""
    if is_at_end:
        return 0
    at = text.find("\n", offset)
    return (len(text) if at < 0 else at + 1) - offset
