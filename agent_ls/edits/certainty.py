"""Whether what is left of a hunk's context is enough to be certain of its place.

Owns the evidence and how much of it each kind of difference needs. Likeness is no evidence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agent_ls.edits.drifted import Drift, Fate

_LITTLE, _ENOUGH, _FAIR, _MUCH = (1, 2), (2, 3), (3, 4), (4, 5)
"""So much of the lines that stay, and of all old lines, has to be there, in lines that say
something."""
_NEEDED: dict[Fate, tuple[int, int]] = {
    "grown": _LITTLE,
    "reworded": _ENOUGH,
    "rewritten": _MUCH,
    "gone": _ENOUGH,
}
"""How much for what became of a line that differs; none is enough where another is there."""
_SLIGHT: frozenset[Fate] = frozenset({"grown", "reworded", "gone"})
_MIN_ALONE = 2
"""So many lines that stay and stand nowhere else say which place is meant: a copy would have them
too. A diff shows as many lines as it always does, so one of several is enough there."""
LEAD = 2
"""By so many lines more another place has to differ to be one that does not come near."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks for a place of old lines that are not all there."""

    lines: frozenset[int]
    """Numbers of the old lines that are there."""
    context: float
    """How much of the lines that stay is there."""
    total: float
    alone: tuple[int, ...]
    """Numbers of lines that stay, say something, and stand nowhere else in the file, in order."""
    replaced: int
    """How many lines that the edit removes say something and stand nowhere else in the file."""
    is_diff: bool
    is_told: bool
    """The line number says the same."""
    is_bent: bool
    """Lines that say something are indented otherwise."""
    has_new: bool
    """The file has lines between two that are neighbours."""
    is_cut: bool
    """Outermost lines that say nothing are missing."""
    is_at_start: bool
    is_at_end: bool
    """The last old line is the last of the file, which counts like one more."""

    @property
    def is_sure(self) -> bool:
        """Tell whether no other place can be meant unless it was changed in as many lines."""
        around = self.context + self.is_at_end
        is_one_enough = self.is_diff and (around >= _ENOUGH[0] or self.total >= _ENOUGH[1])
        return len(self.alone) >= (1 if is_one_enough else _MIN_ALONE)

    @property
    def is_much(self) -> bool:
        """Tell whether it is so much that even a name may be another."""
        return len(self.alone) > _MIN_ALONE

    @property
    def _has_several(self) -> bool:
        """Tell whether several lines stand nowhere else; beside context, also what is removed."""
        is_beside = self.context + self.is_at_end >= _ENOUGH[0]
        return len(self.alone) + self.replaced * is_beside >= _MIN_ALONE

    @property
    def lead(self) -> int:
        """Return by how many lines another place has to be behind."""
        if self.is_told:
            return 0
        is_only = self.is_sure or (self.alone and self.total >= _ENOUGH[1])
        return LEAD - 1 if is_only else LEAD

    def bears(self, drifts: Mapping[int, Drift]) -> bool:
        """Tell whether that is enough for what became of the lines that differ."""
        fates = {one.fate for one in drifts.values()}
        outside = {number: one for number, one in drifts.items() if self._is_outside(number)}
        is_renamed = any(one.is_renamed for one in outside.values())
        if not all(self._is_same_block(number, one) for number, one in drifts.items()):
            return False
        # In another indentation, with a line that differs, it is a copy in another block.
        if self.is_bent or (is_renamed and not self.is_much):
            return False
        if self.is_told:
            return self.context >= 1
        if "renumbered" in fates:
            # Copies of one another mostly differ in their numbers.
            return False
        if not self.is_diff and (outside or self.has_new or self.is_cut or "gone" in fates):
            return self._bears_in_quote(drifts, outside)
        is_edge = self.is_cut or any(one.fate != "grown" for one in outside.values())
        if is_edge and not self._has_several and self.total + self.is_at_end < _MUCH[0]:
            return False
        needed = [self._needed(number, one) for number, one in drifts.items()]
        if self.is_cut:
            is_held = self.alone and self.total >= self.context + _LITTLE[0]
            is_several = len(self.alone) >= _MIN_ALONE
            needed.append(_LITTLE if is_held or self.is_much else _FAIR if is_several else _MUCH)
        return all(
            least is not None
            and self.context >= least[0]
            and self.total + self.is_at_end >= least[1]
            for least in needed or [_LITTLE if self.is_sure else _ENOUGH]
        )

    def _is_same_block(self, number: int, drift: Drift) -> bool:
        """Tell whether a line at which a block begins does not tell of another block.

        It does not where it stands among lines that stand nowhere else, nor where the block holds
        no change or has the same name: then a copy of it would have its likes.
        """
        if not drift.head:
            return True
        if drift.fate not in _SLIGHT:
            return False
        if drift.head != "another" and self.is_much and self._is_framed(number):
            return True
        if drift.head in ("nameless", "another") or drift.fate == "gone" or drift.has_likes:
            return False
        return (
            self.is_much
            or self.is_told
            or (drift.head == "beside" and self.is_diff and self.is_sure)
        )

    def _is_framed(self, number: int) -> bool:
        """Tell whether a line is between two that stand nowhere else; the file's ends are such."""
        above = self.is_at_start or self.alone[:1] < (number,)
        return above and (self.is_at_end or (number,) < self.alone[-1:])

    def _bears_in_quote(self, drifts: Mapping[int, Drift], outside: Mapping[int, Drift]) -> bool:
        """Tell whether it is enough where a quote may differ in all that told it from its copies.

        It is as long as it takes to be the only one: its first or last line may be there for that
        alone, and so may two lines between which something stands now.
        """
        fates = {one.fate for one in drifts.values()}
        if not self.is_sure or not fates <= _SLIGHT:
            return False
        has_core = self.total > self.context
        if self.is_cut and not has_core:
            return False
        is_whole = not drifts and not self.is_cut
        is_enough = has_core and self.total > (_ENOUGH[1] if is_whole else _MUCH[1])
        if not self.is_much and ("gone" in fates or (self.has_new and not is_enough)):
            return False
        return all(
            one.fate == "grown"
            or not (
                one.has_likes
                or (number < min(self.lines) and (one.is_renamed or not self._is_more))
            )
            for number, one in outside.items()
        )

    @property
    def _is_more(self) -> bool:
        return self.is_much or self.total >= _MUCH[0]

    def _needed(self, number: int, drift: Drift) -> tuple[int, int] | None:
        is_sure = self.is_sure and not (self.is_cut and len(self.alone) < _MIN_ALONE)
        # Whatever became of a line between two that stand nowhere else, it is that line.
        is_framed = (self.is_diff or self.is_much) and self._is_framed(number)
        is_same = drift.fate in _SLIGHT or (drift.fate == "rewritten" and is_framed)
        if drift.fate == "rewritten" and self.is_much and not is_same:
            return _FAIR
        return _LITTLE if is_sure and is_same else _NEEDED.get(drift.fate)

    def _is_outside(self, number: int) -> bool:
        return not min(self.lines) < number < max(self.lines)
