"""A real pseudo-terminal with a program in it, and what a user sees of it."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import struct
import sys
import termios
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pyte
from rich.style import Style
from rich.text import Text

from agent_ls.providers.scripted import ScriptedModel

_LIMIT_S = 120.0
_HISTORY_LINES = 2_000
_COLOURS = {"default": None, "brown": "yellow"}
"""Where pyte calls one otherwise than rich."""


class SeenTerminal:
    """A terminal as its user sees it; the program's bytes are kept, too."""

    def __init__(self, columns: int, rows: int) -> None:
        self.screen = pyte.HistoryScreen(columns, rows, history=_HISTORY_LINES, ratio=0.5)
        self.raw = b""
        self.pid = 0
        self._stream = pyte.ByteStream(self.screen)
        self._keyboard = -1
        self._is_read = asyncio.Event()
        """Set when the program has ended and everything of it was read."""
        self._news = asyncio.Event()
        self._ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    @property
    def visible(self) -> str:
        """Return what stands on the screen now."""
        return "\n".join(line.rstrip() for line in self.screen.display).rstrip()

    @property
    def shown(self) -> str:
        """Return what stands on the screen and above it."""
        above = [
            "".join(line[column].data for column in range(self.screen.columns)).rstrip()
            for line in self.screen.history.top
        ]
        return "\n".join([*above, self.visible])

    @property
    def rows(self) -> list[Text]:
        """Return what stands on the screen and above it, with its colours."""
        columns = range(self.screen.columns)
        below = (self.screen.buffer[row] for row in range(self.screen.lines))
        rows = [
            Text.assemble(*((line[at].data, _style(line[at])) for at in columns))
            for line in (*self.screen.history.top, *below)
        ]
        while rows and not rows[-1].plain.strip():
            rows.pop()
        return rows

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._keyboard, text.encode())

    def resize(self, columns: int, rows: int) -> None:
        """Give the window another size, as a user does with the mouse."""
        self.screen.resize(rows, columns)
        fcntl.ioctl(self._keyboard, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def hang_up(self) -> None:
        """Close the window."""
        asyncio.get_running_loop().remove_reader(self._keyboard)
        os.close(self._keyboard)
        self._keyboard = -1

    async def until(self, words: str, *, times: int = 1) -> None:
        """Wait until words were shown so often, on one line or wrapped."""
        wanted = " ".join(words.split())
        await self.until_true(lambda: " ".join(self.shown.split()).count(wanted) >= times, words)

    async def until_true(self, holds: Callable[[], bool], what: str) -> None:
        """Wait for something to be seen. Errors: ``AssertionError`` with the screen."""
        try:
            async with asyncio.timeout(_LIMIT_S):
                while not holds():
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            raise AssertionError(f"{what!r} was never seen:\n{self.shown}") from None

    async def ended(self) -> int:
        """Wait for the program's end and return its exit code; minus a signal's number."""
        async with asyncio.timeout(_LIMIT_S):
            while True:
                pid, status = os.waitpid(self.pid, os.WNOHANG)  # noqa: ASYNC222 - it does not wait
                if pid:
                    self.pid = 0
                    if self._keyboard >= 0:
                        await self._is_read.wait()
                    return os.waitstatus_to_exitcode(status)
                await asyncio.sleep(0.02)

    def _read(self) -> None:
        data = b""
        with suppress(OSError):
            data = os.read(self._keyboard, 65_536)
        if not data:
            self._is_read.set()
            asyncio.get_running_loop().remove_reader(self._keyboard)
        self.raw += data
        self._stream.feed(data)
        self._news.set()

    def start(self, command: list[str], env: Mapping[str, str], cwd: Path) -> None:
        """Start a program whose terminal this is."""
        pid, keyboard = pty.fork()
        if pid == 0:
            try:
                os.chdir(cwd)
                os.execve(command[0], command, dict(env))
            finally:
                os._exit(127)
        self.pid, self._keyboard = pid, keyboard
        self.resize(self.screen.columns, self.screen.lines)
        asyncio.get_running_loop().add_reader(keyboard, self._read)

    def end(self) -> None:
        """Kill what still runs, and close the terminal."""
        if self.pid:
            os.kill(self.pid, 9)
            os.waitpid(self.pid, 0)
        if self._keyboard >= 0:
            self.hang_up()


def _style(char: pyte.screens.Char) -> Style:
    if char.reverse:
        # The default colours have no names that could change places.
        return Style(color="black", bgcolor="white", bold=char.bold)
    return Style(
        color=_COLOURS.get(char.fg, char.fg),
        bgcolor=_COLOURS.get(char.bg, char.bg),
        bold=char.bold,
        italic=char.italics,
        underline=char.underscore,
    )


@asynccontextmanager
async def at_screen(
    folder: Path,
    model: ScriptedModel | None,
    *words: str,
    columns: int = 80,
    rows: int = 30,
    variables: Mapping[str, str] | None = None,
) -> AsyncGenerator[SeenTerminal]:
    """Start ``agent-ls`` in a terminal of its own, in a folder whose parent is the home."""
    terminal = SeenTerminal(columns, rows)
    env = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "AGENT_LS_SANDBOX": "off",
        "AGENT_LS_MODEL": "openai/scripted",
        "HOME": str(folder.parent),
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        **({"AGENT_LS_API_BASE": model.base_url} if model else {}),
        **(variables or {}),
    }
    terminal.start([sys.executable, "-m", "agent_ls", *words], env, folder)
    try:
        yield terminal
    finally:
        terminal.end()
