"""Whether it was a newer turn that made a file already as an older one's decision would. Pure.

To take that decision for done were wrong: with the newer change's own undo it would be gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agent_ls.domain.review import HunkState
from agent_ls.edits.merge import Merged, changes_between, merge
from agent_ls.review.file_changes import FileLedger, holds_same
from agent_ls.review.hunks import Hunk, lines_of

_INLINE_CHARACTERS = 200_000
"""Larger texts are merged in a thread."""


@dataclass(frozen=True, slots=True)
class Newer:
    """What a newer turn changed in a file, at least a part of it being in effect."""

    turn_id: str
    file: FileLedger

    def reason(self, deed: str) -> str:
        """Return why an older turn's changes have to wait for it, by what it did."""
        if self.file.open():
            return f"a newer turn, {self.turn_id}, {deed}; undo that first"
        return (
            f"a newer turn, {self.turn_id}, {deed}, and you kept that; "
            "only a restore goes back before it"
        )


async def done_by(
    newer: Iterable[Newer], file: FileLedger, hunks: Sequence[Hunk], state: HunkState, now: str
) -> str | None:
    """Return why hunks cannot be brought to ``state`` yet: one of them is so in the text as it is
    ``now``, and a newer turn made it so.
    """
    newer = list(newer)
    if not newer:
        return None
    text = file.text or ""
    changes = changes_between(list(lines_of(text)), list(lines_of(now)))
    for hunk in hunks:
        if not hunk.touched(changes):
            continue
        goal = file.decided((hunk.id,), state).text or ""
        if not await _is_so(text, now, goal):
            continue
        for one in newer:
            before, after = one.file.base, one.file.text
            if before is None or after is None:
                continue
            if await _is_so(text, after, goal) and not await _is_so(text, before, goal):
                return one.reason(_deed(state))
    return None


def image_done_by(newer: Iterable[Newer], file: FileLedger, state: HunkState) -> str | None:
    """Return why a file that is no text cannot be brought to ``state`` yet, though it is so."""
    if file.images is None:
        return None
    goal = file.images[0 if state == "undone" else 1]
    for one in newer:
        if one.file.images is not None:
            before, after = one.file.images
            if holds_same(after, goal) and not holds_same(before, goal):
                return one.reason(_deed(state))
    return None


async def merged_texts(base: str, ours: str, theirs: str) -> Merged:
    """Return the three-way merge, off the event loop where it may take long."""
    if len(base) + len(ours) + len(theirs) <= _INLINE_CHARACTERS:
        return merge(base, ours, theirs, beside=True)
    return await asyncio.to_thread(merge, base, ours, theirs, beside=True)


async def _is_so(text: str, now: str, goal: str) -> bool:
    merged = await merged_texts(text, now, goal)
    return not merged.replacements and not merged.conflicts


def _deed(state: HunkState) -> str:
    return "took it back already" if state == "undone" else "did it again already"
