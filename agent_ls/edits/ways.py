"""How the indentation of a hunk's new lines may be read.

Comes after ``frames`` has told whether the new lines speak of their own old lines or of the
file's, and before ``weave`` takes the way that looks least odd. Owns what the old lines and the
file's lines at the place say about it; never carries it out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from agent_ls.edits.indents import Indent, indent_of, kept, learned, width
from agent_ls.edits.keys import stripped
from agent_ls.edits.locate import Ground
from agent_ls.edits.requests import Hunk, Refused
from agent_ls.edits.restyling import styled


@dataclass(frozen=True, slots=True)
class Way:
    """One way to read the indentation of new lines."""

    rest: Indent
    first: Indent | None = None
    """For the first line of the new text, where it differs."""


def ways(
    ground: Ground, hunk: Hunk, pairs: list[tuple[str, str]], bodies: list[list[str]], first: int
) -> Iterator[Way]:
    """Yield the readings that the lines allow; where one is certain, it alone.

    ``first`` is the file's line, from 0, from which on they go.
    """
    leads = [(indent_of(one), indent_of(other)) for one, other in pairs]
    news = [line for body in bodies for line in body]
    if all(ours == theirs for ours, theirs in leads):
        # A diff shows what its author wants by lines that are as the file's.
        is_silent = not hunk.is_diff or all(not ours for ours, _ in leads)
        into = styled(ground, hunk.old, hunk.new, ground.file.starts[first]) if is_silent else None
        if not isinstance(into, Refused):
            yield Way(into or kept)
        return
    if hunk.is_diff and all(
        ours in (theirs, " " + theirs) or " " + ours == theirs for ours, theirs in leads
    ):
        yield Way(_unprefixed(ground, hunk, dict(pairs), news))
        return
    o0, f0 = leads[0]
    rest = leads[1:]
    n0 = next((indent_of(line) for line in hunk.new if stripped(line)), "")
    is_lost = not o0 and bool(f0)
    if is_lost and rest and all(ours == theirs for ours, theirs in rest):
        # A first line of the new text that has blanks has not lost them.
        yield Way(kept, kept if n0 else _first(o0, f0))
        return
    if _is_halved(leads) and any(stripped(line) and not indent_of(line) for line in news):
        # A line at the margin stands there, or a level deeper: both may be meant.
        return
    into = learned(leads, [*hunk.old, *hunk.new], ground.style)
    if into is not None:
        yield Way(into)
    has_kept = any(line.sign == " " and stripped(line.text) for line in hunk.lines)
    if not has_kept and n0 == f0:
        yield Way(kept)
    if len(pairs) == 1 and is_lost and not _hangs_on_a_dash(hunk.new):
        # Only the first line may have lost its blanks, the others being as in the file.
        yield Way(kept, _first(o0, f0))


def _is_halved(leads: list[tuple[str, str]]) -> bool:
    """Tell whether all old lines are on one level, as far from the margin as smaller steps are."""
    ours, theirs = leads[0]
    size, there = width(ours), width(theirs)
    return len(set(leads)) == 1 and 0 < size < there and there % size == 0


def _hangs_on_a_dash(new: list[str]) -> bool:
    """Tell whether the second line goes on with an item of a list that the first one begins."""
    lines = [line for line in new if stripped(line)][:2]
    return len(lines) == 2 and lines[0].startswith("- ") and indent_of(lines[1]) == "  "


def _unprefixed(ground: Ground, hunk: Hunk, theirs: dict[str, str], news: list[str]) -> Indent:
    """Return how added lines are read in a diff whose signs have lost or doubled their blank.

    Context shows less by a blank where the sign was forgotten, which added lines have. Where the
    removed lines are off as well, or no added line could be right, all lines are: the signs stand
    in the place of the first blank.
    """
    removed = {line.text for line in hunk.lines if line.sign == "-"} & theirs.keys()
    shown = {line: theirs[line] for line in removed or theirs}
    is_more = all(indent_of(line) == " " + indent_of(there) for line, there in shown.items())
    if is_more and all(line.startswith(" ") for line in news if stripped(line)):
        return lambda indent: indent[1:]
    is_less = all(" " + indent_of(line) == indent_of(there) for line, there in shown.items())
    if is_less and (removed or _are_between_levels(ground, news)):
        return lambda indent: " " + indent
    return kept


def _are_between_levels(ground: Ground, news: list[str]) -> bool:
    """Tell whether lines are indented as none of the file is, and with one more blank all are."""
    levels = {indent_of(line) for line in ground.file.lines}
    unit = len(ground.style.unit) if ground.style.unit.strip("\t") else 0
    found = [indent_of(line) for line in news if stripped(line)]

    def is_level(lead: str) -> bool:
        return lead in levels or bool(unit and not len(lead) % unit)

    return not any(map(is_level, found)) and all(is_level(" " + lead) for lead in found)


def _first(ours: str, theirs: str) -> Indent:
    def shifted(indent: str) -> str | None:
        if theirs.endswith(ours):
            return theirs[: len(theirs) - len(ours)] + indent
        return theirs if indent == ours else None

    return shifted
