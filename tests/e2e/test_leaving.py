"""The editor leaves, in every way it can: no process stays behind, and no turn is lost."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import psutil
import pytest

from agent_ls.providers.scripted import ScriptedModel
from tests.support.archive import Archive
from tests.support.client_editors import ClientEditor
from tests.support.markers import Place, Step, Story
from tests.support.storyteller import Storyteller

pytestmark = pytest.mark.e2e

SLEEPING = ("301", "302", "303")
SCENARIO = """
[[answer]]
[[answer.call]]
tool = "run_command"
arguments = { command = '''
(setsid nohup sleep 301 >/dev/null 2>&1 &)
(env -i setsid sleep 303 &)
sleep 302''' }
"""
SETTINGS = 'mode = "auto"\n'


async def shut_down(editor: ClientEditor) -> None:
    assert await editor.stop() == 0


async def close_the_pipe(editor: ClientEditor) -> None:
    process = editor.process()
    assert process.stdin is not None
    process.stdin.close()
    async with asyncio.timeout(60):
        await process.wait()


async def terminate(editor: ClientEditor) -> None:
    process = editor.process()
    process.terminate()
    async with asyncio.timeout(60):
        await process.wait()


async def kill(editor: ClientEditor) -> None:
    process = editor.process()
    process.kill()
    await process.wait()


async def stop_the_turn(editor: ClientEditor) -> None:
    await editor.execute("agent-ls.stop")


async def check(leave: Callable[[ClientEditor], Awaitable[None]], folder: Path) -> None:
    archive = Archive("", {"settings": SETTINGS, "file a.py": "x = 1\n", "steps": ""})
    steps: tuple[Step, ...] = ()
    async with ScriptedModel(SCENARIO) as model:
        teller = Storyteller(Story("leaving", archive, steps), "vscode", folder, model)
        teller.prepare()
        await teller.start()
        await teller.step_prompt("Sleep")
        server = psutil.Process(teller.editor.process().pid)
        family = await running(server)
        asleep = [one for one in family if "sleep" in one.cmdline()]
        await leave(teller.editor)
        _, alive = await asyncio.to_thread(psutil.wait_procs, asleep, 2)
        assert alive == [], f"still there after 2 s: {alive}"
        if leave is stop_the_turn:
            await shut_down(teller.editor)
        gone, alive = await asyncio.to_thread(psutil.wait_procs, family, 10)
        assert alive == [], f"still there: {alive}; gone: {gone}"


async def running(server: psutil.Process) -> list[psutil.Process]:
    """Return the server and its descendants once all that the command starts are there."""
    async with asyncio.timeout(60):
        while True:
            family = await asyncio.to_thread(server.children, True)
            lines = [line for one in family if (line := _line(one))[:1] == ["sleep"]]
            if {line[1] for line in lines} == set(SLEEPING):
                return [server, *family]
            await asyncio.sleep(0.05)


def _line(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


LEAVING = pytest.mark.parametrize(
    "leave",
    [
        pytest.param(shut_down, id="shutdown-and-exit"),
        pytest.param(close_the_pipe, id="the-pipe-closes"),
        pytest.param(terminate, id="sigterm"),
    ],
)


@pytest.mark.parametrize("leave", [shut_down, close_the_pipe, terminate, kill, stop_the_turn])
async def test_no_process_stays_behind(
    leave: Callable[[ClientEditor], Awaitable[None]], tmp_path: Path
) -> None:
    await check(leave, tmp_path)


ANSWERS = """
[[answer]]
text = "The first half. Never sent."
chunk = 4
hang = "middle"

[[answer]]
expect = { contains = ["The first"] }
text = " The second half."
"""
ASKS = """
[[answer]]
[[answer.call]]
tool = "write_file"
arguments = { path = "b.py", content = "y = 1" }

[[answer]]
text = "Written."
"""


async def left_and_resumed(
    leave: Callable[[ClientEditor], Awaitable[None]],
    scenario: str,
    is_due: Callable[[Storyteller], Awaitable[None]],
    folder: Path,
) -> Storyteller:
    """Leave once something is due, start again, resume it; return the second telling."""
    archive = Archive("", {"file a.py": "x = 1\n", "steps": ""})
    model = ScriptedModel(scenario)
    async with model:
        teller = Storyteller(Story("leaving", archive, ()), "panel", folder, model)
        teller.prepare()
        await teller.start()
        await teller.step_open("a.py")
        await teller.step_prompt("Tell me")
        await is_due(teller)
        await leave(teller.editor)
        await teller.start()
        await teller.step_request("agent/sessions/resume", {}, '"isInterrupted": false')
        # The panel shows by itself that it was cut off.
        assert teller.editor.shown.messages == []
        if scenario is ASKS:
            await teller.step_open("a.py")
            await teller.step_wait("approval")
            await teller.step_codeaction(Place("a.py", 0, 0), "Allow once")
        await teller.step_update("turn_ended")
        assert await teller.editor.stop() == 0
        assert "Traceback" not in teller.log.read_text()
        assert model.problems == []
        return teller


@LEAVING
async def test_what_the_model_said_before_the_editor_left_is_kept_and_continued(
    leave: Callable[[ClientEditor], Awaitable[None]], tmp_path: Path
) -> None:
    async def half(teller: Storyteller) -> None:
        await teller.step_update("agent_message_chunk", "first")

    teller = await left_and_resumed(leave, ANSWERS, half, tmp_path)
    [ended] = [o for o in teller.editor.shown.updates if o["sessionUpdate"] == "turn_ended"]
    assert ended["status"] == "success"
    assert ended["output"].startswith("The first")
    assert ended["output"].endswith(" The second half.")


@LEAVING
async def test_what_waited_for_the_user_when_the_editor_left_is_asked_again(
    leave: Callable[[ClientEditor], Awaitable[None]], tmp_path: Path
) -> None:
    async def asked(teller: Storyteller) -> None:
        await teller.step_wait("approval")

    teller = await left_and_resumed(leave, ASKS, asked, tmp_path)
    assert (teller.root / "b.py").read_text() == "y = 1"


GOES_ROUND = """
[[answer]]
text = "The first half. Never sent."
chunk = 4
hang = "middle"

[[answer]]
expect = { contains = ["The first"] }
[[answer.call]]
tool = "write_file"
arguments = { path = "b.py", content = "y = 1" }

[[answer]]
hang = "before"

[[answer]]
expect = { contains = ["The first", "Created b.py"] }
text = "Written in the terminal."
"""


async def test_a_turn_goes_on_from_the_editor_in_the_terminal_and_back(tmp_path: Path) -> None:
    archive = Archive("", {"settings": SETTINGS, "file a.py": "x = 1\n", "steps": ""})
    async with ScriptedModel(GOES_ROUND) as model:
        teller = Storyteller(Story("leaving", archive, ()), "panel", tmp_path, model)
        teller.prepare()
        await teller.start()
        await teller.step_prompt("Tell me")
        await teller.step_update("agent_message_chunk", "first")
        await shut_down(teller.editor)
        in_terminal = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "agent_ls", "resume"),
            cwd=teller.root,
            env=teller.env(),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        await model.wait_for_requests(3)
        in_terminal.kill()
        await in_terminal.wait()
        await teller.start()
        await teller.step_request("agent/sessions/resume", {}, '"isInterrupted": false')
        await teller.step_update("turn_ended")
        assert await teller.editor.stop() == 0
        assert model.problems == []
    [ended] = [one for one in teller.editor.shown.updates if one["sessionUpdate"] == "turn_ended"]
    assert (ended["status"], ended["output"]) == ("success", "Written in the terminal.")
    assert (teller.root / "b.py").read_text() == "y = 1"
