"""Every stored event as a JSON line, for programs."""

from __future__ import annotations

from pathlib import Path

from agent_ls.domain.errors import SettingsError
from agent_ls.domain.events import Ephemeral, StoredEvent


class JsonLog:
    """Appends to a file that only its owner can read."""

    def __init__(self, path: Path) -> None:
        """Make sure of the file.

        Errors: ``SettingsError`` when it cannot be written.
        """
        self._path = path
        try:
            path.touch(mode=0o600, exist_ok=True)
            with path.open("a"):
                pass
        except OSError as error:
            why = error.strerror
            raise SettingsError(f"The log file {path} cannot be written: {why}.") from None

    def on_event(self, stored: StoredEvent) -> None:
        """Write one line; the file may be moved away between two of them."""
        with self._path.open("a", encoding="utf-8") as file:
            file.write(stored.model_dump_json() + "\n")

    def on_ephemeral(self, session_id: str, piece: Ephemeral) -> None:
        """Streamed pieces are not kept."""
