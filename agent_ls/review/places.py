"""Where the agent's changes stand in a newer text of their file. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from agent_ls.edits.merge import changes_between, shift_before
from agent_ls.review.edit_steps import is_only_reformatted
from agent_ls.review.file_changes import FileLedger
from agent_ls.review.hunks import Hunk, Lines, lines_of


@dataclass(frozen=True, slots=True)
class HunkPlace:
    """Where a hunk stands in a newer text."""

    hunk: Hunk
    first: int
    """0-based, its first line there."""
    past: int
    """The line behind it; equal to ``first`` where it has none."""
    is_changed: bool
    """Somebody changed its lines since: an undo would find a conflict."""
    continues: bool = False
    """Only a blank line parts it from the one before, in the same state: a list joins the two."""


def placed(ledger: FileLedger, now: str) -> list[HunkPlace]:
    """Return where the ledger's hunks stand in ``now``.

    Shape: those left out whose lines are as they were before the agent: somebody undid them by
    other means, and they come back when that is taken back.
    """
    if ledger.images is not None:
        return [HunkPlace(one, 0, 0, False) for one in ledger.hunks]
    if ledger.text is None:
        return []
    goal = lines_of(now)
    changes = changes_between(list(lines_of(ledger.text)), list(goal))
    lines = lines_of(ledger.text)
    found: list[HunkPlace] = []
    for one in ledger.hunks:
        if one.kind != "text":
            if one.kind == "created":
                is_changed = not is_only_reformatted(changes, lines, goal) or one.is_mixed
                found.append(HunkPlace(one, 0, len(goal), is_changed))
            elif one.kind == "moved":
                found.append(HunkPlace(one, 0, 0, False))
            continue
        touched = one.met(changes, goal)
        if not touched:
            shift = shift_before(changes, one.first, one.past)
            found.append(HunkPlace(one, one.first + shift, one.past + shift, one.is_mixed))
            continue
        low = min(one.first, touched[0].low)
        high = max(one.past, touched[-1].high)
        first = touched[0].first - (touched[0].low - low)
        past = touched[-1].past + (high - touched[-1].high)
        whole = (*lines[low : one.first], *one.old, *lines[one.past : high])
        if goal[first:past] != whole or one.state == "undone":
            is_changed = one.is_mixed or not is_only_reformatted(touched, lines, goal)
            found.append(HunkPlace(one, first, past, is_changed or one.state == "undone"))
    return [
        replace(one, continues=index > 0 and _is_close(found[index - 1], one, goal))
        for index, one in enumerate(found)
    ]


def _is_close(before: HunkPlace, place: HunkPlace, lines: Lines) -> bool:
    """Say whether one blank line, which nobody changed, parts two places."""
    hunks = before.hunk, place.hunk
    if any(one.kind != "text" for one in hunks) or hunks[0].state != hunks[1].state:
        return False
    return place.first == before.past + 1 and not lines[before.past].strip()
