"""The technical console: events and log records that the human log leaves out, for debugging.

Each event is one line with its fields. Source: S2, "Technical console".
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
    """A reader that writes the events that the human log does not show."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._human = HumanLog(StringIO())
        self._first_ms: int | None = None

    def on_event(self, stored: StoredEvent) -> None:
        """Write one line, unless the human log shows the event."""
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
        """Ignore streamed pieces, which are shown elsewhere."""


def technical_handler(stream: TextIO, verbosity: int) -> logging.Handler:
    """Return the handler for log records: from INFO up, with two ``-v`` from DEBUG up."""
    handler = logging.StreamHandler(stream)
    handler.setLevel(logging.DEBUG if verbosity > 1 else logging.INFO)
    handler.setFormatter(logging.Formatter("      [%(levelname)s] %(name)s: %(message)s"))
    return handler
