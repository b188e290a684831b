"""What an agent changed in one file during one turn, as hunks that can be kept and undone.

Pure. A file's ledger is a fold: the agent's edits make hunks, what others typed between them moves
hunks, and a decision changes how a hunk stands. Lines are flat (every end is LF); a last empty
line stands for the final line end, so that joining the lines gives the text back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from agent_ls.domain.edits import apply_replacements
from agent_ls.domain.review import HunkKind, HunkState
from agent_ls.edits.lines import BOM, flattened
from agent_ls.edits.merge import brings_back, changes_between, meet, shift_before
from agent_ls.edits.minimal import replacements_between
from agent_ls.edits.reach import Change

Lines = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Hunk:
    """One change of the agent's: ``old`` lines became ``new`` ones."""

    id: str
    """Another one as soon as the agent changes it again, so that a decision is about what was seen.
    """
    kind: HunkKind
    first: int
    """0-based, of the first line in the ledger's text."""
    old: Lines
    new: Lines
    state: HunkState = "open"
    is_mixed: bool = False
    """Somebody else changed its lines before the agent's last edit of the file."""

    @property
    def held(self) -> Lines:
        """Return the lines that the ledger's text has for it."""
        return self.old if self.state == "undone" else self.new

    @property
    def past(self) -> int:
        """Return the line behind it in the ledger's text."""
        return self.first + len(self.held)

    @property
    def size(self) -> tuple[int, int]:
        """Return how many lines it added and removed; a last empty one stands for a line end."""
        if self.kind == "moved":
            return 0, 0
        if self.kind == "text":
            return len(self.new), len(self.old)
        sides = ("\n".join(lines).removesuffix("\n") for lines in (self.new, self.old))
        added, removed = (len(text.split("\n")) if text else 0 for text in sides)
        return added, removed

    @property
    def title(self) -> str:
        """Return the first line that says something, for a list; of a move the name before."""
        lines = self.old if self.kind == "moved" else (*self.new, *self.old)
        return next((one for one in lines if one.strip()), "").strip()

    def meets(self, change: Change, after: Sequence[str]) -> bool:
        """Say whether a change, whose other side is ``after``, is about the same lines."""
        own = Change(self.first, self.past, 0, 0)
        return meet(own, change, beside=True) or brings_back(change, after, own, self.old)


@dataclass(frozen=True, slots=True)
class FileLedger:
    """One file in one turn."""

    path: str
    """Where the agent left it."""
    base: str | None
    """The text before the turn's first touch; None: there was no file."""
    text: str | None
    """As the agent left it, undone hunks undone; None: it is gone."""
    hunks: tuple[Hunk, ...] = ()
    """In the order of the text; what happened to the whole file comes first."""
    moved_from: str | None = None
    """Where it was before the turn; None: at ``path``."""
    before_blob: str | None = None
    """The exact bytes before the first touch."""
    lost: str | None = None
    """The exact text that undoing a deletion, or redoing a creation, brings back."""

    @property
    def parts(self) -> tuple[Hunk, ...]:
        """Return the hunks that are some lines of the text."""
        return tuple(one for one in self.hunks if one.kind == "text")

    def open(self, ids: Iterable[str] | None = None) -> tuple[Hunk, ...]:
        """Return the hunks nobody has decided about, those of these ids when given."""
        return self.those("open", ids)

    def those(self, state: HunkState, ids: Iterable[str] | None = None) -> tuple[Hunk, ...]:
        """Return the hunks that stand so, those of these ids when given."""
        wanted = None if ids is None else set(ids)
        return tuple(
            one for one in self.hunks if one.state == state and (wanted is None or one.id in wanted)
        )

    def edited(self, before: str | None, after: str | None, at: str) -> FileLedger:
        """Return the ledger after an edit of the agent's; ``at`` names the edit."""
        known = self.drifted(before, at)
        if after is None:
            return known.removed(at)
        if known.text is None:
            if known.base is None:
                lines = lines_of(after)
                return replace(known, text=after, hunks=(Hunk(at, "created", 0, (), lines),))
            # Deleted and written anew: all in all it was changed.
            fresh = replace(known, text=flat(known.base), hunks=_moves(known.hunks))
            return fresh.edited(flat(known.base), after, at)
        if any(one.kind == "created" and one.state == "kept" for one in known.hunks):
            fresh = replace(known, base=known.text, hunks=())
            return fresh.edited(known.text, after, at)
        if any(one.kind == "created" for one in known.hunks):
            hunks = tuple(
                replace(one, id=at, new=lines_of(after), state="open")
                if one.kind == "created"
                else one
                for one in known.hunks
            )
            return replace(known, text=after, hunks=hunks)
        return _stepped(known, after, at, is_agent=True)

    def drifted(self, now: str | None, at: str) -> FileLedger:
        """Return the ledger after somebody else changed the file to ``now``."""
        if now is None or self.text is None:
            return self if now == self.text else replace(self, text=now, hunks=_moves(self.hunks))
        if flat(now) == flat(self.text):
            return replace(self, text=now)
        if any(one.kind == "created" for one in self.hunks):
            hunks = tuple(
                replace(one, new=lines_of(now), is_mixed=True) if one.kind == "created" else one
                for one in self.hunks
            )
            return replace(self, text=now, hunks=hunks)
        return _stepped(self, now, at, is_agent=False)

    def removed(self, at: str) -> FileLedger:
        """Return the ledger after the agent deleted the file."""
        if self.base is None:
            return replace(self, text=None, hunks=())
        # What others typed in between comes back with the file; only the agent's part does not.
        clean = [one.id for one in self.parts if one.state != "undone" and not one.is_mixed]
        lost = _with_lines(self.text or "", self.decided(clean, "undone").text or "")
        if flat(lost) == flat(self.base):
            lost = self.base
        hunk = Hunk(at, "deleted", 0, lines_of(lost), ())
        return replace(self, text=None, hunks=(*_moves(self.hunks), hunk), lost=lost)

    def moved(self, path: str, at: str) -> FileLedger:
        """Return the ledger after the agent moved the file."""
        origin = self.moved_from or self.path
        others = tuple(one for one in self.hunks if one.kind != "moved")
        if self.base is None or origin == path:
            return replace(self, path=path, moved_from=None, hunks=others)
        move = Hunk(at, "moved", 0, (origin,), (path,))
        return replace(self, path=path, moved_from=origin, hunks=(move, *others))

    def decided(self, ids: Iterable[str], state: HunkState) -> FileLedger:
        """Return the ledger with these hunks in this state, and the text that follows from it."""
        wanted = set(ids)
        ledger = self
        for one in self.hunks:
            if one.id in wanted and one.kind != "text":
                ledger = ledger.whole_decided(one, state)
        if ledger.text is None or not any(one.id in wanted for one in ledger.parts):
            return ledger
        lines = list(lines_of(ledger.text))
        shift, hunks = 0, list[Hunk]()
        for one in ledger.hunks:
            if one.kind != "text":
                hunks.append(one)
                continue
            after = replace(one, state=state) if one.id in wanted else one
            after = replace(after, first=one.first + shift)
            lines[after.first : after.first + len(one.held)] = after.held
            shift += len(after.held) - len(one.held)
            hunks.append(after)
        return replace(ledger, text="\n".join(lines), hunks=tuple(hunks))

    def whole_decided(self, hunk: Hunk, state: HunkState) -> FileLedger:
        """Return the ledger with a change of the whole file in this state."""
        hunks = tuple(replace(one, state=state) if one is hunk else one for one in self.hunks)
        after = replace(self, hunks=hunks)
        is_undone = state == "undone"
        match hunk.kind:
            case "created":
                if is_undone:
                    return replace(after, text=None, lost=self.text)
                return replace(after, text=self.lost if self.text is None else self.text)
            case "deleted":
                return replace(after, text=self.lost if is_undone else None)
            case "moved":
                return replace(after, path=hunk.old[0] if is_undone else hunk.new[0])
            case "text" | "opaque":
                return after
            case _:
                assert_never(hunk.kind)


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


def placed(ledger: FileLedger, now: str) -> list[HunkPlace]:
    """Return where the ledger's hunks stand in ``now``.

    Shape: those left out whose lines are as they were before the agent: somebody undid them by
    other means, and they come back when that is taken back.
    """
    if ledger.text is None:
        return []
    goal = lines_of(now)
    changes = changes_between(list(lines_of(ledger.text)), list(goal))
    lines = lines_of(ledger.text)
    found: list[HunkPlace] = []
    for one in ledger.hunks:
        if one.kind != "text":
            if one.kind == "created":
                is_changed = bool(changes) or one.is_mixed
                found.append(HunkPlace(one, 0, len(goal), is_changed))
            elif one.kind == "moved":
                found.append(HunkPlace(one, 0, 0, False))
            continue
        touched = [change for change in changes if one.meets(change, goal)]
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
            found.append(HunkPlace(one, first, past, True))
    return found


def lines_of(text: str) -> Lines:
    """Return the flat lines; a final line end makes a last empty one."""
    return tuple(flat(text).split("\n"))


def _with_lines(text: str, goal: str) -> str:
    """Return a text with the lines of another one; what is equal keeps its bytes."""
    return apply_replacements(text, replacements_between(text, goal))


def flat(text: str) -> str:
    """Return the text without byte order mark, every line end written as LF."""
    return flattened(text.removeprefix(BOM))


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


def _stepped(ledger: FileLedger, after: str, at: str, *, is_agent: bool) -> FileLedger:
    """Return the ledger with the text ``after``, its hunks moved, joined and made."""
    assert ledger.text is not None
    lines, goal = lines_of(ledger.text), lines_of(after)
    changes = changes_between(list(lines), list(goal))
    groups, apart = _grouped(ledger.parts, changes, goal, is_agent=is_agent)
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
            is_mixed=not is_agent or any(one.is_mixed for one in group.hunks),
        )
        is_settled = not is_agent and all(one.state != "open" for one in group.hunks)
        if hunk.old != hunk.new and not is_settled:
            hunks.append(_trimmed(hunk))
    whole = [one for one in ledger.hunks if one.kind != "text"]
    ordered = sorted(hunks, key=lambda one: (one.first, one.past))
    return replace(ledger, text=after, hunks=(*whole, *ordered))


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
        met = tuple(one for one in changes if hunk.meets(one, goal))
        if is_agent and hunk.state != "open":
            if not met:
                apart.append(hunk)
            continue
        if is_agent:
            met = tuple(one for one in changes if one.low <= hunk.past and hunk.first <= one.high)
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


def _moves(hunks: Sequence[Hunk]) -> tuple[Hunk, ...]:
    return tuple(one for one in hunks if one.kind == "moved")
