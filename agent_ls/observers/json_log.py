"""Writes stored events and the program's log records to a file, as JSON lines.

A line has an ``event`` or a ``message``. structlog renders both; secrets are masked once more.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from agent_ls.domain.errors import SettingsError
from agent_ls.domain.events import AttemptFinished, Ephemeral, StoredEvent, TurnEnded
from agent_ls.domain.stops import TurnStatus
from agent_ls.safety.secrets import mask

_Line = dict[str, object]


class JsonLog:
    """Appends to a file that only its owner can read; the file may be rotated at any time."""

    def __init__(self, path: Path) -> None:
        """Create the file if missing. Errors: ``SettingsError`` if it cannot be written."""
        # Imported late, because only users of this log should pay for the import.
        from structlog.processors import JSONRenderer

        self._file = _PrivateFile(path)
        try:
            self._file.append("")
        except OSError as error:
            raise SettingsError(
                f"The log file {path} cannot be written: {error.strerror}. "
                "Give --log-file another place."
            ) from None
        self._render = JSONRenderer(ensure_ascii=False, default=str)

    def on_event(self, stored: StoredEvent) -> None:
        """Write one line."""
        line: _Line = {
            "at": _iso(stored.at_ms / 1000),
            "level": "warning" if _is_trouble(stored) else "info",
            "session_id": stored.session_id,
            "seq": stored.seq,
            "at_ms": stored.at_ms,
            # Python values, not JSON, which cannot hold lone surrogates.
            "event": stored.event.model_dump(),
        }
        self._file.write(f"{self._rendered(line)}\n")

    def on_ephemeral(self, session_id: str, piece: Ephemeral) -> None:
        """Ignore streamed pieces."""

    def handler(self) -> logging.Handler:
        """Return a handler that writes the program's log records to the same file."""
        handler = logging.StreamHandler(cast("Any", self._file))
        handler.setFormatter(_Records(self._rendered))
        return handler

    def _rendered(self, line: _Line) -> str:
        masked = {name: _masked(value) for name, value in line.items()}
        return cast("str", self._render(None, "", masked))


class _Records(logging.Formatter):
    """Formats the program's log records."""

    def __init__(self, rendered: Callable[[_Line], str]) -> None:
        super().__init__()
        self._rendered = rendered

    def format(self, record: logging.LogRecord) -> str:
        """Return a log record as a line of JSON."""
        line: _Line = {
            "at": _iso(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return self._rendered(line)


class _PrivateFile:
    """Opens the file for every line, so that it can be rotated."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._is_failing = False

    def append(self, text: str) -> None:
        """Append to the file. Errors: ``OSError``."""
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        descriptor = os.open(self._path, flags, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode(errors="replace"))

    def write(self, text: str) -> None:
        """Append a line; a failure is reported once on standard error and not raised."""
        try:
            self.append(text)
            self._is_failing = False
        except OSError as error:
            if not self._is_failing:
                sys.stderr.write(
                    f"agent-ls: {self._path} takes no more: {error.strerror}. "
                    "What happens meanwhile is missing in it.\n"
                )
            self._is_failing = True

    def flush(self) -> None:
        """Do nothing: lines are written at once."""


def _is_trouble(stored: StoredEvent) -> bool:
    match stored.event:
        case AttemptFinished(failure=failure):
            return failure is not None
        case TurnEnded(status=status):
            return status is not TurnStatus.SUCCESS
        case _:
            return False


def _masked(value: object) -> object:
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, dict):
        items = cast("dict[str, object]", value).items()
        return {name: _masked(item) for name, item in items}
    if isinstance(value, list | tuple):
        return [_masked(item) for item in cast("list[object]", value)]
    return value


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
