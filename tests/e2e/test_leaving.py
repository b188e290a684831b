"""The editor leaves, in every way it can: nothing of the server stays behind."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import psutil
import pytest

from agent_ls.providers.scripted import ScriptedModel
from tests.support.archive import Archive
from tests.support.client_editors import ClientEditor
from tests.support.markers import Step, Story
from tests.support.storyteller import Storyteller

pytestmark = pytest.mark.e2e

SCENARIO = """
[[answer]]
[[answer.call]]
tool = "run_command"
arguments = { command = "sleep 301 & sleep 302" }
"""
SETTINGS = 'mode = "auto"\n'


async def shut_down(editor: ClientEditor) -> None:
    assert await editor.stop() == 0


async def close_the_pipe(editor: ClientEditor) -> None:
    process = editor.process()
    assert process.stdin is not None
    process.stdin.close()
    async with asyncio.timeout(10):
        await process.wait()


async def terminate(editor: ClientEditor) -> None:
    process = editor.process()
    process.terminate()
    async with asyncio.timeout(10):
        await process.wait()


async def check(leave: Callable[[ClientEditor], Awaitable[None]], folder: Path) -> None:
    archive = Archive("", {"settings": SETTINGS, "file a.py": "x = 1\n", "steps": ""})
    steps: tuple[Step, ...] = ()
    async with ScriptedModel(SCENARIO) as model:
        teller = Storyteller(Story("leaving", archive, steps), "vscode", folder, model)
        teller.prepare()
        await teller.start()
        await teller.step_prompt("Sleep")
        await teller.step_progress("run_command sleep")
        server = psutil.Process(teller.editor.process().pid)
        family = await running(server, "302")
        await leave(teller.editor)
        gone, alive = await asyncio.to_thread(psutil.wait_procs, family, 10)
        assert alive == [], f"still there: {alive}; gone: {gone}"


async def running(server: psutil.Process, argument: str) -> list[psutil.Process]:
    """Return the server's descendants once one of them has this argument."""
    async with asyncio.timeout(30):
        while True:
            family = await asyncio.to_thread(server.children, True)
            if any(argument in one.cmdline() for one in family if one.is_running()):
                return [server, *family]
            await asyncio.sleep(0.05)


@pytest.mark.parametrize(
    "leave",
    [
        pytest.param(shut_down, id="shutdown-and-exit"),
        pytest.param(close_the_pipe, id="the-pipe-closes"),
        pytest.param(terminate, id="sigterm"),
    ],
)
async def test_no_process_stays_behind(
    leave: Callable[[ClientEditor], Awaitable[None]], tmp_path: Path
) -> None:
    await check(leave, tmp_path)
