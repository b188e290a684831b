"""The permissions of a file, as far as they are remembered and brought back."""

from __future__ import annotations

from agent_ls.domain.record import Record

PERMISSIONS = 0o777
"""The bits of a file's mode that are remembered; never those that lend its owner's rights."""


Modes = tuple[int | None, int | None]
"""A file's permissions before and after something; None: not known, or there was, or is, no file.
"""


class ModeChange(Record):
    """What becomes of a file's permissions with its text: ``base`` is made ``goal``."""

    base: int
    goal: int

    def after(self, mode: int) -> int:
        """Return the mode of a file that has this one; what somebody has set since stays."""
        return mode & ~PERMISSIONS | self.goal if mode & PERMISSIONS == self.base else mode
