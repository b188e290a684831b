"""acpx, a client of the Agent Client Protocol that is not ours: a turn, a refusal, a session again.

It lends its files, answers permissions by itself, and keeps its own records.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import pytest

from tests.support.scripted import scripted

EDIT = """
[[answer]]
text = "I change it."
[[answer.call]]
tool = "edit_file"
arguments = { path = "app.py", edits = [{ old_string = "return 1", new_string = "return 2" }] }
"""
Run = Callable[..., Awaitable[str]]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    project = tmp_path.resolve() / "project"
    project.mkdir()
    (project / "app.py").write_text("def f():\n    return 1\n")
    return project


def runner(acpx: list[str], place: Path, base_url: str, warm_host: Mapping[str, str]) -> Run:
    home = place.parent / "home"
    home.mkdir(exist_ok=True)
    names = ("CONFIG", "DATA", "STATE", "CACHE")
    homes = {f"XDG_{name}_HOME": str(home / name.lower()) for name in names}
    model = {"AGENT_LS_MODEL": "openai/scripted", "AGENT_LS_API_BASE": base_url}
    agent = f"{sys.executable} -P -m agent_ls acp"

    async def run(*words: str) -> str:
        said = ""
        for _ in range(50):
            said = await run_once(*words)
            if "Queue owner is shutting down" not in said:
                break
            # acpx refuses what comes while the process that holds its session ends.
            await asyncio.sleep(0.2)
        return said

    async def run_once(*words: str) -> str:
        process = await asyncio.create_subprocess_exec(
            *acpx,
            *("--agent", agent, "--ttl", "1", *words),
            cwd=place,
            env={**os.environ, **homes, "HOME": str(home), **model, **warm_host},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            out, _ = await asyncio.wait_for(process.communicate(), 120)
        finally:
            # A process that is left would fail the test that runs next.
            if process.returncode is None:
                process.kill()
                await process.wait()
        return out.decode()

    return run


@pytest.mark.story("acpx")
async def test_a_turn_with_an_edit(
    acpx: list[str], place: Path, warm_host: Mapping[str, str]
) -> None:
    async with scripted(EDIT + '[[answer]]\ntext = "It returns 2."') as model:
        run = runner(acpx, place, model.base_url, warm_host)
        said = await run("--approve-all", "exec", "Make it return 2")
        listed = await run("sessions", "list")
    for words in ("I change it.", "app.py (completed)", "diff", "It returns 2.", "[done] end_turn"):
        assert words in said, said
    assert "fs/write_text_file" in said
    assert (place / "app.py").read_text() == "def f():\n    return 2\n"
    assert "Make it return 2" in listed


async def test_an_edit_is_denied(
    acpx: list[str], place: Path, warm_host: Mapping[str, str]
) -> None:
    async with scripted(EDIT + '[[answer]]\ntext = "Then not."') as model:
        run = runner(acpx, place, model.base_url, warm_host)
        said = await run("--deny-all", "exec", "Make it return 2")
    assert "app.py (failed)" in said
    assert "Then not." in said
    assert (place / "app.py").read_text() == "def f():\n    return 1\n"


async def test_a_session_goes_on_and_its_mode_is_switched(
    acpx: list[str], place: Path, warm_host: Mapping[str, str]
) -> None:
    further = '[[answer]]\nexpect = { contains = ["My name is Ada"] }\ntext = "Ada."'
    async with scripted('[[answer]]\ntext = "Noted."\n' + further) as model:
        run = runner(acpx, place, model.base_url, warm_host)
        await run("sessions", "new")
        assert "Noted." in await run("prompt", "My name is Ada")
        assert "plan" in await run("set-mode", "plan")
        # Its owner of the session ends after a second, so this one resumes it.
        await asyncio.sleep(2)
        assert "Ada." in await run("prompt", "What is my name?")
        await run("sessions", "close")
