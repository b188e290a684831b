"""Place an edit whose author read an older text: at the place the author meant, or nowhere.

The older text says which place is meant; the newest text says whether the edit fits there.

- Found in both, at the same place: use the result for the newest text.
- Found in both, at different places: refuse. Either somebody changed the intended place and
  another one still looks like it, or the author knows the newest text from elsewhere.
- Found in the older text only: rebase. This refuses if both changed the same lines.
- Found in the newest text only: use it. The author may know these lines from a search or a
  command's output. But refuse if the older text has several such places, since somebody may have
  removed the others. Refuse also if it has the edit already, since somebody may have undone it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from agent_ls.domain.edits import Replacement, apply_replacements
from agent_ls.edits.keys import folded
from agent_ls.edits.lines import FileLines, LineIndex, flattened
from agent_ls.edits.merge import Change, changes_between, readings_of, rebase, unchanged
from agent_ls.edits.requests import Placed, Refused

_READ_AGAIN = "Read the file again and give the edit for the text as it is now."
_UNSURE = {
    "ambiguous": "the old text stood in several places",
    "applied": "the edit was made already",
}
"""Refusals in the older text that make a place in the newest text doubtful."""


@dataclass(frozen=True, slots=True)
class AsRead:
    """The result of placing an edit in the newest text."""

    placed: Placed
    is_merged: bool = False
    """It fits only the older text, and was merged with changes that others made since."""


def place_as_read(
    read: str | None,
    now: str,
    place: Callable[[str], Placed],
    place_picked: Callable[[str], Placed] | None = None,
) -> AsRead:
    """Return what ``place`` finds in the newest text, if that is what its author meant.

    Shape: ``read`` is the text the author read; None if unknown. ``place_picked`` places only the
    parts that mean a single place; needed if ``place`` also has parts that replace all places.
    """
    found = place(now)
    if read is None or read == now:
        return AsRead(found)
    if isinstance(found, Refused):
        older = place(read)
        if isinstance(older, Refused):
            return AsRead(found)
        rebased = rebase(read, older, now)
        if isinstance(rebased, Refused):
            return AsRead(found if found.why == "ambiguous" else rebased)
        # The merge takes a re-indented line for a different line, so it may pick a copy of it.
        is_sure = _is_one_place(read, older, now, apply_replacements(now, rebased))
        return AsRead(rebased if is_sure else found, is_merged=is_sure)
    # Placing takes a while in a long text, so it is not done twice.
    older, newer = (
        (place(read), found) if place_picked is None else (place_picked(read), place_picked(now))
    )
    if isinstance(newer, Refused):
        return AsRead(newer)
    refused = _contradiction(read, older, now, newer)
    return AsRead(refused or found)


def _contradiction(
    read: str, older: Placed, now: str, newer: Sequence[Replacement]
) -> Refused | None:
    """Return why the place in the newest text may not be the one the author meant."""
    if not newer:
        return None
    if isinstance(older, Refused):
        was = _UNSURE.get(older.why)
        if was is None:
            return None
        line = LineIndex(now).line_of(newer[0].start)
        reason = (
            f"The file changed since you read it. In the text that you read {was}; in the newest "
            f"one it fits at line {line}, which may be another place. {_READ_AGAIN}"
        )
        return Refused(reason, older.why)
    if _is_one_place(read, older, now, apply_replacements(now, tuple(newer))):
        return None
    rebased = rebase(read, older, now)
    line = LineIndex(now).line_of(newer[0].start)
    if isinstance(rebased, Refused):
        also = f" (Line {line} fits the old text, but is another place.)"
        return replace(rebased, reason=rebased.reason + also)
    reason = (
        f"The file changed since you read it, and line {line}, which fits the old text now, may be "
        f"another place than the one in the text that you read. {_READ_AGAIN}"
    )
    return Refused(reason, "ambiguous")


def _is_one_place(read: str, older: Sequence[Replacement], now: str, after: str) -> bool:
    """Tell whether an edit of the older text and an edit of the newest change the same lines.

    Changes of only indentation, blanks or quotes do not count. If the change between the two texts
    can be read in two ways, both readings have to agree.
    """
    was, will = _lines(read), _lines(apply_replacements(read, tuple(older)))
    new = _lines(now)
    meant = changes_between(was, will)
    made = changes_between(new, _lines(after))
    for since in readings_of(was, new, folded):
        there = unchanged(since, len(was))
        met = [(one, other) for one in meant for other in made if _meet(one, other, there)]
        if {one for one, _ in met} != set(meant) or {other for _, other in met} != set(made):
            return False
    return True


def _meet(older: Change, newer: Change, now: Mapping[int, int]) -> bool:
    """Tell whether two changes replace, or stand beside, a line that both texts have.

    Shape: ``now`` maps lines of the older text to lines of the newest.
    """
    if older.low < older.high:
        low, high = newer.low, max(newer.high, newer.low + 1)
        return any(low <= now.get(line, -1) < high for line in range(older.low, older.high))
    gaps = [now[older.low - 1] + 1] if older.low - 1 in now else []
    gaps += [now[older.low]] if older.low in now else []
    return any(newer.low <= gap <= newer.high for gap in gaps)


def _lines(text: str) -> list[str]:
    return FileLines(flattened(text)).lines
