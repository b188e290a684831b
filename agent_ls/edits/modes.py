"""A file's permissions over a run of the agent's edits, and what undoing these brings back. Pure.

They go with the text, as one more thing that is merged three ways: what somebody else set stays.
"""

from __future__ import annotations

from dataclasses import dataclass

from agent_ls.domain.permissions import ModeChange, Modes


@dataclass(frozen=True, slots=True)
class FileModes:
    """What is known of the permissions; None: nothing, so that nothing is brought back."""

    base: int | None = None
    """Before the first edit."""
    left: int | None = None
    """After the last edit that can have changed them."""
    lost: int | None = None
    """Of a file that was taken away: what it comes back with."""

    def touched(self, modes: Modes, *, is_gone: bool) -> FileModes:
        """Return them after an edit with these before and after it."""
        before, after = modes
        # Others that were there than the last edit left are somebody else's, and stay.
        is_set_since = self.left is not None and before not in (None, self.left)
        base = before if self.base is None or is_set_since else self.base
        if not is_gone:
            return FileModes(base, self.left if after is None else after, self.lost)
        return FileModes(base, None, base if before in (None, self.left) else before)

    def back(self) -> ModeChange | None:
        """Return what undoing the edits makes of the permissions; None: they stay."""
        if self.base is None or self.left is None or self.base == self.left:
            return None
        return ModeChange(base=self.left, goal=self.base)

    def again(self) -> ModeChange | None:
        """Return what redoing the edits makes of the permissions; None: they stay."""
        back = self.back()
        return None if back is None else ModeChange(base=back.goal, goal=back.base)
