"""Runs commands: one fixed shell without start-up files, own session, no input, few variables.

Whatever the command started is ended with it: its session, its descendants, and processes that
left both but carry its mark in their environment.
"""

from __future__ import annotations

import asyncio
import codecs
import os
import secrets
import signal
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Literal

import psutil

from agent_ls.loop.ports import CommandOutcome

_SHELL = "/bin/bash" if Path("/bin/bash").exists() else "/bin/sh"
_SHELL_OPTIONS = ("--noprofile", "--norc") if _SHELL.endswith("bash") else ()
_MARK = "AGENT_LS_COMMAND"
_KEPT_VARIABLES = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "SYSTEMROOT",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "NVM_DIR",
    "GOPATH",
    "GOROOT",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "JAVA_HOME",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "PYENV_ROOT",
)
_KEPT_PREFIXES = ("LC_", "XDG_")
_MAX_OUTPUT_BYTES = 4 * 2**20
_READ_BYTES = 65_536
_TERM_GRACE_S = 0.5
_DRAIN_S = 0.3


class ShellRunner:
    """Runs commands on this machine."""

    async def run(
        self,
        command: str,
        *,
        cwd: Path,
        timeout_s: float,
        on_output: Callable[[str], None] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> CommandOutcome:
        """Run a shell command to its end; kills it with all its children on time-out or cancel."""
        mark = secrets.token_hex(16)
        started_s = time.monotonic()
        # Our own pipe: asyncio's would make `wait` wait for everybody who holds its other end.
        read_end, write_end = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                _SHELL,
                *_SHELL_OPTIONS,
                "-c",
                command,
                cwd=cwd,
                env=command_environment() | dict(env or {}) | {_MARK: mark},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=write_end,
                stderr=write_end,
                start_new_session=True,
            )
        except BaseException:
            os.close(read_end)
            raise
        finally:
            os.close(write_end)
        output = _Output(on_output)
        reading = asyncio.create_task(_read(read_end, output))
        end: Literal["exited", "timed_out", "cancelled"] = "exited"
        try:
            async with asyncio.timeout(timeout_s):
                await process.wait()
        except TimeoutError:
            end = "timed_out"
        finally:
            # Also after an orderly end: what it left in the background ends with it.
            await asyncio.shield(asyncio.ensure_future(_end_all(process, mark)))
            await asyncio.wait([reading], timeout=_DRAIN_S)
            reading.cancel()
        return CommandOutcome(
            exit_code=process.returncode if end == "exited" else None,
            output=output.text(),
            end=end,
            duration_ms=int((time.monotonic() - started_s) * 1000),
        )


def command_environment() -> dict[str, str]:
    """Return the variables a command gets: none that could hold a key."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in _KEPT_VARIABLES or name.startswith(_KEPT_PREFIXES)
    }
    return kept | {"TERM": "dumb", "NO_COLOR": "1", "PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}


class _Output:
    """What was printed: the beginning and the end of it, when there is too much."""

    def __init__(self, on_output: Callable[[str], None] | None) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._on_output = on_output
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0

    def take(self, data: bytes) -> None:
        if self._on_output is not None and (text := self._decoder.decode(data)):
            self._on_output(text)
        half = _MAX_OUTPUT_BYTES // 2
        room = max(half - len(self._head), 0)
        self._head += data[:room]
        self._tail += data[room:]
        if (excess := len(self._tail) - half) > half:
            # Twice the half at most, so that cutting stays cheap.
            self._dropped += excess
            del self._tail[:excess]

    def text(self) -> str:
        head = self._head.decode(errors="replace")
        tail = self._tail.decode(errors="replace")
        gap = f"\n… ({self._dropped} bytes left out) …\n" if self._dropped else ""
        return (head + gap + tail).replace("\r\n", "\n")


async def _read(read_end: int, output: _Output) -> None:
    """Take everything that comes out of the pipe, and close it."""
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(read_end, "rb", buffering=0)
    )
    try:
        while data := await reader.read(_READ_BYTES):
            output.take(data)
    finally:
        transport.close()


async def _end_all(process: asyncio.subprocess.Process, mark: str) -> None:
    """End everything that belongs to the command: first asked, then killed."""
    left = await asyncio.to_thread(_members, process.pid, mark)
    if not left and process.returncode is not None:
        return
    for one in (signal.SIGTERM, signal.SIGKILL):
        await asyncio.to_thread(_signal_all, left, one)
        deadline_s = time.monotonic() + _TERM_GRACE_S
        while time.monotonic() < deadline_s:
            left = await asyncio.to_thread(_members, process.pid, mark)
            if not left:
                break
            await asyncio.sleep(0.02)
        if not left:
            break
    await process.wait()


def _members(pid: int, mark: str) -> list[psutil.Process]:
    """Return the living processes of the command, itself included."""
    found: list[psutil.Process] = []
    for one in psutil.process_iter():
        try:
            if one.status() == psutil.STATUS_ZOMBIE:
                continue
            if one.pid == pid or _is_in_session(one.pid, pid) or _has_mark(one, mark):
                found.append(one)
        except (psutil.Error, OSError):
            continue
    return found


def _is_in_session(pid: int, leader: int) -> bool:
    try:
        return os.getsid(pid) == leader
    except ProcessLookupError:
        return False


def _has_mark(process: psutil.Process, mark: str) -> bool:
    return process.environ().get(_MARK) == mark


def _signal_all(processes: Iterable[psutil.Process], number: signal.Signals) -> None:
    for one in processes:
        try:
            one.send_signal(number)
        except psutil.Error:
            continue
