"""Runs one checker's program to its end: no shell, own process group, few variables.

Never leaves a process behind: a time-out and a cancellation kill the whole group.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agent_ls.processes.launching import start_piped

_KEPT_VARIABLES = ("HOME", "LANG", "TMPDIR", "TEMP", "SYSTEMROOT", "USERPROFILE")
_KEPT_PREFIXES = ("LC_", "XDG_")
_MAX_OUTPUT_BYTES = 64 * 2**20
_READ_BYTES = 2**16


@dataclass(frozen=True, slots=True)
class ProgramOutcome:
    """What became of a program."""

    end: Literal["exited", "timed_out", "too_much", "not_started"]
    exit_code: int | None
    """None unless it exited by itself."""
    stdout: str
    stderr: str
    """Why, when it was not started."""


async def run_program(
    command: Sequence[str | Path],
    *,
    cwd: Path,
    path: str,
    stdin: str,
    timeout_s: float,
    variables: Iterable[str] = (),
) -> ProgramOutcome:
    """Run a program with this input and this PATH, and the variables of these names besides.

    Never raises but for cancellation, which kills the program first.
    """
    try:
        piped = await start_piped(
            list(map(str, command)), cwd=cwd, env=_environment(path, variables)
        )
    except OSError as error:
        return ProgramOutcome("not_started", None, "", str(error))
    try:
        async with asyncio.timeout(timeout_s):
            # Lone surrogates cannot be written; a character in their place keeps the columns.
            data = stdin.encode(errors="replace")
            _, stdout, stderr = await asyncio.gather(
                piped.feed(data), _read(piped.stdout), _read(piped.stderr)
            )
            await piped.program.wait()
    except TimeoutError:
        return ProgramOutcome("timed_out", None, "", "")
    except _TooMuchError:
        return ProgramOutcome("too_much", None, "", "")
    finally:
        # Kills what is left of the group, also after an orderly end.
        await asyncio.shield(asyncio.ensure_future(piped.end()))
    return ProgramOutcome("exited", piped.program.returncode, stdout, stderr)


class _TooMuchError(Exception):
    """The program prints without end."""


def _environment(path: str, variables: Iterable[str]) -> dict[str, str]:
    """Return variables none of which could hold a key or change what runs, and those asked for."""
    asked = frozenset(variables)
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in asked or name in _KEPT_VARIABLES or name.startswith(_KEPT_PREFIXES)
    }
    return kept | {"PATH": path, "NO_COLOR": "1"}


async def _read(stream: asyncio.StreamReader) -> str:
    taken = bytearray()
    while data := await stream.read(_READ_BYTES):
        taken += data
        if len(taken) > _MAX_OUTPUT_BYTES:
            raise _TooMuchError
    return taken.decode(errors="replace")
