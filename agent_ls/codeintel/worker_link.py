"""The server's end of the pipe to the worker process.

Starts the process on the first question and restarts it if it has ended. Kills it if an answer
takes too long, and with the server. Questions are answered one at a time.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import agent_ls
from agent_ls.codeintel.worker import HEADER
from agent_ls.domain.errors import ToolError
from agent_ls.processes.launching import PipedProgram, start_piped

_MODULE = "agent_ls.codeintel.worker"
_ENVIRONMENT = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "PATH", "SYSTEMROOT", "XDG_CACHE_HOME")


class WorkerLink:
    """Sends questions to the worker process, which it starts and ends."""

    def __init__(self, cache: Path | None, limit_s: float) -> None:
        """Take the folder of the tag files, and the time limit for one answer."""
        self._cache = cache
        self._limit_s = limit_s
        self._piped: PipedProgram | None = None
        self._asking = asyncio.Lock()
        self._is_closed = False

    async def ask(self, question: Mapping[str, Any]) -> Any:
        """Return the answer; cancelling the caller does not break the pipe.

        Errors: ``ToolError`` if it takes too long, the process ends, or the question fails.
        """
        return await asyncio.shield(asyncio.ensure_future(self._ask(question)))

    async def _ask(self, question: Mapping[str, Any]) -> Any:
        # Large texts are serialized in a thread.
        data = await asyncio.to_thread(_framed, question)
        async with self._asking:
            try:
                async with asyncio.timeout(self._limit_s):
                    answer = await self._exchange(data)
            except TimeoutError:
                await self._end()
                raise ToolError(f"Parsing took longer than {self._limit_s:g} s.") from None
            except (OSError, EOFError) as error:
                await self._end()
                raise ToolError(f"The process that parses ended ({error}). Try again.") from None
        if "error" in answer:
            raise ToolError(f"It could not be parsed: {answer['error']}.")
        return answer["answer"]

    async def _exchange(self, data: bytes) -> dict[str, Any]:
        """Send a frame and return the answer; retry once if the process had ended."""
        fresh = self._piped is None or self._piped.program.returncode is not None
        piped = await self._started()
        try:
            return await _one_answer(piped, data)
        except (OSError, EOFError):
            # It may have ended because it was idle for long.
            if fresh:
                raise
        await self._end()
        return await _one_answer(await self._started(), data)

    async def _started(self) -> PipedProgram:
        if self._is_closed:
            raise OSError("the server is closing")
        if self._piped is not None and self._piped.program.returncode is not None:
            await self._end()
        if self._piped is None:
            env = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
            env["PYTHONPATH"] = str(Path(agent_ls.__file__).parent.parent)
            # -P: import nothing from the current folder.
            command = [sys.executable, "-P", "-m", _MODULE]
            command += [str(self._cache)] if self._cache else []
            self._piped = await start_piped(command, cwd=None, env=env)
        return self._piped

    async def _end(self) -> None:
        piped, self._piped = self._piped, None
        if piped is not None:
            await asyncio.shield(asyncio.ensure_future(piped.end()))

    async def close(self) -> None:
        """End the process; later questions fail."""
        self._is_closed = True
        await self._end()

    @property
    def pid(self) -> int | None:
        """Return the worker's process id; None if none runs."""
        return self._piped.program.pid if self._piped else None


def _framed(question: Mapping[str, Any]) -> bytes:
    data = json.dumps(question, separators=(",", ":")).encode()
    return HEADER.pack(len(data)) + data


async def _one_answer(piped: PipedProgram, data: bytes) -> dict[str, Any]:
    feeding = asyncio.ensure_future(_feed(piped, data))
    try:
        header = await piped.stdout.readexactly(HEADER.size)
        answer = await piped.stdout.readexactly(HEADER.unpack(header)[0])
    except EOFError:
        said = (await piped.stderr.read(4_096)).decode(errors="replace").strip()
        raise EOFError(said.rpartition("\n")[2] or "it said nothing") from None
    finally:
        feeding.cancel()
        with suppress(asyncio.CancelledError, OSError):
            await feeding
    return cast("dict[str, Any]", await asyncio.to_thread(json.loads, answer))


async def _feed(piped: PipedProgram, data: bytes) -> None:
    piped.stdin.write(data)
    await piped.stdin.drain()
