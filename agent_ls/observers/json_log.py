"""Everything that happens, as JSON lines in a file: stored events and the program's own records.

A line holds an ``event`` or a ``message``. structlog renders both; secrets are masked once more.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import MutableMapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from agent_ls.domain.errors import SettingsError
from agent_ls.domain.events import AttemptFinished, Ephemeral, StoredEvent, TurnEnded
from agent_ls.domain.stops import TurnStatus
from agent_ls.safety.secrets import mask

if TYPE_CHECKING:
    import structlog

_Line = MutableMapping[str, Any]


class JsonLog:
    """Appends to a file that only its owner can read; it may be moved away at any time."""

    def __init__(self, path: Path) -> None:
        """Make sure of the file.

        Errors: ``SettingsError`` when it cannot be written.
        """
        # Late, because only who asks for this log should pay for the import.
        import structlog

        self._file = _PrivateFile(path)
        try:
            self._file.append("")
        except OSError as error:
            raise SettingsError(
                f"The log file {path} cannot be written: {error.strerror}. "
                "Give --log-file another place."
            ) from None
        self._render = structlog.processors.JSONRenderer(ensure_ascii=False, default=str)
        self._logger: structlog.BoundLogger = structlog.wrap_logger(
            structlog.WriteLogger(cast("Any", self._file)),
            processors=[_mask_line, _order, self._render],
            wrapper_class=structlog.BoundLogger,
        )

    def on_event(self, stored: StoredEvent) -> None:
        """Write one line."""
        event = stored.event
        level = "warning" if _is_trouble(stored) else "info"
        # Python's own values and not JSON, which could not hold half of a character.
        self._logger.msg(
            cast("Any", event.model_dump()),
            at=_iso(stored.at_ms / 1000),
            level=level,
            session_id=stored.session_id,
            seq=stored.seq,
            at_ms=stored.at_ms,
        )

    def on_ephemeral(self, session_id: str, piece: Ephemeral) -> None:
        """Streamed pieces are not kept."""

    def handler(self) -> logging.Handler:
        """Return what writes the program's own records into the same file."""
        import structlog

        formatter = structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[
                structlog.stdlib.add_logger_name,
                structlog.stdlib.add_log_level,
                _add_time,
                structlog.processors.format_exc_info,
            ],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                _mask_line,
                structlog.processors.EventRenamer("message"),
                _order,
                self._render,
            ],
        )
        handler = logging.StreamHandler(cast("Any", self._file))
        handler.setFormatter(formatter)
        return handler


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


def _mask_line(_logger: object, _method: str, line: _Line) -> _Line:
    return {name: _masked(value) for name, value in line.items()}


def _masked(value: Any) -> Any:
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, dict):
        items = cast("dict[str, object]", value).items()
        return {name: _masked(item) for name, item in items}
    if isinstance(value, list | tuple):
        return [_masked(item) for item in cast("list[object]", value)]
    return value


def _order(_logger: object, _method: str, line: _Line) -> _Line:
    """Put first what a person looks for first."""
    first = ("at", "level", "logger", "message", "session_id", "seq", "at_ms", "event")
    return {**{name: line[name] for name in first if name in line}, **line}


def _add_time(_logger: object, _method: str, line: _Line) -> _Line:
    record: logging.LogRecord = line["_record"]
    line["at"] = _iso(record.created)
    return line


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
