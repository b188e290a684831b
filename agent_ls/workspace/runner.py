"""Run commands in a fixed shell: no start-up files, own session, no input, few variables.

A supervisor ends all processes that the command started. If the supervisor is killed, they are
found by a mark in their environment.
"""

from __future__ import annotations

import asyncio
import codecs
import os
import secrets
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

import psutil

from agent_ls.loop.ports.commands import WORK, Boundary, Bounds, CommandOutcome
from agent_ls.loop.shielding import settled
from agent_ls.processes.compiled import compiled
from agent_ls.processes.launching import Program, kept, start
from agent_ls.safety.programs import child_path
from agent_ls.safety.sandbox.builder import SandboxBuilder, held
from agent_ls.safety.sandbox.confinement import ALL_HOSTS, Limits, Wrapped
from agent_ls.workspace.host_proxy import HostProxy
from agent_ls.workspace.live_output import LiveOutput

SHELL = "/bin/bash" if Path("/bin/bash").exists() else "/bin/sh"
_SHELL_OPTIONS = ("--noprofile", "--norc") if SHELL.endswith("bash") else ()
_MARK = "AGENT_LS_COMMAND"
_KEPT_VARIABLES = (
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
_MAX_OUTPUT_BYTES = 2 * 2**20
_EDGE_BYTES = 16 * 2**10
"""Most bytes to drop of a cut line, since part of a secret would not be recognised and masked."""
_READ_BYTES = 65_536
_SUPERVISED_S = 1.6
"""The supervisor needs at most 1.5 s; after that it is assumed to be stuck."""
_SWEEP_S = 1.0
_DRAIN_S = 0.3
_STATUS = 3
"""The supervisor's descriptor for its final status."""
_PROXY = 4
"""The descriptor over which a command hands over its proxy's port."""
_REFUSED = ("Permission denied", "EACCES", "PermissionError")
_READ_ONLY = ("Read-only file system", "EROFS", "resource busy", "EBUSY", "cross-device", "EXDEV")
"""What programs say where a mount holds them."""
_CONFIGURATION = ("could not write config file", "could not lock config file")
"""What git says of its configuration."""
_NOT_CONFIGURED = (
    "sandbox: git could not write its configuration, which is read-only here; if that matters, run "
    "the command with outside_sandbox and a reason, and the user is asked"
)
_SUPERVISOR = Path(__file__).with_name("supervisor.py")
_ALONE = ("-I", "-S")
"""The supervisor imports nothing from the folder or the environment."""
_PYTHON = str(Path(sys.executable).resolve())
"""Without links, which may lead through folders that a sandbox does not show."""


@dataclass(frozen=True, slots=True)
class ShellRunner:
    """Runs commands on this machine, confined if there is a sandbox."""

    builder: SandboxBuilder | None = None
    is_wanted: bool = False
    """Whether commands should be confined, although this machine may have no sandbox."""

    @property
    def boundary(self) -> Boundary:
        """Say whether a sandbox holds commands to their bounds."""
        if self.builder is not None:
            return "sandbox"
        return "missing" if self.is_wanted else "off"

    @property
    def shows_texts(self) -> bool:
        """Say whether confined commands see ``Bounds.texts``."""
        return self.builder is not None and self.builder.sandbox.shows_texts

    async def run(
        self,
        command: str,
        *,
        cwd: Path,
        timeout_s: float,
        on_output: Callable[[str], None] | None = None,
        env: Mapping[str, str] | None = None,
        bounds: Bounds = WORK,
        on_bytes: Callable[[bytes], None] | None = None,
    ) -> CommandOutcome:
        """Run a shell command to its end; on time-out or cancellation kill all its processes.

        Errors: ``OSError`` and ``ValueError`` if it cannot be started.
        """
        started_s = time.monotonic()
        output = _Output(on_output, on_bytes)
        end: Literal["exited", "timed_out"] = "exited"
        proxy = self._proxy(bounds)
        async with AsyncExitStack() as stack:
            if proxy is not None:
                stack.callback(proxy.close)
            wrap = partial(self._wrapped, command, cwd, env or {}, bounds, proxy)
            wrapped = await stack.enter_async_context(held(wrap))
            # Killed at once, the supervisor would leave what it has started.
            running = await kept(_start(wrapped, cwd, proxy), _Running.discard)
            reading = asyncio.create_task(_read(running.output, output))
            try:
                async with asyncio.timeout(timeout_s):
                    await running.process.wait()
            except TimeoutError:
                end = "timed_out"
            finally:
                try:
                    # Also after a normal exit: background processes end with the command.
                    await settled(running.end())
                    await asyncio.wait([reading], timeout=_DRAIN_S)
                finally:
                    reading.cancel()
                    status = running.status()
        output.end()
        is_confined = self.builder is not None and bounds.view != "outside"
        if status.code is None and is_confined and (why := wrapped.refusal(output.text())):
            raise OSError(None, f"the sandbox could not be set up: {why}")
        if status.beyond and self.builder is not None:
            output.note(f"[killed: {_BEYOND[status.beyond](self.builder.options.limits())}]")
        if end == "exited" and status.left:
            output.note(f"[ended with the command: {', '.join(status.left)}]")
        if bounds.view != "outside":
            for hint in self._hints(output.text(), wrapped, has_failed=bool(status.code)):
                output.note(f"[{hint}]")
        for note in proxy.notes if proxy is not None else ():
            output.note(note)
        for note in wrapped.notes:
            output.note(f"[{note}]")
        return CommandOutcome(
            exit_code=status.code if end == "exited" else None,
            output=output.text(),
            end=end,
            duration_ms=int((time.monotonic() - started_s) * 1000),
            is_cut=output.is_cut,
            notes=output.notes,
        )

    def _hints(self, output: str, wrapped: Wrapped, *, has_failed: bool) -> Iterator[str]:
        """Yield what to say of a command's output."""
        if not has_failed:
            # Such as `git submodule add`, which ends well all the same.
            if wrapped.hints and any(one in output for one in _CONFIGURATION):
                yield _NOT_CONFIGURED
        elif self.builder is not None and any(one in output for one in _REFUSED):
            yield from filter(None, (self.builder.sandbox.hint, *wrapped.hints))
        elif any(one in output for one in _READ_ONLY):
            yield from wrapped.hints

    def _proxy(self, bounds: Bounds) -> HostProxy | None:
        """Return the way to the granted hosts. Errors: ``ValueError`` if one is no host."""
        needs_none = not bounds.network or bounds.network == ALL_HOSTS or bounds.view == "outside"
        return None if self.builder is None or needs_none else HostProxy(bounds.network)

    def _wrapped(
        self,
        command: str,
        cwd: Path,
        env: Mapping[str, str],
        bounds: Bounds,
        proxy: HostProxy | None,
    ) -> Wrapped:
        """Return the supervised command with its environment, in the sandbox if it is confined."""
        whole = {**command_environment(), **env}
        builder = None if bounds.view == "outside" else self.builder
        limits = builder.options.limits().in_words() if builder else ""
        argv = (
            *(_PYTHON, *_ALONE, str(compiled(_SUPERVISOR)), str(_STATUS), limits),
            *(SHELL, *_SHELL_OPTIONS, "-c", command),
        )
        if builder is None:
            return Wrapped(argv, whole)
        if proxy is not None:
            argv = proxy.command(argv, _PROXY)
            bounds = replace(bounds, readable=(*bounds.readable, *proxy.readable))
            whole |= proxy.env
        return builder.wrapped(argv, bounds, cwd=cwd, env=whole, text=command)


@dataclass(frozen=True, slots=True)
class _Status:
    """The supervisor's final status."""

    code: int | None = None
    """None if the command was stopped or the supervisor was killed."""
    left: tuple[str, ...] = ()
    """Names of processes that were still running and were ended."""
    beyond: str = ""
    """The name of the limit for which it was killed; empty if for none."""


class _Running:
    """A running command under its supervisor, with the pipes to both."""

    def __init__(self, process: Program, mark: str, control: int, output: int, status: int) -> None:
        self.process = process
        self.output = output
        self._mark = mark
        self._control = control
        self._status = status

    async def end(self) -> None:
        """End all processes of the command; returns at once if none is left."""
        os.close(self._control)
        try:
            async with asyncio.timeout(_SUPERVISED_S):
                await self.process.wait()
        except TimeoutError:
            pass
        if self.process.returncode != 0:
            # The supervisor was killed or stopped: find the processes by their mark.
            await _sweep(self.process, self._mark)

    async def discard(self) -> None:
        """End all processes of a command for which nobody waits, also if cancelled meanwhile."""
        try:
            await settled(self.end())
        finally:
            os.close(self.output)
            os.close(self._status)

    def status(self) -> _Status:
        """Read the supervisor's status; call once, after the end."""
        try:
            said = os.read(self._status, _READ_BYTES)
        except BlockingIOError:
            said = b""
        finally:
            os.close(self._status)
        code, *left = said.decode(errors="replace").split("\n")
        if code in ("", *_BEYOND):
            return _Status(beyond=code)
        return _Status(None if code == "None" else int(code), tuple(left))


_BEYOND: dict[str, Callable[[Limits], str]] = {
    "processes": lambda limits: (
        f"it had more than {limits.processes} processes at once, sandbox.max_processes"
    ),
    "memory": lambda limits: (
        f"too much memory, more than {limits.memory_bytes / 2**30:.1f} GiB, "
        "sandbox.max_memory_bytes"
    ),
}
"""Why a command was killed, by the limit's name as the supervisor writes it."""


async def _start(wrapped: Wrapped, cwd: Path, proxy: HostProxy | None) -> _Running:
    """Start the command under a supervisor, with our own pipes.

    With asyncio's pipes, ``wait`` would wait for every process that holds their other ends.
    """
    mark = secrets.token_hex(16)
    ours: list[int] = []
    theirs: list[int] = []
    try:
        stdin, control = os.pipe()
        theirs.append(stdin)
        ours.append(control)
        for _ in range(2):
            read_end, write_end = os.pipe()
            ours.append(read_end)
            theirs.append(write_end)
        output = theirs[1]
        os.set_blocking(ours[2], False)
        if proxy is not None:
            theirs.append(proxy.descriptor)
            proxy.start()
        process = await start(
            wrapped.argv,
            cwd=cwd,
            env={**wrapped.env, _MARK: mark},
            descriptors=(stdin, output, output, *theirs[2:]),
        )
    except BaseException:
        for descriptor in ours:
            os.close(descriptor)
        raise
    finally:
        for descriptor in theirs:
            os.close(descriptor)
    return _Running(process, mark, *ours)


def command_environment() -> dict[str, str]:
    """Return the environment of commands, without variables that could hold a key."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in _KEPT_VARIABLES or name.startswith(_KEPT_PREFIXES)
    }
    kept["PATH"] = child_path()
    return kept | {"TERM": "dumb", "NO_COLOR": "1", "PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}


class _Output:
    """The output of a command; if it is too long, its beginning and end."""

    def __init__(
        self,
        on_output: Callable[[str], None] | None,
        on_bytes: Callable[[bytes], None] | None,
    ) -> None:
        self._on_bytes = on_bytes
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._live = on_output and LiveOutput(on_output, time.monotonic())
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0
        self._notes: list[str] = []

    def take(self, data: bytes) -> None:
        if self._on_bytes is not None:
            self._on_bytes(data)
        if self._live is not None and (text := self._decoder.decode(data)):
            self._live.take(text, time.monotonic())
        half = _MAX_OUTPUT_BYTES // 2
        room = max(half - len(self._head), 0)
        self._head += data[:room]
        self._tail += data[room:]
        if (excess := len(self._tail) - half) > half:
            # Cut only when the tail is twice its limit, so that cutting stays cheap.
            self._dropped += excess
            del self._tail[:excess]

    @property
    def is_cut(self) -> bool:
        return self._dropped > 0

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(self._notes)

    def note(self, text: str) -> None:
        """Append a line of our own after the output."""
        self._notes.append(text)

    def end(self) -> None:
        """Pass the last line to the live output."""
        if self._live is not None:
            self._live.end()

    def text(self) -> str:
        head, tail, gap = self._head, self._tail, ""
        if self._dropped:
            head, tail = _whole_lines(head, tail)
            dropped = self._dropped + len(self._head) + len(self._tail) - len(head) - len(tail)
            gap = f"\n… ({dropped} bytes left out) …\n"
        head, tail = head.decode(errors="replace"), tail.decode(errors="replace")
        text = (head + gap + tail).replace("\r\n", "\n")
        if self._notes and text and not text.endswith("\n"):
            text += "\n"
        return text + "".join(f"{note}\n" for note in self._notes)


def _whole_lines(head: bytearray, tail: bytearray) -> tuple[bytearray, bytearray]:
    """Drop the incomplete lines at the cut between head and tail."""
    end = head.rfind(b"\n", -_EDGE_BYTES) + 1 or len(head) - _EDGE_BYTES
    begin = tail.find(b"\n", 0, _EDGE_BYTES) + 1 or _EDGE_BYTES
    return head[:end], tail[begin:]


async def _read(read_end: int, output: _Output) -> None:
    """Read the pipe to its end and close it."""
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(read_end, "rb", buffering=0)
    )
    try:
        while data := await reader.read(_READ_BYTES):
            output.take(data)
    finally:
        transport.close()


async def _sweep(process: Program, mark: str) -> None:
    """Kill all processes with the mark, in the session, or below the supervisor."""
    deadline_s = time.monotonic() + _SWEEP_S
    while left := await asyncio.to_thread(_members, process.pid, mark):
        await asyncio.to_thread(_kill_all, left)
        if time.monotonic() >= deadline_s:
            break
    await process.wait()


def _members(pid: int, mark: str) -> list[psutil.Process]:
    """Return the living processes of the command, including the supervisor."""
    found = [one for one in psutil.process_iter() if _belongs(one, pid, mark)]
    with suppress(psutil.Error):
        found += psutil.Process(pid).children(recursive=True)
    return [one for one in found if _is_alive(one)]


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _belongs(process: psutil.Process, leader: int, mark: str) -> bool:
    try:
        if process.pid == leader or os.getsid(process.pid) == leader:
            return True
        return process.environ().get(_MARK) == mark
    except (psutil.Error, OSError):
        return False


def _kill_all(processes: Iterable[psutil.Process]) -> None:
    for one in processes:
        with suppress(psutil.Error):
            one.kill()
