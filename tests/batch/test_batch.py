"""``agent-ls batch`` as real processes: Dask, a store, and runs with a scripted model."""

from __future__ import annotations

import asyncio
import getpass
import json
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest

from agent_ls.domain.events import ToolCallStarted
from agent_ls.store.batch_queue import TaskRow
from agent_ls.store.sql_store import open_store
from tests.batch.conftest import WRITES, command, queue_of, run
from tests.support.commands import ended, until
from tests.support.scripted import scripted

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(1_200)]

_COST_USD = 0.006
"""What a run of ``WRITES`` costs: two requests of 1,000 and 100 tokens."""


def tasks_file(folder: Path, count: int, **more: object) -> Path:
    path = folder / "tasks.jsonl"
    rows = [
        {"id": f"t{at}", "repository": "shop", "prompt": "Write a.txt", **more}
        for at in range(count)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


async def test_a_batch_from_its_tasks_to_its_patches(
    home: dict[str, str], shop: Path, tmp_path: Path
) -> None:
    tasks = tasks_file(tmp_path, 3, check="grep new a.txt", labels=["nightly"])
    with tasks.open("a") as file:
        file.write(json.dumps({"id": "bad", "prompt": "Write a.txt", "check": "grep old a.txt"}))
    async with scripted(WRITES, is_strict=False) as model:
        env = {**home, "AGENT_LS_API_BASE": model.base_url}
        done = await run(env, "batch", "run", str(tasks), "--jobs", "2", "--cap-usd", "1",
                         "--task-budget-usd", "0.1", "--json")  # fmt: skip
        assert done.code == 2, done.err
        told: dict[str, Any] = json.loads(done.out)
        assert told["counts"] == {"waiting": 0, "running": 0, "done": 3, "failed": 1}
        assert told["cost_usd"] == pytest.approx(4 * _COST_USD)
        by_name = {one["task"]: one for one in told["tasks"]}
        assert by_name["bad"]["check"] == "failed"
        assert by_name["bad"]["failure_reason"] == "the check ended with exit code 1"
        assert {one["attempts"] for one in told["tasks"]} == {1}
        assert done.err.count("done  ") == 3
        batch_id = told["batch"]
        listed = await run(env, "batch", "status")
        assert batch_id in listed.out
        patches = await run(env, "batch", "patches", batch_id[-6:], "--out", str(tmp_path / "p"))
        assert [Path(one).name for one in patches.out.splitlines()] == [
            "t0.patch", "t1.patch", "t2.patch",
        ]  # fmt: skip
        assert "+new" in (tmp_path / "p/t1.patch").read_text()
        page = await run(env, "batch", "report", batch_id, "--out", str(tmp_path / "b.html"))
        assert (page.code, (tmp_path / "b.html").stat().st_mode & 0o777) == (0, 0o600)
        costs = await run(env, "costs", "--by", "label", "--json")
        (row,) = [one for one in json.loads(costs.out)["rows"] if one["name"] == "nightly"]
        assert (row["turns"], row["cost_usd"]) == (3, pytest.approx(3 * _COST_USD))
        by_user = json.loads((await run(env, "costs", "--by", "user", "--json")).out)
        assert [one["name"] for one in by_user["rows"]] == [getpass.getuser()]
        again = await run(env, "batch", "resume", batch_id, "--quiet")
        assert again.code == 2
    # No checkout is left, and nothing was written to the repository.
    assert not list((tmp_path / "home").glob(".local/state/agent-ls-work/*/worktrees/*"))
    assert sorted(one.name for one in shop.iterdir()) == [".git", ".gitignore", "old.txt"]


async def test_the_cap_is_kept_to_the_cent_under_four_workers(
    home: dict[str, str], shop: Path, tmp_path: Path
) -> None:
    tasks = tasks_file(tmp_path, 12)
    async with scripted(WRITES, is_strict=False) as model:
        env = {**home, "AGENT_LS_API_BASE": model.base_url}
        # Each reserves two cents and uses 0.6: with the seventh done, 5.8 cents are left of 10.
        done = await run(env, "batch", "run", str(tasks), "--jobs", "4", "--cap-usd", "0.05",
                         "--task-budget-usd", "0.02", "--json")  # fmt: skip
        told: dict[str, Any] = json.loads(done.out)
        assert (done.code, told["counts"]["running"]) == (2, 0)
        # Six cost 3.6 cents: a seventh could not be sure of its two.
        assert told["counts"]["done"] == 6
        assert told["cost_usd"] <= 0.05
        assert "--cap-usd" in done.err
        done = await run(env, "batch", "resume", told["batch"], "--cap-usd", "1", "--json",
                         "--jobs", "4")  # fmt: skip
        told = json.loads(done.out)
    assert (done.code, told["counts"]["done"]) == (0, 12)
    assert told["cost_usd"] == pytest.approx(12 * _COST_USD)
    assert len(model.requests) == 24


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--scheduler", "tcp://127.0.0.1:8786"), "is refused"),
        (("--scheduler", "127.0.0.1:8786"), "is refused"),
        (("--scheduler", "tls://127.0.0.1:1"), "PostgreSQL"),
        (("--cap-usd", "0"), "above 0"),
        (("--cap-usd", "1", "--task-budget-usd", "2"), "more than the cap"),
        (("--variant", "small"), "NAME:KEY=VALUE"),
        (("--jobs", "0"), "--jobs"),
        (("--mode", "yolo"), "the modes are"),
    ],
)
async def test_what_cannot_run_is_refused_and_leaves_nothing(
    home: dict[str, str], shop: Path, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    tasks = tasks_file(tmp_path, 1)
    done = await run(home, "batch", "run", str(tasks), *words)
    assert done.code == 3
    assert said in done.err
    assert (await run(home, "batch", "status")).out == ""


async def test_a_stopped_batch_goes_on_with_what_it_had_begun(
    home: dict[str, str], shop: Path, tmp_path: Path
) -> None:
    hang = WRITES.replace("[[answer]]\ntext", '[[answer]]\nhang = "before"\n\n[[answer]]\ntext')
    tasks = tasks_file(tmp_path, 2)
    async with scripted(hang, is_strict=False) as model:
        env = {**home, "AGENT_LS_API_BASE": model.base_url}
        async with command(env, "batch", "run", str(tasks), "--jobs", "1") as process:
            # The first task's second request hangs.
            await until(lambda: len(model.requests) >= 2)
            process.send_signal(signal.SIGINT)
            done = await ended(process)
        assert done.code == 130, done.err
        async with queue_of(env) as queue:
            (batch,) = await queue.batches()
            states = [row.state for row in await queue.tasks(batch.batch_id)]
        assert (batch.is_stopped, states) == (True, ["waiting", "waiting"])
        done = await run(env, "batch", "resume", batch.batch_id, "--jobs", "1")
        assert done.code == 0, done.err
    async with queue_of(env) as queue:
        first, second = await queue.tasks(batch.batch_id)
    assert (first.attempt, second.attempt) == (2, 1)
    # One session did it all: the write was not repeated.
    assert await calls_of(env, first) == ["write_file"]


async def test_a_batch_is_stopped_from_another_terminal(
    home: dict[str, str], shop: Path, tmp_path: Path
) -> None:
    hang = WRITES.replace("[[answer]]\ntext", '[[answer]]\nhang = "before"\n\n[[answer]]\ntext')
    tasks = tasks_file(tmp_path, 2)
    async with scripted(hang, is_strict=False) as model:
        env = {**home, "AGENT_LS_API_BASE": model.base_url}
        async with command(env, "batch", "run", str(tasks), "--jobs", "1") as process:
            await until(lambda: len(model.requests) >= 2)
            async with queue_of(env) as queue:
                (batch,) = await queue.batches()
            stopped = await run(env, "batch", "stop", batch.batch_id[-6:])
            assert (stopped.code, "batch resume" in stopped.err) == (0, True)
            done = await ended(process)
        assert done.code == 130, done.err
        async with queue_of(env) as queue:
            rows = await queue.tasks(batch.batch_id)
    assert [row.state for row in rows] == ["waiting", "waiting"]
    assert rows[0].session_id


async def calls_of(env: Mapping[str, str], row: TaskRow) -> list[str]:
    """Return the tools that a task's session started, in order."""
    store = open_store(env["AGENT_LS_STORE_URL"])
    try:
        journal = await store.load(row.session_id)
    finally:
        await store.close()
    return [one.event.tool for one in journal if isinstance(one.event, ToolCallStarted)]


def workers_of(pid: int) -> list[psutil.Process]:
    """Return Dask's worker processes of a batch: the parents of the runs."""
    return [
        one
        for one in psutil.Process(pid).children(recursive=True)
        if one.is_running() and "spawn_main" in " ".join(one.cmdline())
    ]


async def test_a_worker_killed_in_mid_turn_is_replaced_and_no_command_runs_twice(
    home: dict[str, str], shop: Path, tmp_path: Path
) -> None:
    marks = tmp_path / "marks"
    scenario = f"""
[[answer]]
when = {{ contains = "Count" }}
[[answer.call]]
tool = "run_command"
arguments = {{ command = "echo once >> {marks}; echo x > made.txt" }}

[[answer]]
hang = "before"

[[answer]]
text = "Done."
repeat = 0
"""
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text(json.dumps({"id": "t0", "repository": "shop", "prompt": "Count"}))
    async with scripted(scenario, is_strict=False) as model:
        env = {**home, "AGENT_LS_API_BASE": model.base_url}
        async with command(env, "batch", "run", str(tasks), "--jobs", "1") as process:
            await until(lambda: len(model.requests) >= 2)
            (worker,) = workers_of(process.pid)
            runs = worker.children(recursive=True)
            worker.kill()
            # Its run goes with it: two must never work in one session.
            _, left = await asyncio.to_thread(psutil.wait_procs, runs, timeout=20)
            assert not left, left
            done = await ended(process)
        assert done.code == 0, done.err
        async with queue_of(env) as queue:
            (batch,) = await queue.batches()
            (row,) = await queue.tasks(batch.batch_id)
            patch = await queue.patch(batch.batch_id, "t0")
    assert (row.attempt, row.state) == (2, "done")
    assert marks.read_text() == "once\n"
    assert b"made.txt" in patch


async def test_workers_that_die_while_they_start_come_again(
    home: dict[str, str], shop: Path, tmp_path: Path
) -> None:
    """Dask gives up a worker that dies while it starts, so in the end there would be none."""
    tasks = tasks_file(tmp_path, 2)
    async with scripted(WRITES, is_strict=False) as model:
        env = {**home, "AGENT_LS_API_BASE": model.base_url}
        words = ("batch", "run", str(tasks), "--jobs", "2", "--json")
        async with command(env, *words) as process:
            # The first requests say that the cluster has started.
            await until(lambda: len(model.requests) > 0)
            async with asyncio.timeout(300):
                while found := workers_of(process.pid):
                    for one in found:
                        one.kill()
                    await asyncio.sleep(0.3)
            done = await ended(process)
    assert (done.code, json.loads(done.out)["counts"]["done"]) == (0, 2), done.err


async def test_the_ten_tasks_are_played_side_by_side(
    home: dict[str, str], repository: Path
) -> None:
    place = repository / "benchmarks/evaluation"
    async with scripted((place / "scenario.toml").read_text(), is_strict=False) as model:
        env = {**home, "AGENT_LS_API_BASE": model.base_url}
        done = await run(
            env, "batch", "run", str(place), "--jobs", "4",
            "--variant", "free:policies.step_limit.max_steps=20",
            "--variant", "short:policies.step_limit.max_steps=1",
        )  # fmt: skip
    assert done.code == 2, done.err
    free, short = done.out.splitlines()[-2:]
    assert free.split()[:4] == ["free", "10", "100", "%"]
    assert short.split()[:4] == ["short", "10", "0", "%"]
