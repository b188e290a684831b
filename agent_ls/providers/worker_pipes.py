"""The model host's side of its pipes: taken before anything else may write, orders in, reports out.

Owns descriptors and threads of the child process; knows nothing of models.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO

from agent_ls.domain.model_io import ModelEvent, ReasoningDelta, TextDelta
from agent_ls.providers.frames import OrderFrame, encode_reports, read_order, report_event

_PR_SET_DUMPABLE = 4
_FLUSH_CHARACTERS = 256 * 1024


@dataclass(frozen=True, slots=True)
class Pipes:
    """The two ends that were taken away from standard input and output."""

    orders: BinaryIO
    reports: int
    """File descriptor."""


def take_pipes() -> Pipes:
    """Make the standard streams ours alone: whatever prints now prints to standard error.

    Invariant: called before any third-party import.
    """
    orders, reports = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return Pipes(os.fdopen(orders, "rb"), reports)


def seal_process() -> None:
    """Keep other processes from reading this one's memory, and leave Ctrl-C to the server."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def follow_orders(
    stream: BinaryIO, loop: asyncio.AbstractEventLoop, take: Callable[[OrderFrame], None]
) -> None:
    """Hand each order to ``take`` on the loop; when the server is gone, so is this process.

    On a thread of its own, so that even a busy loop or a slow import never outlives the server.
    """

    def follow() -> None:
        status = 1
        try:
            while (frame := read_order(stream)) is not None:
                loop.call_soon_threadsafe(take, frame)
            status = 0
        finally:
            # No exit handlers: litellm's take a second, and there is nothing left to say to anyone.
            os._exit(status)

    threading.Thread(target=follow, name="orders", daemon=True).start()


class Outbox:
    """Reports on their way to the server, one frame per turn of the loop.

    What one read from the network brings is one frame, and neighbouring pieces of one text are
    one report, so that a delta costs the server next to nothing.
    """

    def __init__(self, descriptor: int, loop: asyncio.AbstractEventLoop) -> None:
        """Take the pipe and the loop whose turns are the batches."""
        self._descriptor = descriptor
        self._loop = loop
        self._pending: list[list[object]] = []
        self._texts: list[str] = []
        """Pieces of the last pending report, when it is a text that may still grow."""
        self._characters = 0

    def event(self, number: int, event: ModelEvent) -> None:
        """Report a model event of a request."""
        _, word, *fields = report_event(number, event)
        self.report(number, str(word), *fields)
        if isinstance(event, (TextDelta, ReasoningDelta)):
            self._characters += len(event.text)
            if self._characters > _FLUSH_CHARACTERS:
                self.flush()

    def report(self, number: int, word: str, *fields: object) -> None:
        """Report anything."""
        if word in ("text", "reasoning") and self._joins(number, word, str(fields[0])):
            return
        self._settle()
        if not self._pending:
            self._loop.call_soon(self.flush)
        self._pending.append([number, word, *fields])

    def flush(self) -> None:
        """Write what is pending; blocks while the server does not read."""
        self._settle()
        if not self._pending:
            return
        frame = memoryview(encode_reports(self._pending))
        self._pending, self._characters = [], 0
        while frame:
            frame = frame[os.write(self._descriptor, frame) :]

    def _joins(self, number: int, word: str, text: str) -> bool:
        if not self._pending:
            return False
        last = self._pending[-1]
        if last[0] != number or last[1] != word:
            return False
        self._texts = self._texts or [str(last[2])]
        self._texts.append(text)
        return True

    def _settle(self) -> None:
        if self._texts:
            self._pending[-1][2] = "".join(self._texts)
            self._texts = []
