"""Which files that were not there before came while a command ran, by their times and their past.

A file that is moved with its folder keeps its times; what tells is where it was before, or that
its folder is new. Blocking.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Sequence
from pathlib import Path

from agent_ls.workspace.editors_part import FileChange
from agent_ls.workspace.seen_files import identity

_RULES = ".gitignore"


class Arrivals:
    """The files that came to some folders since a moment."""

    def __init__(
        self,
        folders: Container[Path],
        changes: Iterable[FileChange],
        roots: Sequence[Path],
        since_ns: int,
    ) -> None:
        """Take in which folders files were known, what changed, and since when by their clock."""
        self._folders, self._roots, self._since_ns = folders, roots, since_ns
        changes = list(changes)
        self._gone = {
            identity(one.before.signature)
            for one in changes
            if one.before is not None
            and (
                one.after is None or identity(one.after.signature) != identity(one.before.signature)
            )
        }
        # Files that were left out before were there all the same.
        self._are_rules_same = all(one.path.name != _RULES or one.is_none for one in changes)
        self._is_new: dict[Path, bool] = {}

    def is_one(self, change: FileChange) -> bool:
        """Say whether a file that was not known came since then."""
        if change.after is None:
            return False
        is_dated = max(change.after.signature[2:]) >= self._since_ns
        return is_dated or identity(change.after.signature) in self._gone or self._is_in_new(change)

    def _is_in_new(self, change: FileChange) -> bool:
        if not self._are_rules_same:
            return False
        folders = (
            one
            for one in change.path.parents
            if one not in self._folders and any(root in one.parents for root in self._roots)
        )
        return any(self._is_new_folder(one) for one in folders)

    def _is_new_folder(self, folder: Path) -> bool:
        """Say whether a folder in which nothing was known came since then."""
        if folder not in self._is_new:
            try:
                self._is_new[folder] = os.lstat(folder).st_ctime_ns >= self._since_ns
            except OSError:
                self._is_new[folder] = False
        return self._is_new[folder]
