"""Settings change while requests come: each request is answered, by the old store or the new."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agent_ls.lsp.connection.changeover import Changeover
from tests.support.raw_lsp import raw_client

REQUESTS: list[tuple[str, Any]] = [
    ("agent/snapshot", {}),
    ("agent/sessions/list", {}),
    ("agent/config", {"mode": "plan"}),
    ("agent/review/list", {}),
    ("workspace/executeCommand", {"command": "agent-ls.mode", "arguments": ["ask"]}),
    ("workspace/executeCommand", {"command": "agent-ls.session.list", "arguments": []}),
]
_CHANGES = 40


@pytest.mark.e2e
async def test_no_request_fails_while_settings_change_again_and_again(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.py").write_text("x = 1\n")
    env = {f"XDG_{name}_HOME": str(tmp_path / name) for name in ("CONFIG", "DATA", "STATE")}
    env |= {"AGENT_LS_MODEL": "openai/none", "AGENT_LS_API_BASE": "http://127.0.0.1:9/v1"}
    agent = {"agent": {"version": 1}}
    async with raw_client("-m", "agent_ls", "serve", env=env) as client:
        await client.initialize(
            {"experimental": agent}, rootUri=work.as_uri(), initializationOptions=agent
        )
        asked: list[int] = []
        for number in range(_CHANGES):
            settings = {"agent-ls": {"marker": f"m{number}:"}}
            client.notify("workspace/didChangeConfiguration", {"settings": settings})
            asked += [client.start(*one) for one in REQUESTS]
            if number % 10 == 0:
                asked.append(client.start("agent/sessions/new", {}))
            if number % 3 == 0:
                # Now and then the change is in full swing, and now and then just over.
                await client.answer(asked[-1], 60)
        answers = [await client.answer(one, 60) for one in asked]
        assert [one["error"] for one in answers if "error" in one] == []
        last = {one["result"]["session"]["sessionId"] for one in answers[-20:] if _session(one)}
        assert len(last) == 1
        assert await client.leave() == 0
        assert b"Traceback" not in client.stderr, client.stderr[-4000:].decode()


def _session(answer: dict[str, Any]) -> bool:
    return isinstance(answer["result"], dict) and "session" in answer["result"]


async def test_a_change_waits_for_what_runs_and_what_comes_later_waits_for_the_change() -> None:
    changeover, told = Changeover(), list[str]()
    runs, may_end, is_changing, may_change = (asyncio.Event() for _ in range(4))

    async def early() -> None:
        async with changeover.request():
            runs.set()
            await may_end.wait()
            told.append("early")

    async def change() -> None:
        async with changeover.alone():
            is_changing.set()
            await may_change.wait()
            told.append("change")

    async def late() -> None:
        async with changeover.request():
            told.append("late")

    begun = [asyncio.create_task(early())]
    await runs.wait()
    begun.append(asyncio.create_task(change()))
    await asyncio.sleep(0)
    assert not is_changing.is_set()
    may_end.set()
    await is_changing.wait()
    begun.append(asyncio.create_task(late()))
    may_change.set()
    await asyncio.gather(*begun)
    assert told == ["early", "change", "late"]


async def test_what_a_request_leaves_running_is_part_of_it() -> None:
    changeover, is_left = Changeover(), True

    async def change() -> None:
        async with changeover.alone():
            assert not is_left

    async with changeover.request():
        changeover.enter()
    changing = asyncio.create_task(change())
    await asyncio.sleep(0)
    is_left = False
    changeover.leave()
    await changing


async def test_a_request_may_wait_for_a_later_one_while_a_change_waits() -> None:
    changeover, came = Changeover(), asyncio.Event()

    async def change() -> None:
        async with changeover.alone():
            assert came.is_set()

    async def later() -> None:
        async with changeover.request():
            came.set()

    async with changeover.request():
        changing = asyncio.create_task(change())
        await asyncio.sleep(0)
        asked = asyncio.create_task(later())
        await came.wait()
        assert not changing.done()
    await asyncio.gather(asked, changing)
