"""Settings change while requests come: each request is answered, by the old store or the new.

What needs no store never waits; what does is told to come again when a change takes long.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from agent_ls.domain.errors import AgentLsError
from agent_ls.lsp.connection.settings_lock import ComeAgain, SettingsLock
from tests.support.raw_lsp import RawClient, raw_client
from tests.support.scripted import scripted

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
        # On a busy machine a change may take long enough for some to be told to come again.
        answers = [one for one in answers if one.get("error", {}).get("code") != ComeAgain.CODE]
        assert [one["error"] for one in answers if "error" in one] == []
        last = {one["result"]["session"]["sessionId"] for one in answers[-20:] if _session(one)}
        assert len(last) == 1
        assert await client.leave() == 0
        assert b"Traceback" not in client.stderr, client.stderr[-4000:].decode()


def _session(answer: dict[str, Any]) -> bool:
    return isinstance(answer["result"], dict) and "session" in answer["result"]


_EDIT = """
[[answer]]
[[answer.call]]
tool = "edit_file"
arguments = { path = "a.py", old_string = "x = 1", new_string = "x = 2" }
[[answer]]
text = "Done."
"""


@asynccontextmanager
async def changed_file(tmp_path: Path) -> AsyncIterator[tuple[RawClient, str]]:
    """A server whose agent has changed a.py, which is open in the editor; with its URI."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.py").write_text("x = 1\n")
    uri = (work / "a.py").as_uri()
    env = {f"XDG_{name}_HOME": str(tmp_path / name) for name in ("CONFIG", "DATA", "STATE")}
    env |= {"AGENT_LS_MODEL": "openai/scripted", "AGENT_LS_API_KEY": "x"}
    env["AGENT_LS_MODE"] = "accept-edits"
    agent = {"agent": {"version": 1}}
    async with (
        scripted(_EDIT, is_strict=False) as model,
        raw_client(
            "-m", "agent_ls", "serve", env={**env, "AGENT_LS_API_BASE": model.base_url}
        ) as client,
    ):
        await client.initialize(
            {"experimental": agent, "workspace": {"applyEdit": True}},
            rootUri=work.as_uri(),
            initializationOptions=agent,
        )
        document = {"uri": uri, "languageId": "python", "version": 1, "text": "x = 1\n"}
        client.notify("textDocument/didOpen", {"textDocument": document})
        await client.ask("agent/prompt", {"text": "Change it."})
        edit = await client.asked("workspace/applyEdit")
        change = {
            "textDocument": {"uri": uri, "version": 2},
            "contentChanges": [{"text": "x = 2\n"}],
        }
        client.notify("textDocument/didChange", change)
        client.send({"jsonrpc": "2.0", "id": edit["id"], "result": {"applied": True}})
        await client.wait_for(lambda one: "turn_ended" in str(one.get("params")))
        yield client, uri


def change_settings(client: RawClient, **settings: Any) -> None:
    client.notify("workspace/didChangeConfiguration", {"settings": {"agent-ls": settings}})


@pytest.mark.e2e
async def test_no_request_waits_for_a_decision_that_waits_for_the_editor(tmp_path: Path) -> None:
    async with changed_file(tmp_path) as (client, uri):
        hover = {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 0}}
        undo = client.start("agent/review/decide", {"decision": "undo"})
        edit = await client.asked("workspace/applyEdit", 2)
        client.notify("$/cancelRequest", {"id": undo})
        assert (await client.answer(undo))["error"]["code"] == -32800
        change_settings(client, marker="ai:", nothing=1)
        for _ in range(100):
            assert (await client.ask("textDocument/hover", hover))["result"] is not None
            assert "result" in await client.ask("agent/sessions/list", {})
        taken_back = [one["params"]["id"] for one in client.of("$/cancelRequest")]
        assert edit["id"] not in taken_back
        client.send({"jsonrpc": "2.0", "id": edit["id"], "result": {"applied": False}})
        # The change comes when the decision is over.
        await client.wait_for(lambda one: "nothing" in str(one.get("params")))
        assert await client.leave() == 0


@pytest.mark.e2e
async def test_what_needs_the_store_is_told_to_come_again_while_it_is_locked(
    tmp_path: Path,
) -> None:
    async with changed_file(tmp_path) as (client, uri):
        hover = {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 0}}
        store = tmp_path / "DATA/agent-ls/store.db"
        with closing(sqlite3.connect(store, isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            change_settings(client, marker="ai:")
            answer: dict[str, Any] = {"result": []}
            while "result" in answer or "locked" in answer["error"]["message"]:
                answer = await client.ask("agent/sessions/list", {})
                assert "result" in await client.ask("textDocument/hover", hover)
            assert answer["error"]["code"] == ComeAgain.CODE
            assert "Ask again" in answer["error"]["message"]
            command = {"command": "agent-ls.doctor"}
            assert "result" in await client.ask("workspace/executeCommand", command)
            other.execute("ROLLBACK")
        while "result" not in answer:
            answer = await client.ask("agent/sessions/list", {})
        assert len(answer["result"]["sessions"]) == 1
        assert await client.leave() == 0


async def test_what_needs_no_store_runs_beside_a_change_and_the_rest_is_told_to_come_again() -> (
    None
):
    settings_lock, told = SettingsLock(), list[str]()
    async with settings_lock.alone():
        with settings_lock.beside():
            told.append("beside")
        with pytest.raises(ComeAgain):
            async with settings_lock.request():
                told.append("never")
        with pytest.raises(ComeAgain), settings_lock.beside():
            raise AgentLsError("the sessions are closed")
    async with settings_lock.request():
        told.append("after")
    with pytest.raises(AgentLsError, match="for good"), settings_lock.beside():
        raise AgentLsError("for good")
    assert told == ["beside", "after"]


async def test_a_change_that_came_and_went_meanwhile_excuses_closed_sessions() -> None:
    settings_lock = SettingsLock()

    async def hover() -> None:
        with settings_lock.beside():
            async with settings_lock.alone():
                pass
            raise AgentLsError("the sessions are closed")

    with pytest.raises(ComeAgain):
        await hover()


async def test_a_change_waits_for_what_runs_and_what_comes_later_waits_for_the_change() -> None:
    settings_lock, told = SettingsLock(), list[str]()
    runs, may_end, is_changing, may_change = (asyncio.Event() for _ in range(4))

    async def early() -> None:
        async with settings_lock.request():
            runs.set()
            await may_end.wait()
            told.append("early")

    async def change() -> None:
        async with settings_lock.alone():
            is_changing.set()
            await may_change.wait()
            told.append("change")

    async def late() -> None:
        async with settings_lock.work():
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
    settings_lock, is_left = SettingsLock(), True

    async def change() -> None:
        async with settings_lock.alone():
            assert not is_left

    async with settings_lock.request():
        settings_lock.enter()
    changing = asyncio.create_task(change())
    await asyncio.sleep(0)
    is_left = False
    settings_lock.leave()
    await changing


async def test_a_request_may_wait_for_a_later_one_while_a_change_waits() -> None:
    settings_lock, came = SettingsLock(), asyncio.Event()

    async def change() -> None:
        async with settings_lock.alone():
            assert came.is_set()

    async def later() -> None:
        async with settings_lock.request():
            came.set()

    async with settings_lock.request():
        changing = asyncio.create_task(change())
        await asyncio.sleep(0)
        asked = asyncio.create_task(later())
        await came.wait()
        assert not changing.done()
    await asyncio.gather(asked, changing)
