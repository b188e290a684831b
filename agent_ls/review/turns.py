"""What one turn changed, by file: which of its files has a name, when several had it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from agent_ls.review.file_changes import FileLedger
from agent_ls.review.hunks import Hunk


@dataclass(slots=True)
class TurnLedger:
    """What one turn changed."""

    turn_id: str
    prompt: str
    files: dict[str, FileLedger] = field(default_factory=dict[str, FileLedger])
    """By the path the agent left the file under; another dict after each change, so that who goes
    through one and waits in between has it whole.
    """
    left_files: int = 0
    """Files that commands changed as well and that are not under review."""
    _beneath: tuple[FileLedger, ...] = ()
    """Files that are gone while another one has their name, the last one on top."""

    def undo(self, is_meant: Callable[[Hunk], bool], mode: int | None) -> None:
        """Let all changes be undone of the files that have such a one, also of those beneath.

        A file that goes with that had these permissions; None: not known.
        """
        for file in (*self.files.values(), *self._beneath):
            if any(is_meant(one) for one in file.hunks):
                self._beneath = tuple(one for one in self._beneath if one is not file)
                is_shown = self.files.get(file.path) is file
                undone = file.decided([one.id for one in file.hunks], "undone", mode)
                self.put([undone], gone=[file.path] if is_shown else [])

    def put(self, files: Iterable[FileLedger], gone: Iterable[str]) -> None:
        """Let these files stand last, and those of these paths be gone.

        Invariant: one that comes back to the name of another does not make that forgotten; what
        was undone of it can be done again once the name is free.
        """
        gone = set(gone)
        found = {path: file for path, file in self.files.items() if path not in gone}
        for file in files:
            other = found.pop(file.path, None)
            above, below = file, other
            if other is not None and other.has_place and not file.has_place:
                above, below = other, file
            found[file.path] = above
            self._beneath += (below,) if below is not None else ()
        for one in reversed(self._beneath):
            if one.path not in found:
                found[one.path] = one
                self._beneath = tuple(other for other in self._beneath if other is not one)
        self.files = found
