"""File permissions: what is stored and restored of them."""

from __future__ import annotations

from agent_ls.domain.record import Record

PERMISSIONS = 0o777
"""The mode bits that are stored; never setuid, setgid or sticky."""


Modes = tuple[int | None, int | None]
"""A file's permissions before and after; None: unknown, or no file."""


class ModeChange(Record):
    """A permission change with a text change, from ``base`` to ``goal``."""

    base: int
    goal: int

    def after(self, mode: int) -> int:
        """Return the new mode for ``mode``; unchanged if somebody changed the permissions since."""
        return mode & ~PERMISSIONS | self.goal if mode & PERMISSIONS == self.base else mode
