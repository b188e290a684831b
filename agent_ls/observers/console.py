"""The technical console: what the human log leaves out, for who looks for a cause.

Events one line each with their fields, and the program's own records; never a line that the
human log has too. Source: seed 002, "Technical console".
"""

from __future__ import annotations

import logging
from io import StringIO
from typing import TextIO

from agent_ls.domain.events import Ephemeral, StoredEvent
from agent_ls.observers.call_summary import short
from agent_ls.observers.human_log import HumanLog

_MAX_CHARACTERS = 60
_SILENT_FIELDS = frozenset({"type", "v"})


class TechnicalConsole:
    """Writes what happens between the human log's lines."""

    def __init__(self, stream: TextIO) -> None:
        """Take where to write."""
        self._stream = stream
        self._human = HumanLog(StringIO())
        self._first_ms: int | None = None

    def on_event(self, stored: StoredEvent) -> None:
        """Write one line, unless a person reads of the event anyway."""
        if self._first_ms is None:
            self._first_ms = stored.at_ms
        if self._human.lines_of(stored.event):
            return
        seconds = max(0, stored.at_ms - self._first_ms) / 1000
        facts = {
            name: value
            for name, value in stored.event.model_dump(mode="json").items()
            if name not in _SILENT_FIELDS and value not in (None, "", [], {}, False)
        }
        shown = " ".join(
            f"{name}={short(str(one), _MAX_CHARACTERS)}" for name, one in facts.items()
        )
        self._stream.write(f"      [{seconds:8.3f} s] {stored.event.type} {shown}".rstrip() + "\n")
        self._stream.flush()

    def on_ephemeral(self, session_id: str, piece: Ephemeral) -> None:
        """Streamed pieces are shown elsewhere."""


def technical_handler(stream: TextIO, verbosity: int) -> logging.Handler:
    """Return what writes the program's own records: from INFO on, with two ``-v`` from DEBUG on."""
    handler = logging.StreamHandler(stream)
    handler.setLevel(logging.DEBUG if verbosity > 1 else logging.INFO)
    handler.setFormatter(logging.Formatter("      [%(levelname)s] %(name)s: %(message)s"))
    return handler
