"""Compute small replacements between two texts, so that everything else keeps its bytes.

Pure. Spans never end inside a CRLF, and new lines take their neighbours' line end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rapidfuzz.distance import Indel

from agent_ls.domain.edits import Replacement
from agent_ls.edits.lines import FlatText, flattened

_MAX_COMPARED_LINES = 2_000
"""More changed lines than this are replaced as one block."""
_STEP = 64
"""Characters that are compared at once, to begin with."""


def replacements_between(before: str, after: str) -> tuple[Replacement, ...]:
    """Return the replacements that turn ``before`` into ``after``; none if they are equal.

    Shape: sorted and without overlap. CRLF and LF count as equal; a changed line keeps its end.
    """
    flat = FlatText(before)
    # A CR alone counts as a line end only if the file has some.
    alone = "\r" in before.replace("\r\n", "")
    goal = flattened(after, alone=alone)
    return in_source(flat, changes(flat.text, goal))


def in_source(flat: FlatText, found: Iterable[tuple[int, int, str]]) -> tuple[Replacement, ...]:
    """Convert sorted changes of an LF text into replacements in its source."""
    source, past = flat.source, 0
    placed: list[Replacement] = []
    for first, last, text in found:
        start, end = flat.offset(first), flat.offset(last)
        new = text.replace("\n", flat.line_end_at(first)) if "\n" in text else text
        follows = new or source[end : end + 1]
        if past < start and source[start - 1] == "\r" and follows.startswith("\n"):
            # Else a stray CR and the LF behind it would become one CRLF.
            start, new = start - 1, "\n" + new
        placed.append(Replacement(start=start, end=end, text=new))
        past = end
    return tuple(placed)


def changes(before: str, after: str, shift: int = 0) -> list[tuple[int, int, str]]:
    """Return start, end and new text of each difference, in order, for texts with LF line ends."""
    start, old, new = _trimmed(before, after)
    if not old or not new:
        return [(shift + start, shift + start + len(old), new)] if old or new else []
    # Compare whole lines, so that hunks begin and end where a reader expects.
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
    """Return the equal and the replaced blocks, in order, with adjacent ones of a kind joined.

    Shape: kind ("equal" or "replace"), then the bounds in ``old`` and in ``new``.
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
    """Return the length of the common prefix, and both texts without common prefix and suffix."""
    most = min(len(before), len(after))
    start = same_ahead(before, 0, after, 0, most)
    end = same_behind(before, len(before), after, len(after), most - start)
    return start, before[start : len(before) - end], after[start : len(after) - end]


def same_ahead(one: str, at: int, other: str, there: int, most: int) -> int:
    """Return how many characters, at most ``most``, are the same from these offsets on."""
    size, step = 0, _STEP
    while step and size < most:
        step = min(step, most - size)
        here, beyond = at + size, there + size
        if one[here : here + step] == other[beyond : beyond + step]:
            size, step = size + step, step * 2
        else:
            step //= 2
    return size


def same_behind(one: str, end: int, other: str, stop: int, most: int) -> int:
    """Return how many characters, at most ``most``, are the same before these offsets."""
    size, step = 0, _STEP
    while step and size < most:
        step = min(step, most - size)
        here, beyond = end - size, stop - size
        if one[here - step : here] == other[beyond - step : beyond]:
            size, step = size + step, step * 2
        else:
            step //= 2
    return size


def _to_line_end(text: str, offset: int, *, is_at_end: bool) -> int:
    """Return the distance to the end of the line, including its line end."""
    if is_at_end:
        return 0
    at = text.find("\n", offset)
    return (len(text) if at < 0 else at + 1) - offset
