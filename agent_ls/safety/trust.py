"""Which folders the user trusts: what their content would run may run.

Owns one small file in the user's data folder; asks nobody and runs nothing.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import cast

import platformdirs

from agent_ls.domain.errors import SettingsError

_FILE_MODE = 0o600
_FOLDER_MODE = 0o700


def trust_file() -> Path:
    """Return where the trusted folders are written down."""
    return Path(platformdirs.user_data_dir("agent-ls")) / "trusted.json"


def _unreadable(file: Path, why: str) -> str:
    return (
        f"The trusted folders cannot be read from {file}: {why}. So none is trusted, and the list "
        "stays as it is. Mend that file, or delete it to begin anew."
    )


class TrustedFolders:
    """The folders that the user has said to trust; those below them count too."""

    def __init__(self, file: Path) -> None:
        """Take the file, which need not exist; other servers write it too, so nothing is kept."""
        self._file = file

    def all(self) -> tuple[Path, ...]:
        """Return the trusted folders, sorted; none when the file is missing or cannot be read."""
        try:
            return self.listed()
        except SettingsError:
            # Not to know is not to trust.
            return ()

    def listed(self) -> tuple[Path, ...]:
        """Return the trusted folders, sorted; none when the file is missing.

        Errors: ``SettingsError`` when it cannot be read.
        """
        try:
            found: object = json.loads(self._file.read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError):
            return ()
        except (OSError, ValueError) as error:
            raise SettingsError(_unreadable(self._file, str(error))) from error
        if not isinstance(found, list):
            raise SettingsError(_unreadable(self._file, "it is no list"))
        names = cast("list[object]", found)
        return tuple(sorted(Path(one) for one in names if isinstance(one, str)))

    def is_trusted(self, folder: Path) -> bool:
        """Say whether this folder, or one above it, is trusted; links are resolved first."""
        resolved = folder.resolve()
        return any(resolved == one or one in resolved.parents for one in self.all())

    def trust(self, folder: Path) -> None:
        """Trust a folder from now on, for every server of this user.

        Errors: ``SettingsError`` when it cannot be written down, or what is there cannot be read.
        """
        self._write({*self.listed(), folder.resolve()})

    def forget(self, folder: Path) -> None:
        """Trust a folder no longer, as it is written down or as it is found from here; one above
        it may still be trusted.

        Errors: as of ``trust``.
        """
        self._write(set(self.listed()) - {folder, folder.resolve()})

    def _write(self, folders: set[Path]) -> None:
        text = json.dumps(sorted(map(str, folders)), indent=2) + "\n"
        try:
            self._file.parent.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
            # Readers see the old list or the new one, never a half.
            handle, name = tempfile.mkstemp(dir=self._file.parent, prefix=".trusted-")
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                os.fchmod(file.fileno(), _FILE_MODE)
            Path(name).replace(self._file)
        except OSError as error:
            raise SettingsError(
                f"The trusted folders could not be written to {self._file}: {error.strerror}. "
                "Make that folder writable and try again."
            ) from error
