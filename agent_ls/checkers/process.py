"""Run a checker's program to its end: no shell, own process group, few environment variables.

It runs in the sandbox if there is one: what it loads from the folder, the model may have written.
Leaves no process behind: a time-out or cancellation kills the whole group.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Coroutine, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

from agent_ls.loop.shielding import settled
from agent_ls.processes.launching import PipedProgram, Program, start_piped
from agent_ls.safety.sandbox.builder import SandboxBuilder, held
from agent_ls.safety.sandbox.confinement import Wrapped

T = TypeVar("T")
_KEPT_VARIABLES = ("HOME", "LANG", "TMPDIR", "TEMP", "SYSTEMROOT", "USERPROFILE")
_KEPT_PREFIXES = ("LC_", "XDG_")
_MAX_OUTPUT_BYTES = 64 * 2**20
_READ_BYTES = 2**16
_NOT_EXECUTED = 127
_DRAIN_S = 1.0
"""Time to read the remaining output after the program ended; usually much less is needed."""


@dataclass(frozen=True, slots=True)
class ProgramOutcome:
    """How a program ended, and its output."""

    end: Literal["exited", "timed_out", "too_much", "not_started"]
    exit_code: int | None
    """None unless it exited by itself."""
    stdout: str
    stderr: str
    """If the program was not started: the reason."""


async def run_program(
    command: Sequence[str | Path],
    *,
    cwd: Path,
    path: str,
    stdin: str,
    timeout_s: float,
    variables: Iterable[str] = (),
    builder: SandboxBuilder | None = None,
    readable: Sequence[Path] = (),
    writable: Sequence[Path] = (),
) -> ProgramOutcome:
    """Run a program with this input and PATH; ``variables`` are names to pass on in addition.

    With a ``builder`` it runs in the sandbox: it sees the workspace and ``readable``, and changes
    only ``writable``.
    Never raises, except on cancellation, which kills the program first.
    """
    words, env = tuple(map(str, command)), _environment(path, variables)
    try:
        if builder is None:
            return await _run(Wrapped(words, env), cwd, stdin, timeout_s)
        wrap = partial(
            builder.wrapped_checker, words, cwd=cwd, env=env, readable=readable, writable=writable
        )
        async with held(wrap) as wrapped:
            outcome = await _run(wrapped, cwd, stdin, timeout_s)
    except OSError as error:
        return ProgramOutcome("not_started", None, "", str(error))
    refusal = _refusal(outcome, wrapped, words[0])
    return ProgramOutcome("not_started", None, "", refusal) if refusal else outcome


@asynccontextmanager
async def start_server(
    command: Sequence[str | Path], *, cwd: Path, path: str, builder: SandboxBuilder | None
) -> AsyncGenerator[PipedProgram]:
    """Provide a program that runs until the end of the block, in a checker's view.

    What it prints as errors is dropped. Errors: ``OSError`` if it cannot be started.
    """
    words, env = tuple(map(str, command)), _environment(path, ())
    async with AsyncExitStack() as ends:
        wrapped = Wrapped(words, env)
        if builder is not None:
            wrap = partial(builder.wrapped_checker, words, cwd=cwd, env=env)
            wrapped = await ends.enter_async_context(held(wrap))
        piped = await start_piped(wrapped.argv, cwd=cwd, env=wrapped.env)
        dropping = asyncio.create_task(_drop(piped.stderr))
        try:
            yield piped
        finally:
            dropping.cancel()
            await settled(piped.end())


async def _drop(stream: asyncio.StreamReader) -> None:
    while await stream.read(_READ_BYTES):
        pass


def _refusal(outcome: ProgramOutcome, wrapped: Wrapped, program: str) -> str:
    """Return why the program did not start in the sandbox; empty if it did."""
    if not outcome.exit_code or outcome.stdout:
        return ""
    if outcome.exit_code == _NOT_EXECUTED and outcome.stderr.startswith(f"{program}: "):
        return f"{outcome.stderr.strip()} (the sandbox shows what is on PATH and in sandbox.read)"
    return wrapped.refusal(outcome.stderr)


async def _run(wrapped: Wrapped, cwd: Path, stdin: str, timeout_s: float) -> ProgramOutcome:
    """Run a program to its end. Errors: ``OSError`` if it cannot be started."""
    piped = await start_piped(wrapped.argv, cwd=cwd, env=wrapped.env)
    stdout, stderr = bytearray(), bytearray()
    # Lone surrogates cannot be encoded; a replacement character keeps the columns.
    data = stdin.encode(errors="replace")
    reading = asyncio.gather(
        piped.feed(data), _read(piped.stdout, stdout), _read(piped.stderr, stderr)
    )
    # Retrieve the exception, else asyncio logs it when the program was cancelled.
    reading.add_done_callback(lambda done: done.cancelled() or done.exception())
    try:
        async with asyncio.timeout(timeout_s):
            await _ended(piped.program, reading)
    except TimeoutError:
        return ProgramOutcome("timed_out", None, "", "")
    except _TooMuchError:
        return ProgramOutcome("too_much", None, "", "")
    finally:
        reading.cancel()
        # Kill the rest of the group, also after a normal exit.
        await asyncio.shield(asyncio.ensure_future(piped.end()))
    texts = (taken.decode(errors="replace") for taken in (stdout, stderr))
    return ProgramOutcome("exited", piped.program.returncode, *texts)


async def _ended(program: Program, reading: asyncio.Future[Any]) -> None:
    """Wait until a program has ended and its output is read. Errors: ``_TooMuchError``."""
    ending = asyncio.ensure_future(program.wait())
    await asyncio.wait([ending, reading], return_when=asyncio.FIRST_COMPLETED)
    if not reading.done():
        # A daemon that it started may hold the pipes open for ever.
        await program.end()
        await asyncio.wait([reading], timeout=_DRAIN_S)
    if reading.done():
        reading.result()
    await ending


class _TooMuchError(Exception):
    """The program prints more than the limit."""


def _environment(path: str, variables: Iterable[str]) -> dict[str, str]:
    """Return the requested variables, and those that hold no keys and do not affect what runs."""
    asked = frozenset(variables)
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in asked or name in _KEPT_VARIABLES or name.startswith(_KEPT_PREFIXES)
    }
    return kept | {"PATH": path, "NO_COLOR": "1"}


async def _read(stream: asyncio.StreamReader, taken: bytearray) -> None:
    while data := await stream.read(_READ_BYTES):
        taken += data
        if len(taken) > _MAX_OUTPUT_BYTES:
            raise _TooMuchError


async def together(works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Run coroutines concurrently and return their results in order.

    On cancellation it waits until all have ended; ``asyncio.gather`` would return while their
    programs still run.
    """
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one) for one in works]
    return [one.result() for one in tasks]
