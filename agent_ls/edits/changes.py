"""What a hunk changes, run by run."""

from __future__ import annotations

from dataclasses import dataclass

from agent_ls.edits.requests import Hunk


@dataclass(frozen=True, slots=True)
class Change:
    """One run of removed and added lines, by numbers of old lines."""

    low: int
    high: int
    new: list[str]
    starts_new: bool
    """The first added line is the first line of the new text."""


def changes_of(hunk: Hunk) -> list[Change]:
    """Return the runs of the hunk that change something, in order."""
    found: list[Change] = []
    at = low = 0
    new: list[str] = []
    is_open = has_new = starts = False
    for line in hunk.lines:
        if line.sign == " ":
            if is_open:
                found.append(Change(low, at, new, starts))
            at, is_open, has_new = at + 1, False, True
            continue
        if not is_open:
            low, new, is_open, starts = at, [], True, not has_new
        if line.sign == "-":
            at += 1
        else:
            new.append(line.text)
    if is_open:
        found.append(Change(low, at, new, starts))
    return found
