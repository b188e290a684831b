"""Starts, watches and ends one model host process, and routes its reports to requests.

``model_host`` interprets the reports.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import sys
from collections import deque
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path
from typing import Final

from agent_ls.domain.errors import ProviderError, ProviderFailure
from agent_ls.providers.frames import GONE, LAST, Order, Report, encode_order

_log = logging.getLogger(__name__)

_STOP_S: Final = 0.2
_KILL_S: Final = 0.1
_LAST_WORDS: Final = 20
_LONGEST_LINE: Final = 128 * 2**20
"""In bytes; more than the longest answer that the host accepts."""


def host_died(text: str) -> ProviderError:
    """Return the error for a request whose host process ended."""
    return ProviderError(ProviderFailure.HOST_DIED, text)


class HostProcess:
    """A model host process and its open requests."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._inboxes: dict[int, asyncio.Queue[Report]] = {}
        self._last_words: deque[str] = deque(maxlen=_LAST_WORDS)
        self._heard_s = 0.0
        self.is_alive = True
        self._words = asyncio.ensure_future(self._read_words())
        self._end = asyncio.ensure_future(self._follow())

    @classmethod
    async def spawn(cls, command: Sequence[str], env: Mapping[str, str]) -> HostProcess:
        """Start the process; errors: ``ProviderError`` when it cannot be started."""
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                limit=_LONGEST_LINE,
                env=dict(env),
                # Not the workspace, whose files the child must neither import nor read.
                cwd=Path(sys.executable).anchor,
                # Ctrl-C in a terminal must reach the server only.
                start_new_session=True,
            )
        except OSError as error:
            text = f"The model host cannot be started with {command[0]}: {error}."
            raise host_died(text) from error
        return cls(process)

    @property
    def pid(self) -> int:
        """Return the process id."""
        return self._process.pid

    async def ask(self, order: Order) -> AsyncGenerator[Report, None]:
        """Send an order and yield its reports; closing the iterator cancels it.

        A process that was silent for longer than the request's first-chunk limit counts as hung.
        It is killed when the iterator is closed, so that the next request starts a new one.
        """
        clock = asyncio.get_running_loop().time
        self._heard_s = max(self._heard_s, clock())
        inbox: asyncio.Queue[Report] = asyncio.Queue()
        self._inboxes[order.number] = inbox
        is_over = False
        try:
            self._send(order)
            while True:
                report = await inbox.get()
                is_over = report[1] in LAST
                yield report
        finally:
            self._inboxes.pop(order.number, None)
            if not is_over:
                self._send(Order(op="cancel", number=order.number))
                if clock() - self._heard_s > order.limits.first_chunk_s:
                    self.is_alive = False
                    self._kill()

    async def stop(self) -> None:
        """Close the process's input; kill the process if it does not end in time."""
        if self._process.stdin:
            self._process.stdin.close()
        for limit_s in (_STOP_S, _KILL_S):
            done, _ = await asyncio.wait((self._end,), timeout=limit_s)
            if done:
                return
            self._kill()

    def _send(self, order: Order) -> None:
        stdin = self._process.stdin
        if self.is_alive and stdin is not None and not stdin.is_closing():
            stdin.write(encode_order(order))

    def _kill(self) -> None:
        if self._process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            if sys.platform == "win32":
                self._process.kill()
            else:
                # ``Process.kill`` may reap the child, for which ``_follow`` waits.
                os.kill(self._process.pid, signal.SIGKILL)

    async def _follow(self) -> None:
        """Read reports until the process ends, then fail every open request."""
        with contextlib.suppress(ValueError, ConnectionError):
            await self._read_reports()
        self.is_alive = False
        dying = asyncio.ensure_future(self._process.wait())
        # A process that closed its output but still runs is useless.
        await asyncio.wait((dying, self._words), timeout=_KILL_S)
        self._kill()
        await dying
        self._words.cancel()
        for inbox in self._inboxes.values():
            inbox.put_nowait([0, GONE, self._end_text()])

    async def _read_reports(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        clock = asyncio.get_running_loop().time
        async for line in stream:
            match json.loads(line):
                case [int(number), str(), *_] as report:
                    self._heard_s = clock()
                    if inbox := self._inboxes.get(number):
                        inbox.put_nowait(report)
                case _:
                    text = line[:100].decode("utf-8", "replace").rstrip()
                    self._last_words.append(f"it sent what is no report: {text}")
                    return

    async def _read_words(self) -> None:
        stream = self._process.stderr
        assert stream is not None
        async for line in stream:
            text = line.decode("utf-8", "replace").rstrip()
            self._last_words.append(text)
            _log.debug("model host: %s", text)

    def _end_text(self) -> str:
        words = next((line.strip() for line in reversed(self._last_words) if line.strip()), "")
        last = f" Its last words: {words[:400]}" if words else ""
        return (
            f"The model host (process {self.pid}) ended unexpectedly with status "
            f"{self._process.returncode}; the next request starts it again.{last}"
        )
