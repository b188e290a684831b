"""How an edit, of the agent or of somebody else, changes the agent's hunks in a file. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent_ls.edits.merge import Change, changes_between, shift_before
from agent_ls.edits.reformatted import is_reformatted
from agent_ls.review.hunks import Hunk, Lines, lines_of


@dataclass(frozen=True, slots=True)
class _Group:
    """Changes and the hunks they are about."""

    changes: tuple[Change, ...]
    hunks: tuple[Hunk, ...]

    @property
    def low(self) -> int:
        return min((*(one.low for one in self.changes), *(one.first for one in self.hunks)))

    @property
    def high(self) -> int:
        return max((*(one.high for one in self.changes), *(one.past for one in self.hunks)))


def stepped(
    parts: Sequence[Hunk], text: str, after: str, at: str, *, is_agent: bool
) -> tuple[Hunk, ...]:
    """Return the hunks of ``text`` as hunks of ``after``: moved, joined, and new ones.

    Shape: in line order. ``at`` names the edit; ids of new hunks begin with it.
    """
    lines, goal = lines_of(text), lines_of(after)
    changes = changes_between(list(lines), list(goal))
    groups, apart = _grouped(parts, changes, goal, is_agent=is_agent)
    hunks = [
        replace(one, first=one.first + shift_before(changes, one.first, one.past)) for one in apart
    ]
    for number, group in enumerate(groups):
        outside = [one for one in changes if one not in group.changes]
        first = group.low + shift_before(outside, group.low, group.high)
        grown = sum((one.past - one.first) - (one.high - one.low) for one in group.changes)
        hunk = Hunk(
            id=f"{at}.{number}" if is_agent else group.hunks[0].id,
            kind="text",
            first=first,
            old=_old(group, lines),
            new=goal[first : first + group.high - group.low + grown],
            is_mixed=any(one.is_mixed for one in group.hunks)
            or not (is_agent or is_only_reformatted(group.changes, lines, goal)),
        )
        is_settled = not is_agent and all(one.state != "open" for one in group.hunks)
        if hunk.old != hunk.new and not is_settled:
            hunks.append(_trimmed(hunk))
    return tuple(sorted(hunks, key=lambda one: (one.first, one.past)))


def is_only_reformatted(changes: Sequence[Change], lines: Lines, goal: Lines) -> bool:
    """Say whether all of these changes of ``lines`` to ``goal`` are only formatting."""
    return all(
        is_reformatted(lines[one.low : one.high], goal[one.first : one.past]) for one in changes
    )


def _grouped(
    hunks: Sequence[Hunk], changes: Sequence[Change], goal: Lines, *, is_agent: bool
) -> tuple[list[_Group], list[Hunk]]:
    """Return what belongs together, and the hunks that no change is about.

    An edit of the agent's joins the open hunks beside it; one that was decided about, and is
    changed again, is history.
    """
    groups: list[_Group] = []
    apart: list[Hunk] = []
    for hunk in hunks:
        met = tuple(hunk.met(changes, goal))
        if is_agent and hunk.state != "open":
            if not met:
                apart.append(hunk)
            continue
        if is_agent:
            met = tuple(hunk.touched(changes))
        if not met:
            apart.append(hunk)
            continue
        group = _Group(met, (hunk,))
        while groups and set(groups[-1].changes) & set(group.changes):
            last = groups.pop()
            both = (*last.changes, *(one for one in group.changes if one not in last.changes))
            group = _Group(both, (*last.hunks, *group.hunks))
        groups.append(group)
    if is_agent:
        taken = {one for group in groups for one in group.changes}
        groups += [_Group((one,), ()) for one in changes if one not in taken]
    return groups, apart


def _trimmed(hunk: Hunk) -> Hunk:
    """Return a hunk without lines at its ends that are as they were."""
    start, most = 0, min(len(hunk.old), len(hunk.new))
    while start < most and hunk.old[start] == hunk.new[start]:
        start += 1
    end = 0
    while end < most - start and hunk.old[-1 - end] == hunk.new[-1 - end]:
        end += 1
    return replace(
        hunk,
        first=hunk.first + start,
        old=hunk.old[start : len(hunk.old) - end],
        new=hunk.new[start : len(hunk.new) - end],
    )


def _old(group: _Group, lines: Lines) -> Lines:
    """Return what a group's lines were before the agent's hunks in it."""
    found: list[str] = []
    at = group.low
    for one in group.hunks:
        found += (*lines[at : one.first], *one.old)
        at = max(at, one.past)
    return (*found, *lines[at : group.high])
