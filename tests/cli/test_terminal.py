"""``run`` at a real terminal: what a user reads there, and what counts as their answer."""

from __future__ import annotations

import asyncio
import os
import pty
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agent_ls.providers.scripted import ScriptedModel
from tests.support.scripted import scripted

pytestmark = pytest.mark.heavy

_LIMIT_S = 120.0
WRITES = """
[[answer]]
delay_ms = 600
[[answer.call]]
tool = "write_file"
arguments = { path = "asked.txt", content = "hello\\n" }
"""


@dataclass
class Terminal:
    """A terminal in which one process runs."""

    process: asyncio.subprocess.Process
    keyboard: int
    shown: str = ""
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def read(self) -> None:
        try:
            data = os.read(self.keyboard, 65_536)
        except OSError:
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self.keyboard)
        self.shown += data.decode(errors="replace")
        self._news.set()

    def type(self, text: str) -> None:
        os.write(self.keyboard, text.encode())

    async def until(self, words: str) -> None:
        await self.until_times(words, 1)

    async def until_times(self, words: str, times: int) -> None:
        async with asyncio.timeout(_LIMIT_S):
            while self.shown.count(words) < times:
                self._news.clear()
                await self._news.wait()

    async def ended(self) -> int:
        async with asyncio.timeout(_LIMIT_S):
            return await self.process.wait()


@asynccontextmanager
async def at_terminal(folder: Path, model: ScriptedModel, *words: str) -> AsyncGenerator[Terminal]:
    """Start ``run`` in a terminal of its own."""
    keyboard, screen = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "agent_ls", "run", "--model", "openai/scripted"),
        *("--workspace", str(folder), *words),
        stdin=screen,
        stdout=screen,
        stderr=screen,
        env={
            "PATH": os.environ["PATH"],
            "AGENT_LS_SANDBOX": "off",
            "HOME": str(folder.parent),
            "AGENT_LS_API_BASE": model.base_url,
            "LANG": "C.UTF-8",
        },
        start_new_session=True,
    )
    os.close(screen)
    terminal = Terminal(process, keyboard)
    asyncio.get_running_loop().add_reader(keyboard, terminal.read)
    try:
        yield terminal
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        asyncio.get_running_loop().remove_reader(keyboard)
        os.close(keyboard)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "project"
    place.mkdir()
    return place


async def test_what_was_typed_before_the_question_does_not_answer_it(folder: Path) -> None:
    async with (
        scripted(WRITES + '[[answer]]\ntext = "Well."') as model,
        at_terminal(folder, model, "Write it.") as terminal,
    ):
        await terminal.until("Step 1")
        terminal.type("y\n")
        await terminal.until("words that say no")
        terminal.type("rather not\n")
        assert await terminal.ended() == 2
    assert not (folder / "asked.txt").exists()
    assert "rejected: rather not" in terminal.shown


@pytest.mark.parametrize(
    ("call", "once"),
    [
        ('tool = "run_command"\narguments = { command = "touch asked.txt" }', "touch asked.txt"),
        (WRITES.partition("[[answer.call]]\n")[2], "Create asked.txt"),
    ],
    ids=["command", "edit"],
)
async def test_a_question_says_each_thing_once_and_that_enter_is_needed(
    folder: Path, call: str, once: str
) -> None:
    scenario = f'[[answer]]\n[[answer.call]]\n{call}\n[[answer]]\ntext = "Well."\n'
    async with scripted(scenario) as model, at_terminal(folder, model, "Do it.") as terminal:
        await terminal.until("then Enter: ")
        asked = terminal.shown
        assert asked.count(once) == 1, asked
        reason = asked[asked.rindex("\n(") + 1 :].partition("\r\n")[0]
        assert asked.count(reason.strip("()")) == 1
        terminal.type("\n")
        await terminal.until_times("then Enter: ", 2)
        again = terminal.shown[len(asked) :].strip("\r\n")
        assert again.startswith("Nothing is decided yet: y/")
        assert "\n" not in again
        terminal.type("no\n")
        # A command that was refused is not missing; an edit that was rejected is not made.
        assert await terminal.ended() == (0 if "run_command" in call else 2)


async def test_a_process_that_is_stopped_while_it_asks_ends(folder: Path) -> None:
    async with (
        scripted(WRITES) as model,
        at_terminal(folder, model, "Write it.") as terminal,
    ):
        await terminal.until("words that say no")
        terminal.process.send_signal(signal.SIGTERM)
        assert await terminal.ended() == 130
    assert "Cancelled" in terminal.shown


async def test_an_answer_stands_on_the_screen_once_and_controls_nothing(folder: Path) -> None:
    scenario = '[[answer]]\ntext = "All \\u001b[31mred\\u001b]0;title\\u0007 now."'
    async with (
        scripted(scenario) as model,
        at_terminal(folder, model, "Paint it.") as terminal,
    ):
        assert await terminal.ended() == 0
        await terminal.until("tokens")
    assert terminal.shown.count("title") == 1
    assert "\x1b" not in terminal.shown


async def test_a_key_that_means_nothing_decides_nothing(folder: Path) -> None:
    async with (
        scripted(WRITES + '[[answer]]\ntext = "Well."') as model,
        at_terminal(folder, model, "Write it.") as terminal,
    ):
        for times, slip in enumerate(("", "j", "yes!!", "x", "Y es", "yes but later", "?"), 1):
            await terminal.until_times("words that say no", times)
            terminal.type(f"{slip}\n")
        await terminal.until_times("words that say no", 8)
        assert "'yes!!' is no answer" in terminal.shown
        assert "allow every edit of a text file until the session ends" in terminal.shown
        assert "_once" not in terminal.shown
        terminal.type("y\n")
        assert await terminal.ended() == 0
    assert (folder / "asked.txt").read_text() == "hello\n"
