"""The folders that the user trusts to run what their content configures.

Owns one small file in the user's data folder; asks nobody and runs nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from pydantic import TypeAdapter

from agent_ls.domain.errors import SettingsError
from agent_ls.safety.user_files import changing, read_json, user_file

_CONTENT = "list of trusted folders"
_UNTIL_THEN = "Until you repair or delete that file, no folder is trusted, and none can be added."
_NAMES: TypeAdapter[list[object]] = TypeAdapter(list[object])


def trust_file() -> Path:
    """Return the file that lists the trusted folders."""
    return user_file("trusted.json")


class TrustedFolders:
    """The folders that the user has said to trust; those below them count too."""

    def __init__(self, file: Path) -> None:
        """Use this file, which may not exist. Other servers write it, so nothing is cached."""
        self._file = file

    def all(self) -> tuple[Path, ...]:
        """Return the trusted folders, sorted; none when the file is missing or cannot be read."""
        try:
            return self.listed()
        except SettingsError:
            # If the list cannot be read, no folder is trusted.
            return ()

    def listed(self) -> tuple[Path, ...]:
        """Return the trusted folders, sorted; none when the file is missing.

        Errors: ``SettingsError`` when it cannot be read.
        """
        names = read_json(self._file, _NAMES, _CONTENT, _UNTIL_THEN) or ()
        return tuple(sorted(Path(one) for one in names if isinstance(one, str)))

    def is_trusted(self, folder: Path) -> bool:
        """Say whether this folder, or one above it, is trusted; links are resolved first."""
        resolved = folder.resolve()
        return any(resolved == one or one in resolved.parents for one in self.all())

    def trust(self, folder: Path) -> None:
        """Trust a folder from now on, for every server of this user.

        Errors: ``SettingsError`` when the list cannot be read or written.
        """
        self._change(lambda old: old | {folder.resolve()})

    def forget(self, folder: Path) -> None:
        """Stop trusting a folder, as given and as resolved; one above may still be trusted.

        Errors: ``SettingsError`` when the list cannot be read or written.
        """
        self._change(lambda old: old - {folder, folder.resolve()})

    def _change(self, how: Callable[[set[Path]], set[Path]]) -> None:
        with changing(self._file, _CONTENT) as write:
            names = sorted(map(str, how(set(self.listed()))))
            write(json.dumps(names, indent=2).encode() + b"\n")
