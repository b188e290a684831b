"""The process of the other language server, and the pipes to it.

The user's command line names it; it runs as the editor would run it. Nothing restarts it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from agent_ls.lsp.connection.frames import Fault, Message, encode_frame
from agent_ls.lsp.connection.stdio import FrameReader, FrameWriter

_LEAVING_S: Final = 0.5
_AHEAD: Final = 2
"""Chunks read ahead of the event loop: few, as one may complete a huge message."""


class Peer:
    """The other server; it is started once, and ends once."""

    def __init__(self, command: str, ended: Callable[[str], None]) -> None:
        """``ended`` is called once, with the reason, unless ``close`` came first."""
        self._words = shlex.split(command, posix=os.name == "posix")
        self.name = Path(self._words[0]).name if self._words else "the other server"
        self._ended = ended
        self._process: subprocess.Popen[bytes] | None = None
        self._writer: FrameWriter | None = None

    @property
    def is_alive(self) -> bool:
        """Whether messages reach it."""
        return self._writer is not None

    def start(
        self, deliver: Callable[[Message | Fault], None], wait_for_room: Callable[[], None]
    ) -> None:
        """Start it. ``wait_for_room`` blocks its reader while the editor is behind."""
        loop = asyncio.get_running_loop()
        program = shutil.which(self._words[0]) if self._words else None
        if program is None:
            self._end("is not there: its program was not found")
            return
        try:
            self._process = subprocess.Popen(
                [program, *self._words[1:]],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            self._end(f"could not be started: {error.strerror}")
            return
        assert self._process.stdin is not None
        assert self._process.stdout is not None

        def lost(reason: str) -> None:
            loop.call_soon_threadsafe(self._gone, "has stopped reading")

        self._writer = FrameWriter(self._process.stdin.fileno(), lost=lost)
        FrameReader(
            self._process.stdout.fileno(),
            deliver,
            lambda: self._gone("has closed its output"),
            ahead=_AHEAD,
            wait_for_room=wait_for_room,
        ).start()

    def send(self, message: dict[str, Any]) -> None:
        """Send a message; dropped when the process has ended."""
        if self._writer is not None:
            self._writer.send(encode_frame(json.dumps(message)))

    def give_up(self, reason: str) -> None:
        """Stop it, because it cannot be used."""
        self._end(reason)

    async def close(self) -> None:
        """Wait a moment for it to leave, then stop it and what it started."""
        self._ended = _ignore
        if self._writer is not None:
            self._writer.close(0)
            self._writer = None
        process = self._process
        if process is None:
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            await asyncio.to_thread(process.wait, _LEAVING_S)
        self._kill()

    def _gone(self, otherwise: str) -> None:
        if self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(0.2)
            code = self._process.poll()
            self._end(otherwise if code is None else f"has ended with code {code}")

    def _end(self, reason: str) -> None:
        if self._writer is not None:
            self._writer.close(0)
            self._writer = None
        self._kill()
        ended, self._ended = self._ended, _ignore
        ended(f"{self.name} {reason}")

    def _kill(self) -> None:
        if self._process is None:
            return
        # Its own children are in its session, and may outlive it.
        with contextlib.suppress(OSError):
            if os.name == "posix":
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(0.2)


def _ignore(reason: str) -> None:
    """Do nothing: the end was already reported, or we ended it."""
