"""One session's background programs: started, read and stopped by name, and ended with the session.

Each is an ordinary run of the command runner, in a task of its own. Only the newest part of its
output is kept, in memory.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path

from agent_ls.domain.errors import StoreError, ToolError
from agent_ls.domain.events import BackgroundEnd, BackgroundEnded, BackgroundStarted
from agent_ls.loop.ports.commands import BackgroundOutput, Bounds, Runner
from agent_ls.loop.shielding import finished
from agent_ls.loop.state.recorder import Recorder
from agent_ls.safety.secrets import can_part, ends_in_key, mask_part

_log = logging.getLogger(__name__)

_MAX_RUNNING = 8
_MAX_ENDED = 8
"""How many programs that have ended can still be read."""
_KEPT_BYTES = 256 * 2**10
"""Of each program's output."""
_MAX_LINE_BYTES = 16 * 2**10
"""A longer line is parted: something else than a line end is awaited in vain."""
_START_S = 1.0
"""Within this many seconds most commands with a mistake in them have ended."""


class RecordedBackground:
    """The ``Background`` of one session."""

    def __init__(self, recorder: Recorder, runner: Runner, *, start_s: float = _START_S) -> None:
        """``start_s`` is how long a start waits for the program's end."""
        self._start_s = start_s
        self._recorder = recorder
        self._runner = runner
        self._programs: dict[str, _Program] = {}
        self._is_closed = False

    async def start(
        self,
        started: BackgroundStarted,
        *,
        cwd: Path,
        env: Mapping[str, str] | None,
        bounds: Bounds,
    ) -> BackgroundOutput:
        """Record the start, then run the program; return its first output after a moment."""
        name = started.name
        if self._is_closed:
            raise ToolError("The session is being closed, so nothing starts any more.")
        if name in self._running:
            raise ToolError(
                f"{name} runs already: {self._programs[name].command}. Stop it first with "
                "background, or use another name."
            )
        if len(self._running) >= _MAX_RUNNING:
            names = ", ".join(self._running)
            raise ToolError(f"{_MAX_RUNNING} background programs run: {names}. Stop one first.")
        self._programs.pop(name, None)
        self._forget_oldest()
        program = self._programs[name] = _Program(started.command)
        program.task = asyncio.create_task(
            self._run(program, started, cwd=cwd, env=env, bounds=bounds),
            name=f"background program {name} of {self._recorder.session_id}",
        )
        try:
            await asyncio.wait([program.task], timeout=self._start_s)
        except asyncio.CancelledError:
            # The call is given up, so nobody knows of the program.
            await finished(self._end(program, "stopped"))
            raise
        return program.output(0)

    async def output(self, name: str, *, after_bytes: int, wait_s: float) -> BackgroundOutput:
        """Return the output behind this place; if there is none, wait for it or for the end."""
        program = self._program(name)
        if wait_s > 0 and program.task is not None:
            try:
                async with asyncio.timeout(wait_s):
                    while not (program.has_ended or program.output(after_bytes).text):
                        await program.changed()
            except TimeoutError:
                pass
        return program.output(after_bytes)

    async def stop(self, name: str) -> None:
        """End a program with everything it has started."""
        await finished(self._end(self._program(name), "stopped"))

    async def close(self) -> None:
        """End all programs at once; none starts any more."""
        self._is_closed = True
        await asyncio.gather(*(self._end(one, "closed") for one in self._programs.values()))

    @property
    def _running(self) -> list[str]:
        return [name for name, one in self._programs.items() if not one.is_over]

    def _program(self, name: str) -> _Program:
        if name in self._programs:
            return self._programs[name]
        known = ", ".join(self._programs) or "none"
        raise ToolError(f"There is no background program {name} here; there is: {known}.")

    async def _end(self, program: _Program, end: BackgroundEnd) -> None:
        if program.task is not None and not program.task.done():
            program.stop_as = program.stop_as or end
            program.task.cancel()
            await asyncio.wait([program.task])

    async def _run(
        self,
        program: _Program,
        started: BackgroundStarted,
        *,
        cwd: Path,
        env: Mapping[str, str] | None,
        bounds: Bounds,
    ) -> None:
        try:
            await self._recorder.emit(started)
        except StoreError as error:
            ended = BackgroundEnded(name=started.name, end="failed")
            program.finish(ended, failure=f"its start could not be stored: {error}")
            return
        try:
            outcome = await self._runner.run(
                started.command,
                cwd=cwd,
                timeout_s=started.limit_s,
                env=env,
                bounds=bounds,
                on_bytes=program.take,
            )
        except asyncio.CancelledError:
            # Only ``_end`` cancels, and the runner has ended all processes by now.
            end, code, notes, failure = program.stop_as or "closed", None, (), ""
        except Exception as error:
            if not isinstance(error, OSError | ValueError):
                _log.exception("the background program %s failed", started.name)
            why = getattr(error, "strerror", None) or str(error) or type(error).__name__
            end, code, notes, failure = "failed", None, (), why
        else:
            end = "stopped" if outcome.end == "cancelled" else outcome.end
            code, notes, failure = outcome.exit_code, outcome.notes, ""
        ended = BackgroundEnded(name=started.name, end=end, exit_code=code)
        program.finish(ended, notes, failure)
        try:
            await finished(self._recorder.emit(ended))
        except StoreError as error:
            # Such as when another process has taken the session over; it finds the program gone.
            _log.warning("the end of background program %s is not stored: %s", started.name, error)

    def _forget_oldest(self) -> None:
        """Forget all but the newest programs that have ended: their output takes memory."""
        ended = [name for name, one in self._programs.items() if one.is_over]
        for name in ended[:-_MAX_ENDED]:
            del self._programs[name]


async def settle_background(recorder: Recorder) -> None:
    """Record that programs are gone that a dead process ran: they have died with it."""
    for name, program in recorder.state.background.items():
        if program.ended is None:
            await recorder.emit(BackgroundEnded(name=name, end="lost"))


class _Program:
    """A background program: its task, and the newest part of its output."""

    def __init__(self, command: str) -> None:
        self.command = command
        self.task: asyncio.Task[None] | None = None
        self.stop_as: BackgroundEnd | None = None
        """How its end is told once it has been asked to end."""
        self._kept = bytearray()
        self._dropped_bytes = 0
        self._is_dropped_in_key = False
        """What was dropped ends inside a private key."""
        self._ended: BackgroundEnded | None = None
        self._failure = ""
        self._change = asyncio.Event()

    @property
    def is_over(self) -> bool:
        return self.task is None or self.task.done()

    @property
    def has_ended(self) -> bool:
        """Say whether all its output is here, though its end may not be stored yet."""
        return self._ended is not None or self.is_over

    def take(self, data: bytes) -> None:
        """Keep new output, and drop the oldest beyond the limit."""
        self._kept += data
        excess = len(self._kept) - _KEPT_BYTES
        if excess > _KEPT_BYTES:
            # Cut only when there is twice the limit, so that cutting stays cheap.
            self._drop(excess)
        self._change.set()

    def finish(
        self, ended: BackgroundEnded, notes: tuple[str, ...] = (), failure: str = ""
    ) -> None:
        """Take the end of the output, and what agent-ls says behind it."""
        if notes and self._kept and not self._kept.endswith(b"\n"):
            self._kept += b"\n"
        self._kept += "".join(f"{note}\n" for note in notes).encode(errors="replace")
        self._ended, self._failure = ended, failure
        self._change.set()

    async def changed(self) -> None:
        """Wait for more output, or for the end."""
        self._change.clear()
        await self._change.wait()

    def output(self, after_bytes: int) -> BackgroundOutput:
        """Return what is kept behind a place, up to the last line end while it runs."""
        excess = len(self._kept) - _KEPT_BYTES
        first = max(after_bytes, self._dropped_bytes + max(excess, 0))
        data = bytes(self._kept[first - self._dropped_bytes :])
        if first > after_bytes:
            # Half a line could hold half a secret, which nobody would recognise.
            begin = data.find(b"\n", 0, _MAX_LINE_BYTES) + 1 or min(len(data), _MAX_LINE_BYTES)
            first, data = first + begin, data[begin:]
        if self._ended is None:
            data = data[: _whole_lines(data)]
        before = self._kept[: first - self._dropped_bytes].decode("latin-1")
        is_in_key = ends_in_key(before, is_in_key=self._is_dropped_in_key)
        text, _ = mask_part(data.decode(errors="replace"), is_in_key=is_in_key)
        return BackgroundOutput(
            text=text.replace("\r\n", "\n"),
            until_bytes=first + len(data),
            left_out_bytes=first - after_bytes,
            ended=self._ended,
            failure=self._failure,
        )

    def _drop(self, size: int) -> None:
        dropped = self._kept[:size].decode("latin-1")
        self._is_dropped_in_key = ends_in_key(dropped, is_in_key=self._is_dropped_in_key)
        del self._kept[:size]
        self._dropped_bytes += size


def _whole_lines(data: bytes) -> int:
    """Return where the last line ends at which no secret is parted; 0 if none does."""
    text = data.decode("latin-1")
    end = _line_end(text, len(text))
    while end and not can_part(text, end):
        end = _line_end(text, end - 1)
    if not end and len(data) > _MAX_LINE_BYTES:
        cut = len(data) - _MAX_LINE_BYTES
        # Not within a character.
        while cut and data[cut] & 0xC0 == 0x80:
            cut -= 1
        return cut
    return end


def _line_end(text: str, before: int) -> int:
    # Progress displays end lines with CR.
    return max(text.rfind("\n", 0, before), text.rfind("\r", 0, before)) + 1
