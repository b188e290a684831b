"""Everything that happens, as JSON lines in a file: stored events and the program's own records.

A line holds an ``event`` or a ``message``. structlog renders both; secrets are masked once more.
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
    """Appends to a file that only its owner can read; it may be moved away at any time."""

    def __init__(self, path: Path) -> None:
        """Make sure of the file.

        Errors: ``SettingsError`` when it cannot be written.
        """
        # Late, because only who asks for this log should pay for the import.
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
            # Python's own values and not JSON, which could not hold half of a character.
            "event": stored.event.model_dump(),
        }
        self._file.write(f"{self._rendered(line)}\n")

    def on_ephemeral(self, session_id: str, piece: Ephemeral) -> None:
        """Streamed pieces are not kept."""

    def handler(self) -> logging.Handler:
        """Return what writes the program's own records into the same file."""
        handler = logging.StreamHandler(cast("Any", self._file))
        handler.setFormatter(_Records(self._rendered))
        return handler

    def _rendered(self, line: _Line) -> str:
        masked = {name: _masked(value) for name, value in line.items()}
        return cast("str", self._render(None, "", masked))


class _Records(logging.Formatter):
    """Makes lines of the program's own records."""

    def __init__(self, rendered: Callable[[_Line], str]) -> None:
        super().__init__()
        self._rendered = rendered

    def format(self, record: logging.LogRecord) -> str:
        """Return a record's line."""
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
        """Add to the file. Errors: ``OSError`` when it takes no more."""
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        descriptor = os.open(self._path, flags, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode(errors="replace"))

    def write(self, text: str) -> None:
        """Add a line; what cannot be kept is said once, and disturbs nothing else."""
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
        """Nothing is held back."""


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
