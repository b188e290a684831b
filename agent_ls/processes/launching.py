"""Start programs through the launcher, a small separate process.

``asyncio.create_subprocess_exec`` blocks the event loop until the program is loaded, 10 ms or more
on a busy machine. Each event loop has one launcher, and one of each module that serves in its
place. It starts with the first program or with ``get_ready``, and ends with this process.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import struct
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

_PROGRAM = str(Path(__file__).with_name("launcher.py"))
_LAUNCHER_VARIABLES = ("LD_LIBRARY_PATH", "SYSTEMROOT", "LC_ALL", "LANG")
_HEADER = struct.Struct("!I")
_READ_BYTES = 2**16
_RETRY_S = 0.001
_LOST = -signal.SIGKILL
"""Exit code for a program whose launcher was killed; the real one is unknown."""


class LauncherLost(OSError):
    """The launcher was killed before it had started the program, or could not start itself."""


class Program:
    """A running program in its own session and process group."""

    def __init__(self, pid: int, ended: asyncio.Future[int]) -> None:
        self.pid = pid
        self._ended = ended

    @property
    def returncode(self) -> int | None:
        """Return the exit code, or minus the signal that killed it; None while it runs."""
        return self._ended.result() if self._ended.done() else None

    async def wait(self) -> int:
        """Wait for the program's end, even if others hold its pipes; return the exit code."""
        return await asyncio.shield(self._ended)

    async def end(self) -> None:
        """Kill the program's process group, including processes it left behind."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        await self.wait()


@dataclass(frozen=True, slots=True)
class PipedProgram:
    """A running program with pipes to its input and outputs."""

    program: Program
    stdin: asyncio.StreamWriter
    stdout: asyncio.StreamReader
    stderr: asyncio.StreamReader
    _outputs: tuple[asyncio.ReadTransport, ...]

    async def feed(self, data: bytes) -> None:
        """Write the input and close it; a program that ends without reading it all is no error."""
        with suppress(ConnectionError):
            self.stdin.write(data)
            await self.stdin.drain()
        self.stdin.close()

    async def end(self) -> None:
        """Kill what is left of the process group, also after a normal exit, and close the pipes."""
        await self.program.end()
        if not self.stdin.is_closing():
            self.stdin.transport.abort()
        for output in self._outputs:
            output.close()
        # Transports close their pipes in the loop's next iteration.
        await asyncio.sleep(0)


async def get_ready(module: str = "") -> None:
    """Start the launcher early, so that the first program does not wait for it."""
    _launcher(module)


async def start(
    command: Sequence[str],
    *,
    cwd: Path | None,
    env: Mapping[str, str],
    descriptors: Sequence[int],
    module: str = "",
) -> Program:
    """Start a program with these as its descriptors 0, 1, 2 and so on; the caller closes them.

    Without ``cwd`` it runs in ``/``. The command begins with an absolute path: PATH may hold a
    folder of the workspace. ``module`` is one that serves in place of the launcher, in which a
    command may mean something else.
    Errors: ``OSError`` if it cannot be started.
    """
    starting = _launcher(module).start(command, cwd, env, descriptors)
    return await kept(starting, Program.end)


async def start_piped(
    command: Sequence[str], *, cwd: Path | None, env: Mapping[str, str], limit: int = 2**16
) -> PipedProgram:
    """Start a program with pipes for input, output and errors. The caller must ``end`` it.

    Shape: ``limit`` is the readers' buffer limit in bytes.
    Errors: ``OSError`` if it cannot be started.
    """
    return await kept(_start_piped(command, cwd, env, limit), PipedProgram.end)


async def kept(
    starting: Coroutine[None, None, T], discard: Callable[[T], Coroutine[None, None, None]]
) -> T:
    """Wait for a start; if cancelled meanwhile, wait for it anyway and discard what was started.

    The request may be in transit, with descriptors that the caller is about to close.
    """
    task = asyncio.ensure_future(starting)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            # A second cancel changes nothing: what was asked for may still start.
            with suppress(asyncio.CancelledError):
                await asyncio.wait([task])
        if task.exception() is None:
            await discard(task.result())
        raise


async def _start_piped(
    command: Sequence[str], cwd: Path | None, env: Mapping[str, str], limit: int
) -> PipedProgram:
    pipes = [os.pipe() for _ in range(3)]
    theirs = (pipes[0][0], pipes[1][1], pipes[2][1])
    ours = [pipes[0][1], pipes[1][0], pipes[2][0]]
    try:
        program = await _launcher().start(command, cwd, env, theirs)
    except BaseException:
        for one in ours:
            os.close(one)
        raise
    finally:
        for one in theirs:
            os.close(one)
    stdin = await _writer(ours[0])
    stdout, from_stdout = await _reader(ours[1], limit)
    stderr, from_stderr = await _reader(ours[2], limit)
    return PipedProgram(program, stdin, stdout, stderr, (from_stdout, from_stderr))


async def _reader(fd: int, limit: int) -> tuple[asyncio.StreamReader, asyncio.ReadTransport]:
    reader = asyncio.StreamReader(limit)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(fd, "rb", buffering=0)
    )
    return reader, transport


async def _writer(fd: int) -> asyncio.StreamWriter:
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.streams.FlowControlMixin(loop), os.fdopen(fd, "wb", buffering=0)
    )
    return asyncio.StreamWriter(transport, protocol, None, loop)


class _Launcher:
    """This event loop's end of the socket to a launcher.

    It holds a plain descriptor, so nothing needs an orderly close when a loop just ends.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, module: str) -> None:
        self._loop = loop
        self._sending = asyncio.Lock()
        self._last = 0
        self._starting: dict[int, asyncio.Future[Program]] = {}
        self._running: dict[int, asyncio.Future[int]] = {}
        self._received = b""
        # -I and -S: import nothing from the folder or the environment.
        words = ("-P", "-m", module) if module else ("-I", "-S", _PROGRAM)
        # Programs get only the variables of the request.
        names = os.environ if module else _LAUNCHER_VARIABLES
        ours, theirs = socket.socketpair()
        with theirs:
            nowhere = os.open(os.devnull, os.O_RDWR)
            self._pid = os.posix_spawn(
                sys.executable,
                [sys.executable, *words],
                {name: os.environ[name] for name in names if name in os.environ},
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, theirs.fileno(), 0),
                    # Our standard output is the connection to the editor.
                    (os.POSIX_SPAWN_DUP2, nowhere, 1),
                ],
                # Whoever kills our process group must not keep it from ending the programs.
                setsid=True,
            )
            os.close(nowhere)
        ours.setblocking(False)
        self._fd = ours.detach()
        self.is_alive = True
        loop.add_reader(self._fd, self._on_readable)

    async def start(
        self,
        command: Sequence[str],
        cwd: Path | None,
        env: Mapping[str, str],
        descriptors: Sequence[int],
    ) -> Program:
        if not self.is_alive:
            raise LauncherLost("what starts programs has ended")
        self._last += 1
        number = self._last
        answer = self._starting[number] = self._loop.create_future()
        request = {"command": [*command], "cwd": str(cwd or "/"), "env": {**env}, "number": number}
        await self._ask(request, descriptors)
        return await answer

    async def _ask(self, request: Mapping[str, Any], descriptors: Sequence[int]) -> None:
        data = json.dumps(request).encode()
        with socket.socket(fileno=os.dup(self._fd)) as sending:
            sending.setblocking(False)
            async with self._sending:
                try:
                    await self._send(sending, data, descriptors)
                except ConnectionError:
                    self._on_lost()

    async def _send(self, sending: socket.socket, data: bytes, descriptors: Sequence[int]) -> None:
        while True:
            try:
                # The header is sent completely or not at all: it is smaller than any buffer.
                socket.send_fds(sending, [_HEADER.pack(len(data))], list(descriptors))
                break
            except BlockingIOError:
                await asyncio.sleep(_RETRY_S)
        await self._loop.sock_sendall(sending, data)

    def _on_readable(self) -> None:
        try:
            data = os.read(self._fd, _READ_BYTES)
        except BlockingIOError:
            return
        except ConnectionError:
            data = b""
        if not data:
            self._on_lost()
            return
        *lines, self._received = (self._received + data).split(b"\n")
        for line in lines:
            self._on_answer(json.loads(line))

    def _on_answer(self, answer: Mapping[str, Any]) -> None:
        number = answer["number"]
        if "code" in answer:
            self._running.pop(number).set_result(answer["code"])
            return
        starting = self._starting.pop(number)
        if "error" in answer:
            starting.set_exception(OSError(answer["error"]))
            return
        ended = self._running[number] = self._loop.create_future()
        starting.set_result(Program(answer["pid"], ended))

    def _on_lost(self) -> None:
        """Resolve all futures when the launcher was killed; the next start gets a new one."""
        if not self.is_alive:
            return
        self.close()
        for ended in self._running.values():
            ended.set_result(_LOST)
        for starting in self._starting.values():
            starting.set_exception(LauncherLost("the process that starts programs was killed"))
        self._running.clear()
        self._starting.clear()

    def close(self) -> None:
        """Close the socket, so that the launcher ends."""
        self.is_alive = False
        if not self._loop.is_closed():
            self._loop.remove_reader(self._fd)
        os.close(self._fd)
        _ended.append(self._pid)


_launchers: dict[tuple[asyncio.AbstractEventLoop, str], _Launcher] = {}
_ended: list[int] = []
"""Process ids of closed launchers that still have to be reaped."""


def _launcher(module: str = "") -> _Launcher:
    """Return the running loop's launcher; drop dead ones and those of closed loops."""
    loop = asyncio.get_running_loop()
    for key, launcher in list(_launchers.items()):
        if key[0].is_closed() or not launcher.is_alive:
            del _launchers[key]
            if launcher.is_alive:
                launcher.close()
    for pid in list(_ended):
        with suppress(ChildProcessError):
            if not os.waitpid(pid, os.WNOHANG)[0]:
                continue
        _ended.remove(pid)
    if (loop, module) not in _launchers:
        _launchers[loop, module] = _Launcher(loop, module)
    return _launchers[loop, module]
