"""Attempts at tasks with a real store and real git: what is kept when something is amiss."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from agent_ls.batch import attempt as module
from agent_ls.batch.attempt import Host, RunRefused, attempt
from agent_ls.batch.checkouts import check_out, worktree_of
from agent_ls.batch.results import TaskResult
from agent_ls.batch.tasks import BatchOptions, Task
from agent_ls.domain import events as ev
from agent_ls.domain.errors import StoreError
from agent_ls.domain.modes import Mode
from agent_ls.domain.stops import StopReason, TurnStatus
from agent_ls.domain.usage import Usage
from agent_ls.settings import Settings
from agent_ls.store.batch_queue import Batch, BatchQueue, Claim, NewTask, TaskRow
from agent_ls.store.sql_store import SqlStore
from tests.batch.conftest import store as store

B = "bat_1"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store of its own on a machine without settings, model or sandbox."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("AGENT_LS_SANDBOX", "off")
    monkeypatch.setenv("AGENT_LS_STORE_URL", str(tmp_path / "store.db"))
    for name in ("AGENT_LS_MODEL", "AGENT_LS_API_BASE", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    return str(tmp_path / "store.db")


@pytest.fixture
def host(store: SqlStore, tmp_path: Path) -> Host:
    return Host(store, tmp_path / "work")


async def add(host: Host, shop: Path, **values: object) -> BatchQueue:
    task = Task.model_validate({"id": "t", "repository": str(shop), "prompt": "x", **values})
    batch = Batch(B, "b", False, 0, None, BatchOptions().model_dump_json())
    await host.queue.add(batch, [NewTask("t", task.model_dump_json(), "[]", 1.0)])
    return host.queue


ENDED = ev.TurnEnded(
    turn_id="trn_1",
    stop=StopReason.COMPLETED,
    status=TurnStatus.SUCCESS,
    output="",
    failure_reason="",
)


async def play(host: Host, *events: ev.Event) -> None:
    """Store a session of the task, as a run in its checkout would have."""
    folder = worktree_of(host.place, B, "t").as_uri()
    begun: list[ev.Event] = [
        ev.SessionCreated(session_id="ses_1", roots=(folder,), mode=Mode.AUTO, model="openai/a"),
        ev.TurnStarted(turn_id="trn_1", prompt="x"),
    ]
    stored = [
        ev.StoredEvent(session_id="ses_1", seq=seq, at_ms=1, event=event)
        for seq, event in enumerate([*begun, *events], start=1)
    ]
    await host.store.append(stored, durable=True)


async def written(host: Host, path: str) -> ev.CommandChanged:
    blob = await host.store.put_blob(b"new\n")
    return ev.CommandChanged(call_id="c", path=path, after_blob=blob)


async def ended(queue: BatchQueue) -> tuple[TaskRow, TaskResult, bytes]:
    (row,) = await queue.tasks(B)
    result = TaskResult.model_validate_json(row.result)
    return row, result, await queue.patch(B, "t")


async def test_a_check_that_cannot_run_leaves_the_patch(
    host: Host, shop: Path, tmp_path: Path
) -> None:
    (tmp_path / "check").mkdir()
    os.mkfifo(tmp_path / "check/pipe")
    queue = await add(host, shop, check="true", check_files=str(tmp_path / "check"))
    await play(host, await written(host, "a.txt"), ENDED)
    assert await attempt(host, B, "t") == "settled"
    row, result, patch = await ended(queue)
    assert (row.state, row.session_id, result.check) == ("failed", "ses_1", "failed")
    assert "could not be run" in result.failure_reason
    assert b"+new" in patch


async def test_check_files_that_are_missing_are_told_before_the_run(host: Host, shop: Path) -> None:
    queue = await add(host, shop, check="true", check_files="/nowhere/at/all")
    assert await attempt(host, B, "t") == "settled"
    row, result, _ = await ended(queue)
    assert (row.state, row.session_id) == ("failed", "")
    assert "/nowhere/at/all" in result.failure_reason


async def test_a_worker_that_died_in_the_check_leaves_no_check_files_in_the_patch(
    host: Host, shop: Path, tmp_path: Path
) -> None:
    (tmp_path / "check").mkdir()
    (tmp_path / "check/hidden.txt").write_text("secret\n")
    queue = await add(host, shop, check="test -f hidden.txt", check_files=str(tmp_path / "check"))
    await play(host, await written(host, "a.txt"), ENDED)
    folder = worktree_of(host.place, B, "t")
    claim = await queue.claim(B, "t", "dead", 0)
    assert isinstance(claim, Claim)
    checkout = await check_out(host.place, folder, str(shop), "HEAD", "")
    await queue.note_checkout(claim, folder.as_uri(), checkout.base_commit)
    (folder / "a.txt").write_text("new\n")
    await checkout.patch(f"agent-ls/{B}/t")
    (folder / "hidden.txt").write_text("secret\n")
    assert await attempt(host, B, "t") == "settled"
    row, result, patch = await ended(queue)
    assert (row.state, row.attempt, result.check) == ("done", 2, "passed")
    assert b"+new" in patch
    assert b"secret" not in patch
    assert not folder.exists()


async def test_another_host_does_not_call_done_what_it_has_not_got(host: Host, shop: Path) -> None:
    queue = await add(host, shop)
    lost = ev.CommandChangesLeftOut(call_id="c", recorded_files=1, left_files=3, left_new_files=3)
    # The turn is still open: its host died.
    await play(host, lost)
    assert await attempt(host, B, "t") == "settled"
    row, result, _ = await ended(queue)
    assert row.state == "failed"
    assert "3 files more" in result.failure_reason


async def test_a_restore_that_breaks_off_is_not_taken_for_what_the_session_left(
    host: Host, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = await add(host, shop)
    await play(host, await written(host, "a.txt"), ENDED)
    claim = await queue.claim(B, "t", "dead", 0)
    assert isinstance(claim, Claim)
    await queue.note_checkout(claim, "file:///elsewhere", "")
    real = module.restore

    async def killed(*_: Any) -> None:
        raise StoreError("the database is gone")

    monkeypatch.setattr(module, "restore", killed)
    with pytest.raises(StoreError):
        await attempt(host, B, "t")
    monkeypatch.setattr(module, "restore", real)
    (row,) = await queue.tasks(B)
    assert row.folder_uri != worktree_of(host.place, B, "t").as_uri()
    held = await queue.claim(B, "t", "dead too", 60, dead=row.owner)
    assert isinstance(held, Claim)
    assert await queue.give_back(held, cost_usd=0.0)
    assert await attempt(host, B, "t") == "settled"
    row, _, patch = await ended(queue)
    assert (row.state, b"+new" in patch) == ("done", True)


async def test_a_worker_that_is_ended_in_order_puts_its_task_back(
    host: Host, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = await add(host, shop)
    # A model that takes requests and says nothing.
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setenv("AGENT_LS_MODEL", "openai/silent")
        monkeypatch.setenv("AGENT_LS_API_BASE", f"http://127.0.0.1:{server.getsockname()[1]}")
        monkeypatch.setenv("AGENT_LS_API_KEY", "k")
        working = asyncio.create_task(attempt(host, B, "t"))
        asked, _ = await asyncio.to_thread(server.accept)
        with asked:
            async with asyncio.timeout(60):
                # Another process begins the session; it may first ask for a list of models.
                while all(one.is_empty for one in await host.store.sessions()):  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
            working.cancel()
            with pytest.raises(asyncio.CancelledError):
                await working
    (row,) = await queue.tasks(B)
    assert (row.state, row.owner, bool(row.session_id)) == ("waiting", "", True)


async def test_without_any_sandbox_a_check_does_not_run(
    host: Host, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module.ShellRunner, "boundary", "missing")
    queue = await add(host, shop, check="touch ran")
    await play(host, await written(host, "a.txt"), ENDED)
    assert await attempt(host, B, "t") == "settled"
    row, result, patch = await ended(queue)
    assert (row.state, result.check) == ("failed", "failed")
    assert "agent-ls doctor" in result.failure_reason
    assert b"+new" in patch


async def test_the_cost_of_a_sub_agent_that_was_broken_off_counts(host: Host, shop: Path) -> None:
    queue = await add(host, shop)
    child = ev.ChildStarted(
        call_id="c", child_id="ses_2", kind="explore", task="look", mode=Mode.AUTO
    )
    lost = ev.CommandChangesLeftOut(call_id="c", recorded_files=1, left_files=3, left_new_files=3)
    await play(host, child, lost)
    spent = Usage(input_tokens=1, cost_usd=0.25)
    begun: list[ev.Event] = [
        ev.SessionCreated(
            session_id="ses_2", roots=("file:///x",), mode=Mode.AUTO, model="openai/a",
            parent_id="ses_1",
        ),
        ev.TurnStarted(turn_id="trn_2", prompt="look"),
        ev.RequestPrepared(step_id="stp_1", number=1),
        ev.AttemptFinished(step_id="stp_1", model="openai/a", usage=spent),
    ]  # fmt: skip
    stored = [
        ev.StoredEvent(session_id="ses_2", seq=seq, at_ms=1, event=event)
        for seq, event in enumerate(begun, start=1)
    ]
    await host.store.append(stored, durable=True)
    assert await attempt(host, B, "t") == "settled"
    row, _, _ = await ended(queue)
    assert (row.state, row.cost_usd) == ("failed", 0.25)


async def test_a_run_without_a_model_is_put_back_with_its_words(host: Host, shop: Path) -> None:
    queue = await add(host, shop)
    with pytest.raises(RunRefused, match="model"):
        await attempt(host, B, "t")
    (row,) = await queue.tasks(B)
    assert (row.state, row.owner) == ("waiting", "")
    assert "model" in json.loads(row.result)["failure_reason"]


async def test_a_check_is_confined_as_the_tasks_settings_say(
    host: Host, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    real = module.held_builder

    def held(settings: Settings, *more: Any) -> Any:
        seen.append(settings.sandbox.use)
        return real(settings, *more)

    monkeypatch.setattr(module, "held_builder", held)
    monkeypatch.setenv("AGENT_LS_SANDBOX", "auto")
    await add(host, shop, check="true", settings=["sandbox.use=off"])
    await play(host, ENDED)
    assert await attempt(host, B, "t") == "settled"
    assert seen == ["off"]
