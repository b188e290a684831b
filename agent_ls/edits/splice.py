"""Carry out a hunk at its place: which file lines to replace, and by which lines.

Gives new lines the file's indentation and characters; the place is already decided.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent_ls.edits.characters import in_the_files_characters
from agent_ls.edits.indentation_maps import Way, ways
from agent_ls.edits.indents import indent_of, is_flat, roughness
from agent_ls.edits.keys import stripped, trimmed
from agent_ls.edits.locate import IndexedText, Place
from agent_ls.edits.requests import Change, Hunk, Refused, changes_of


@dataclass(frozen=True, slots=True)
class Block:
    """Replace the file lines ``first:past`` by ``new``."""

    first: int
    past: int
    new: list[str]


def woven(indexed: IndexedText, hunk: Hunk, place: Place) -> list[Block] | Refused:
    """Return the blocks that carry out the hunk, in order; refused if it is not certain how."""
    old = hunk.old
    changes = changes_of(hunk)
    ranges = _ranges(indexed, old, place, changes)
    if isinstance(ranges, Refused):
        return ranges
    pairs = [
        (line, indexed.file.lines[number])
        for line, number in zip(old, place.at, strict=True)
        if number is not None and stripped(line)
    ]
    if any(
        number is not None and line != trimmed(line) and trimmed(line) == indexed.file.lines[number]
        for line, number in zip(old, place.at, strict=True)
    ):
        # The model added trailing blanks to old lines, so remove them from new lines too.
        changes = [replace(one, new=[trimmed(line) for line in one.new]) for one in changes]
    bodies = in_the_files_characters(indexed, old, place, changes, pairs)
    if isinstance(bodies, Refused):
        return bodies
    results = _results(indexed, hunk, pairs, changes, bodies, ranges)
    if not results:
        return _unclear(place)
    if is_flat(hunk.new) and any(indent_of(one) != indent_of(other) for one, other in pairs):
        return _unclear(place)
    if len(results) == 1:
        return results[0]
    scored = sorted((_roughness(indexed, place, blocks), at) for at, blocks in enumerate(results))
    if scored[0][0] == scored[1][0]:
        return _unclear(place)
    return results[scored[0][1]]


def _ranges(
    indexed: IndexedText, old: list[str], place: Place, changes: list[Change]
) -> list[tuple[int, int]] | Refused:
    ranges: list[tuple[int, int]] = []
    for change in changes:
        span = _range(indexed, old, place, change)
        if isinstance(span, Refused):
            return span
        ranges.append(span)
    return ranges


def _results(
    indexed: IndexedText,
    hunk: Hunk,
    pairs: list[tuple[str, str]],
    changes: list[Change],
    bodies: list[list[str]],
    ranges: list[tuple[int, int]],
) -> list[list[Block]]:
    """Return the distinct results of all readings of the indentation."""
    results: list[list[Block]] = []
    added = [line for body in bodies for line in body]
    for way in ways(indexed, hunk, pairs, added, ranges[0][0]):
        news = [_indented(way, change, body) for change, body in zip(changes, bodies, strict=True)]
        if all(new is not None for new in news):
            blocks = [
                Block(*span, new) for span, new in zip(ranges, news, strict=True) if new is not None
            ]
            if blocks not in results:
                results.append(blocks)
    return results


def _unclear(place: Place) -> Refused:
    return Refused(
        f"The place is found at line {place.first + 1}, but the indentation of the old text "
        "differs from the file's in a way that leaves open how the new text is to be indented. "
        "Give complete lines with the file's own indentation.",
        "indentation",
    )


def _range(
    indexed: IndexedText, old: list[str], place: Place, change: Change
) -> tuple[int, int] | Refused:
    """Return the file lines that a change replaces; both bounds are equal for an insertion."""
    numbers = [place.at[number] for number in range(change.low, change.high)]
    for number, there in zip(range(change.low, change.high), numbers, strict=True):
        if there is None and stripped(old[number]):
            return _changed(place, old[number])
    there = [number for number in numbers if number is not None]
    if there:
        inside = range(there[0], there[-1] + 1)
        alien = [line for line in inside if line not in there and line not in indexed.blanks]
        if alien:
            return _changed(place, indexed.file.lines[alien[0]])
        return inside.start, inside.stop
    return _gap(indexed, old, place, change)


def _gap(
    indexed: IndexedText, old: list[str], place: Place, change: Change
) -> tuple[int, int] | Refused:
    """Return where an insertion goes, as two equal bounds."""
    before = next((one for one in reversed(place.at[: change.low]) if one is not None), None)
    after = next((one for one in place.at[change.high :] if one is not None), None)
    if before is None and after is None:
        return _changed(place, "")
    if before is None or after is None:
        at = after if before is None and after is not None else (before or 0) + 1
        return at, at
    alien = [line for line in range(before + 1, after) if line not in indexed.blanks]
    above = _is_solid_side(old[: change.low][::-1], place.at[: change.low][::-1])
    below = _is_solid_side(old[change.high :], place.at[change.high :])
    if alien and above == below:
        return _changed(place, indexed.file.lines[alien[0]])
    at = before + 1 if above or not below else after
    new = change.new
    if new and not alien and stripped(new[0]) and not stripped(new[-1]):
        # The new lines end with a blank line, so they go below the file's blank lines.
        at = after
    return at, at


def _is_solid_side(old: Sequence[str], at: Sequence[int | None]) -> bool:
    """Tell whether the nearest non-blank line on one side is in the file."""
    for line, there in zip(old, at, strict=True):
        if stripped(line):
            return there is not None
    return False


def _changed(place: Place, line: str) -> Refused:
    return Refused(
        f"Near line {place.first + 1} the file differs from the old text in a line that the edit "
        f"replaces or stands next to: {line.strip()[:160]!r}. Someone changed it. Read the file "
        "again and give the edit for the text as it is now.",
        "conflict",
    )


def _indented(way: Way, change: Change, body: list[str]) -> list[str] | None:
    lines: list[str] = []
    for number, line in enumerate(body):
        lead = indent_of(line)
        if not stripped(line):
            # Blanks on a blank line are shortened like other indentation, but never added.
            lines.append(min(way.rest(line) or "", line, key=len))
            continue
        into = way.first if number == 0 and change.starts_new and way.first else way.rest
        mapped = into(lead)
        if mapped is None:
            return None
        lines.append(mapped + line[len(lead) :])
    return lines


def _roughness(indexed: IndexedText, place: Place, blocks: list[Block]) -> int:
    """Score how implausible the indentation around the place would be."""
    lines = indexed.file.lines
    start = place.first - 1
    while start > 0 and start in indexed.blanks:
        start -= 1
    stop = place.past
    while stop < len(lines) - 1 and stop in indexed.blanks:
        stop += 1
    shown: list[str] = []
    at = max(0, start)
    for block in blocks:
        shown += [*lines[at : block.first], *block.new]
        at = block.past
    return roughness([*shown, *lines[at : stop + 1]], indexed.style)
