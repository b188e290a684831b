"""Files that the person renamed: what the review knows of them goes on under the new name.

Pure. A rename is no change of the agent's: nothing takes it back, and what does take changes back
does it where the file is now.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from agent_ls.review.file_changes import FileLedger
from agent_ls.review.lineages import Lineages


class Turn(Protocol):
    """What of a turn follows a file."""

    @property
    def files(self) -> Mapping[str, FileLedger]:
        """Return its files by path."""
        ...

    def put(self, files: list[FileLedger], gone: tuple[str, ...]) -> None:
        """Let these files stand last, and those of these paths be gone."""
        ...


class Changes(Protocol):
    """What of a ledger follows a file."""

    lineages: Lineages

    @property
    def turns(self) -> Mapping[str, Turn]:
        """Return the turns by id, oldest first."""
        ...


def renames(changes: Changes, path: str, new_path: str) -> dict[str, str]:
    """Return which files of the review have another name when a file or folder gets one.

    Shape: none that the agent took away last, and none whose new name the review knows of another
    file: two files cannot be told apart by one name.
    """
    found: dict[str, str] = {}
    last = {one: file for turn in changes.turns.values() for one, file in turn.files.items()}
    for name, file in last.items():
        if file.has_place and (name == path or name.startswith(f"{path}/")):
            new_name = new_path + name.removeprefix(path)
            if not _is_taken(changes, name, new_name):
                found[name] = new_name
    return found


def follow(changes: Changes, path: str, new_path: str) -> None:
    """Let everything that is about the file of today under a path be about it under another one."""
    for turn in reversed(list(changes.turns.values())):
        file = turn.files.get(path)
        if file is not None and not file.has_place:
            # What older turns changed was another file.
            break
        if file is not None:
            turn.put([file.renamed(new_path)], gone=(path,))
    changes.lineages.rename(path, new_path)


def _is_taken(changes: Changes, path: str, new_path: str) -> bool:
    """Say whether the review knows of another file than that of a path under the new one."""
    own = set(changes.lineages.numbers_of(path))
    others = (one for at, one in enumerate(changes.lineages.touches) if at not in own)
    return any(one.new_path == new_path for one in others) or any(
        {path, new_path} <= turn.files.keys() for turn in changes.turns.values()
    )
