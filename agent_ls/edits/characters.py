"""Write new lines with the file's quotes, dashes and accents where the old text has variants."""

from __future__ import annotations

from rapidfuzz import fuzz, process

from agent_ls.edits.indents import indent_of
from agent_ls.edits.keys import MAX_CARRIED, carried, conversions, converted, stripped
from agent_ls.edits.locate import IndexedText, Place
from agent_ls.edits.requests import Change, Refused

_MIN_ALIKE = 50.0


def in_the_files_characters(
    indexed: IndexedText,
    old: list[str],
    place: Place,
    changes: list[Change],
    pairs: list[tuple[str, str]],
) -> list[list[str]] | Refused:
    """Return the added lines of each change, converted to the file's characters."""
    if all(stripped(one) == stripped(other) for one, other in pairs):
        return [change.new for change in changes]
    news = [line for change in changes for line in change.new]
    if max(len(line) for line in (*news, *(one for one, _ in pairs))) > MAX_CARRIED:
        return Refused(
            "The old text is in the file only with other characters that mean the same, in lines "
            "too long to tell where. Copy the file's characters exactly.",
            "not-found",
        )
    table = conversions([(stripped(one), stripped(other)) for one, other in pairs])
    found: list[list[str]] = []
    for change in changes:
        there = {
            stripped(old[number]): stripped(indexed.file.lines[line])
            for number in range(change.low, change.high)
            if (line := place.at[number]) is not None
        }
        found.append([_carried(line, there, table) for line in change.new])
    return found


def _carried(line: str, there: dict[str, str], table: dict[str, str]) -> str:
    lead = indent_of(line)
    body = line[len(lead) :]
    best = process.extractOne(body, list(there), scorer=fuzz.ratio, score_cutoff=_MIN_ALIKE)
    if best is None:
        return lead + converted(body, table)
    return lead + carried(best[0], body, there[best[0]], table)
