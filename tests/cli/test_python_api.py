"""``agent_ls.run`` from a program of somebody else's."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

import agent_ls
from agent_ls import run_events
from tests.cli.test_json_stream import WRITES
from tests.support.scripted import scripted

pytestmark = pytest.mark.heavy


@pytest.fixture
def options(
    tmp_path: Path, warm_host: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> dict[str, Any]:
    """Return the arguments that a program would give, with a home of its own."""
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    (tmp_path / "project").mkdir()
    provider = {"python": warm_host["AGENT_LS_PROVIDER__PYTHON"]}
    return {
        "folder": tmp_path / "project",
        "model": "openai/scripted",
        "settings": {"provider": provider, "sandbox": {"use": "off"}},
    }


def at(options: Mapping[str, Any], base_url: str) -> dict[str, Any]:
    settings = options["settings"]
    provider = {**settings["provider"], "api_base": base_url}
    return {**options, "settings": {**settings, "provider": provider}}


async def check(options: Mapping[str, Any], **more: Any) -> list[run_events.RunEvent]:
    """Play the scenario that writes a file; return all events."""
    async with scripted(WRITES) as model:
        given = {**at(options, model.base_url), **more}
        return [event async for event in agent_ls.run("Write.", **given)]


async def test_events_come_and_the_result_is_the_last(options: dict[str, Any]) -> None:
    found = await check(options, mode="auto")
    assert isinstance(found[0], run_events.SessionOpened)
    result = found[-1]
    assert isinstance(result, run_events.Result)
    assert (result.success, result.files, result.exit_code) == (True, ("a.txt",), 0)
    assert (options["folder"] / "a.txt").read_text() == "x\n"


@pytest.mark.parametrize("allows", [True, False])
async def test_the_program_says_whether_a_call_may_run(
    options: dict[str, Any], allows: bool
) -> None:
    asked: list[str] = []

    async def approve(request: run_events.ApprovalRequested) -> bool:
        asked.append(request.tool)
        return allows

    result = (await check(options, approve=approve))[-1]
    assert isinstance(result, run_events.Result)
    assert asked == ["write_file"]
    # An edit that was rejected is never told as done.
    assert (result.success, (options["folder"] / "a.txt").exists()) == (allows, allows)


async def test_a_loop_that_breaks_off_cancels_the_turn(options: dict[str, Any]) -> None:
    endless = '[[answer]]\ntext = "A long answer."\nbetween_ms = 100\nchunk = 1\n'
    session_id = ""
    async with scripted(endless, is_strict=False) as model:
        given = at(options, model.base_url)
        async with aclosing(agent_ls.run("Talk.", **given)) as events:
            async for event in events:
                if isinstance(event, run_events.SessionOpened):
                    session_id = event.session_id
                if isinstance(event, run_events.Text):
                    break
        # It is not held any more, and nothing of it waits to be resumed.
        with pytest.raises(agent_ls.AgentLsError, match="empty"):
            async for _event in agent_ls.run("", session=session_id, **given):
                pass


async def test_a_cancelled_task_ends_in_order(options: dict[str, Any]) -> None:
    async with scripted('[[answer]]\nhang = "before"\n', is_strict=False) as model:
        begun = asyncio.Event()

        async def talk() -> None:
            async for event in agent_ls.run("Talk.", **at(options, model.base_url)):
                if isinstance(event, run_events.StepStarted):
                    begun.set()

        task = asyncio.create_task(talk())
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_what_cannot_begin_is_raised(options: dict[str, Any]) -> None:
    for wrong in ({"settings": {"mode": "turbo"}}, {"folder": "/nowhere/at/all"}):
        with pytest.raises(agent_ls.AgentLsError):
            async for _event in agent_ls.run("Hi.", **{**options, **wrong}):
                pass


def test_each_name_of_the_types_is_there() -> None:
    stub = Path(agent_ls.__file__).with_suffix(".pyi").read_text()
    names = [line.rpartition(" as ")[2] for line in stub.splitlines() if " as " in line]
    assert [name for name in names if getattr(agent_ls, name, None) is None] == []
    with pytest.raises(AttributeError):
        _ = agent_ls.nothing  # type: ignore[attr-defined] - that is what is tried
