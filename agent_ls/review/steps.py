"""What the review is going to do to a file, what became of it, and what stood in the way."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agent_ls.domain.edits import FileEdit
from agent_ls.domain.errors import WorkspaceError
from agent_ls.domain.images import PutImage
from agent_ls.loop.ports.workspace import Workspace

MISSING = "the workspace has no such file now; put it back under this name, then try again"
"""Why nothing is done to a file that somebody moved or deleted."""

APART = (
    "the file on disk has the change, and the unsaved text in your editor has not; save that text, "
    "or load the file again, then try again"
)
"""Why nothing is done where neither text may be written over the other."""


@dataclass(frozen=True, slots=True)
class Clash:
    """Both versions of what the agent and somebody else changed; nothing was done."""

    path: str
    line: int
    """1-based, in the file as it is now; 0: the file as a whole."""
    now: str | None
    """The file as it is; None: it is gone."""
    wanted: str | None
    """The file as the decision alone would have it; None: it would be gone."""
    reason: str

    @property
    def has_texts(self) -> bool:
        """Say whether there is anything to show: neither is known of a file that is no text."""
        return (self.now, self.wanted) != (None, None)


@dataclass(frozen=True, slots=True)
class FileResult:
    """What became of one file."""

    turn_id: str
    path: str
    status: Literal["done", "nothing", "conflict", "refused"]
    hunks: int = 0
    reason: str = ""
    """For a person, unless it is done."""
    clash: Clash | None = None
    """Both versions, for a conflict."""
    edit: Literal["change", "create", "delete", "move"] | None = None
    """What a restore does to the file."""
    new_path: str = ""
    """The other place of a file whose bytes are moved, as the store does not hold them."""


@dataclass(frozen=True, slots=True)
class Step:
    """One edit, or none where the file is as wanted already, and the hunks it settles."""

    hunks: tuple[str, ...]
    edit: FileEdit | PutImage | None


def places(workspace: Workspace, names: Iterable[str]) -> list[Path]:
    """Return where files of the ledger are.

    Errors: ``WorkspaceError`` where a name leads elsewhere than it did: the file behind a link that
    somebody put there is not the one that the agent changed.
    """
    found: list[Path] = []
    for name in names:
        _, place = workspace.locate(name)
        there = workspace.shown(place) or name
        if there != name:
            raise WorkspaceError(
                f"where {name} was, a link stands to {there}; put the file back, then try again"
            )
        found.append(place)
    return found
