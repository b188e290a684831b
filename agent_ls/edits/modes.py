"""A file's permissions across the agent's edits, and what undoing the edits restores. Pure.

Permissions are merged three ways like the text: what somebody else set stays.
"""

from __future__ import annotations

from dataclasses import dataclass

from agent_ls.domain.permissions import ModeChange, Modes


@dataclass(frozen=True, slots=True)
class FileModes:
    """The known permissions of a file; None means unknown, so nothing is restored."""

    base: int | None = None
    """Before the first edit."""
    left: int | None = None
    """After the last edit that can have changed them."""
    lost: int | None = None
    """The permissions to restore a deleted file with."""

    def touched(self, modes: Modes, *, is_gone: bool) -> FileModes:
        """Return the modes after one more edit; ``modes`` are those before and after it."""
        before, after = modes
        # If the permissions differ from what the last edit left, somebody else set them: keep.
        is_set_since = self.left is not None and before not in (None, self.left)
        base = before if self.base is None or is_set_since else self.base
        if not is_gone:
            return FileModes(base, self.left if after is None else after, self.lost)
        return FileModes(base, None, base if before in (None, self.left) else before)

    def back(self) -> ModeChange | None:
        """Return the permission change that undoes the edits; None if there is none."""
        if self.base is None or self.left is None or self.base == self.left:
            return None
        return ModeChange(base=self.left, goal=self.base)

    def again(self) -> ModeChange | None:
        """Return the permission change that redoes the edits; None if there is none."""
        back = self.back()
        return None if back is None else ModeChange(base=back.goal, goal=back.base)
