"""Every stored event as a JSON line, for programs."""

from __future__ import annotations

from pathlib import Path

from agent_ls.domain.errors import SettingsError
from agent_ls.domain.events import Ephemeral, StoredEvent


class JsonLog:
    """Appends to a file that only its owner can read."""

    def __init__(self, path: Path) -> None:
        """Open the file.

        Errors: ``SettingsError`` when it cannot be written.
        """
        try:
            path.touch(mode=0o600, exist_ok=True)
            self._file = path.open("a", encoding="utf-8")
        except OSError as error:
            raise SettingsError(
                f"The log file {path} cannot be written: {error.strerror}."
            ) from None

    def on_event(self, stored: StoredEvent) -> None:
        """Write one line."""
        self._file.write(stored.model_dump_json() + "\n")
        self._file.flush()

    def on_ephemeral(self, session_id: str, piece: Ephemeral) -> None:
        """Streamed pieces are not kept."""
