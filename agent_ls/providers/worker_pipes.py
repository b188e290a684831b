"""The model host's end of the pipes: orders in, reports out.

Owns descriptors and threads of the child process; knows nothing about models.
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

from agent_ls.providers.frames import TEXTS, Order, encode_report

_PR_SET_DUMPABLE = 4
_MERGE_S = 0.008


@dataclass(frozen=True, slots=True)
class Pipes:
    """Duplicates of standard input and output, for orders and reports."""

    orders: BinaryIO
    reports: int
    """File descriptor."""


def take_pipes() -> Pipes:
    """Take standard input and output for the protocol; later prints go to standard error.

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
    stream: BinaryIO, loop: asyncio.AbstractEventLoop, take: Callable[[Order], None]
) -> None:
    """Call ``take`` on the loop for each order; exit the process when the server is gone.

    Runs on its own thread, so that a busy loop or a slow import does not delay the exit.
    """

    def follow() -> None:
        status = 1
        try:
            for line in stream:
                loop.call_soon_threadsafe(take, Order.model_validate_json(line))
            status = 0
        finally:
            # Skip exit handlers: litellm's take a second, and nothing is left to report.
            os._exit(status)

    threading.Thread(target=follow, name="orders", daemon=True).start()


class Outbox:
    """Batches reports to the server, one write per event loop iteration.

    Adjacent pieces of one text become one report. Texts alone are sent at most 125 times a second,
    which keeps the server's load low.
    """

    def __init__(self, descriptor: int, loop: asyncio.AbstractEventLoop) -> None:
        self._descriptor = descriptor
        self._loop = loop
        self._pending: list[list[object]] = []
        self._flushed_s = 0.0

    def report(self, number: int, word: str, *fields: object) -> None:
        """Queue a report; it is written within a few milliseconds."""
        is_text = word in TEXTS
        last = self._pending[-1] if self._pending else []
        if is_text and last[:2] == [number, word]:
            last.extend(fields)
            return
        self._pending.append([number, word, *fields])
        wait_s = self._flushed_s + _MERGE_S - self._loop.time() if is_text else 0.0
        self._loop.call_later(max(wait_s, 0.0), self._flush)

    def _flush(self) -> None:
        """Write pending reports; blocks while the server does not read."""
        if not self._pending:
            return
        self._flushed_s = self._loop.time()
        pending, self._pending = self._pending, []
        lines = memoryview(b"".join(map(encode_report, map(_joined, pending))))
        while lines:
            lines = lines[os.write(self._descriptor, lines) :]


def _joined(report: list[object]) -> list[object]:
    number, word, *fields = report
    return [number, word, "".join(map(str, fields))] if word in TEXTS else report
