"""The driver with a real queue, and a Dask client that does what each test needs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from agent_ls.batch import driver as module
from agent_ls.batch.driver import Driver
from agent_ls.domain.errors import SettingsError, StoreError
from agent_ls.store.batch_queue import Batch, BatchQueue, Claim, Look, NewTask, TaskRow, TaskState
from agent_ls.store.sql_store import SqlStore
from tests.batch.conftest import store as store
from tests.support.commands import until

B = "bat_1"


@pytest.fixture
def place(tmp_path: Path) -> str:
    return str(tmp_path / "store.db")


@pytest.fixture
def queue(store: SqlStore) -> BatchQueue:
    return BatchQueue(store)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    for name in ("_LOOK_S", "_AGAIN_S", "_AFTER_ERROR_S", "_NO_WORKER_S"):
        monkeypatch.setattr(module, name, 0.01)


class KilledWorker(Exception):
    """Has the name of Dask's own."""


class Future:
    def __init__(self) -> None:
        self.status, self._came = "pending", None

    def done(self) -> bool:
        return self.status != "pending"

    def end(self, status: str, came: Any = None) -> None:
        self.status, self._came = status, came

    async def result(self) -> Any:
        if isinstance(self._came, BaseException):
            raise self._came
        return self._came

    def add_done_callback(self, _on_done: object) -> None:
        """The driver looks again by itself."""


class Client:
    """Gives each try to ``play``; a future that it leaves alone waits for a worker."""

    status = "running"
    cluster: object = None
    """Of another process."""

    def __init__(self, play: Callable[[Future, str], None], resources: object = None) -> None:
        self._play, self._resources = play, resources
        self.scheduler = self
        self.tries: list[str] = []
        self.cancelled = 0

    def submit(self, _function: object, request: str, **_options: object) -> Future:
        future, task = Future(), json.loads(request)["task"]
        self.tries.append(task)
        self._play(future, task)
        return future

    async def cancel(self, futures: Sequence[Future]) -> None:
        for one in futures:
            one.end("cancelled")
            self.cancelled += 1

    async def identity(self) -> dict[str, Any]:
        return {"workers": {"tls://a": {"resources": self._resources}}}


async def fill(queue: BatchQueue, *budgets: float, cap_usd: float | None = None) -> None:
    tasks = [NewTask(f"t{at}", '{"id": "t", "prompt": "x"}', "[]", usd)
             for at, usd in enumerate(budgets)]  # fmt: skip
    await queue.add(Batch(B, "name", False, 0, cap_usd, "{}"), tasks)


async def drive(queue: BatchQueue, client: Client) -> tuple[str, list[str]]:
    told: list[str] = []
    driver = Driver(queue, client, B, show=lambda _rows: None, tell=told.append)
    async with asyncio.timeout(60):
        return await driver.run(), told


def stopping(queue: BatchQueue) -> asyncio.Task[None]:
    return asyncio.ensure_future(queue.set_stopped(B, is_stopped=True))


async def test_what_dask_could_not_run_is_told_and_ends_the_batch_at_last(
    queue: BatchQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_ERRORS_S", 0.05)
    await fill(queue, 1.0)
    client = Client(lambda future, _: future.end("error", ModuleNotFoundError("no agent_ls")))
    with pytest.raises(SettingsError, match="ModuleNotFoundError: no agent_ls"):
        await drive(queue, client)


async def test_this_machines_own_mistake_ends_the_batch_soon(
    queue: BatchQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_ERRORS_HERE_S", 0.05)
    await fill(queue, 1.0)
    error = json.dumps({"error": "worker on here: no key", "final": False})
    client = Client(lambda future, _: future.end("finished", error))
    client.cluster = object()
    with pytest.raises(SettingsError, match=f"no key\nWhen .*agent-ls batch resume {B}"):
        await drive(queue, client)


async def test_errors_of_one_worker_do_not_end_what_runs_on_another(
    queue: BatchQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_ERRORS_S", 0.05)
    await fill(queue, 1.0, 1.0)
    claim = await queue.claim(B, "t0", "good worker", 60)
    assert isinstance(claim, Claim)
    await queue.renew(claim, 60, session_id="ses_1")
    error = json.dumps({"error": "worker on bad: no key", "final": False})

    def play(future: Future, task: str) -> None:
        # The good worker's own try comes to its end later.
        if task == "t1":
            future.end("finished", error)

    client = Client(play, {"agent": 1})
    running = asyncio.create_task(drive(queue, client))
    await until(lambda: client.tries.count("t1") > 20)
    assert not running.done()
    await queue.set_stopped(B, is_stopped=True)
    await queue.give_back(claim, cost_usd=0)
    assert await running == ("stopped", ["worker on bad: no key"])


@pytest.mark.parametrize("status", ["error", "finished"])
async def test_a_worker_that_died_is_no_error(queue: BatchQueue, status: str) -> None:
    # If it is "finished", the worker died with the answer, before that was fetched.
    await fill(queue, 1.0)
    stops: list[object] = []

    def play(future: Future, _task: str) -> None:
        future.end(status, KilledWorker("t0"))
        if len(client.tries) == 5:
            stops.append(stopping(queue))

    client = Client(play, {"agent": 1})
    assert await drive(queue, client) == ("stopped", [])


@pytest.mark.parametrize("resources", [None, {}, {"gpu": 1}])
async def test_a_batch_without_a_worker_says_so_once_and_can_be_stopped(
    queue: BatchQueue, resources: object
) -> None:
    await fill(queue, 1.0, 1.0)
    client = Client(lambda _future, _task: None, resources)
    told: list[str] = []
    driver = Driver(queue, client, B, show=lambda _rows: None, tell=told.append)
    running = asyncio.create_task(driver.run())
    async with asyncio.timeout(60):
        await until(lambda: bool(told))
        assert not running.done()
        await queue.set_stopped(B, is_stopped=True)
        assert await running == "stopped"
    assert len(told) == 1
    assert "--resources agent=1" in told[0]
    assert client.cancelled == 2


async def test_what_a_worker_has_begun_is_waited_for_after_a_stop(queue: BatchQueue) -> None:
    await fill(queue, 1.0)
    futures: list[Future] = []
    client = Client(lambda future, _: futures.append(future), {"agent": 1})
    running = asyncio.create_task(drive(queue, client))
    claim = await queue.claim(B, "t0", "worker", 60)
    assert isinstance(claim, Claim)
    async with asyncio.timeout(60):
        await until(lambda: bool(futures))
        await queue.set_stopped(B, is_stopped=True)
        await asyncio.sleep(0.1)
        assert (running.done(), client.cancelled) == (False, 0)
        await queue.finish(claim, TaskState.DONE, "{}", cost_usd=0, patch=b"")
        futures[0].end("finished", json.dumps({"outcome": "settled"}))
        assert await running == ("finished", [])


async def test_money_that_another_drivers_task_leaves_is_used(queue: BatchQueue) -> None:
    await fill(queue, 0.5, 0.5, cap_usd=0.6)
    other = await queue.claim(B, "t0", "worker of another driver", 60)
    assert isinstance(other, Claim)
    ends: list[asyncio.Task[None]] = []

    async def end(future: Future, task: str) -> None:
        claim = await queue.claim(B, task, "worker", 60)
        assert isinstance(claim, Claim)
        await queue.finish(claim, TaskState.DONE, "{}", cost_usd=0.1, patch=b"")
        future.end("finished", json.dumps({"outcome": "settled"}))

    def play(future: Future, task: str) -> None:
        if task == "t0":
            future.end("finished", json.dumps({"outcome": "held"}))
        else:
            ends.append(asyncio.ensure_future(end(future, task)))

    client = Client(play, {"agent": 1})
    running = asyncio.create_task(drive(queue, client))
    await until(lambda: len(client.tries) >= 3)
    assert set(client.tries) == {"t0"}
    await queue.finish(other, TaskState.DONE, "{}", cost_usd=0.1, patch=b"")
    assert (await running)[0] == "finished"
    assert client.tries.count("t1") == 1


async def test_a_cap_that_covers_nothing_more_ends_the_batch(queue: BatchQueue) -> None:
    await fill(queue, 0.5, 0.5, cap_usd=0.6)
    claim = await queue.claim(B, "t0", "a", 60)
    assert isinstance(claim, Claim)
    await queue.finish(claim, TaskState.DONE, "{}", cost_usd=0.2, patch=b"")
    client = Client(lambda _future, _task: None, {"agent": 1})
    assert await drive(queue, client) == ("no money", [])
    assert client.tries == []


class Away(BatchQueue):
    """A queue whose store is away at first."""

    left = 3

    async def look(self, batch_id: str) -> Look:
        if self.left:
            self.left -= 1
            raise StoreError("the server went away")
        return await super().look(batch_id)


async def test_a_store_that_is_away_for_a_moment_ends_no_batch(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(BatchQueue(store), 0.5)
    await stopping(BatchQueue(store))
    client = Client(lambda _future, _task: None, {"agent": 1})
    end, told = await drive(Away(store), client)
    assert (end, len(told)) == ("stopped", 1)
    assert "went away" in told[0]
    monkeypatch.setattr(module, "_STORE_AWAY_S", 0.0)
    with pytest.raises(StoreError, match="went away"):
        await drive(Away(store), client)


async def test_texts_are_read_only_of_what_has_ended(queue: BatchQueue) -> None:
    await fill(queue, 0.5, 0.5)
    claim = await queue.claim(B, "t1", "a", 60)
    assert isinstance(claim, Claim)
    await queue.finish(claim, TaskState.DONE, '{"steps": 3}', cost_usd=0.2, patch=b"")
    await queue.set_stopped(B, is_stopped=True)
    shown: list[Sequence[TaskRow]] = []
    client = Client(lambda _future, _task: None, {"agent": 1})
    driver = Driver(queue, client, B, show=shown.append, tell=lambda _words: None)
    assert await driver.run() == "stopped"
    waiting, done = shown[0]
    assert (done.result, bool(done.spec)) == ('{"steps": 3}', True)
    assert (waiting.state, waiting.result) == ("waiting", "")
