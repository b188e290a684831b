"""Many small tasks while workers and the scheduler are killed: each is finished, none twice."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest

from agent_ls.batch.attempt import LEASE_S
from agent_ls.store.batch_queue import FINISHED, BatchQueue, TaskState
from tests.batch.conftest import command, queue_of, run
from tests.batch.test_batch import workers_of
from tests.support.commands import ended
from tests.support.scripted import scripted

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(7_200)]

_LIMIT_S = 6_000.0
_BUDGET_USD = 0.02
_CAP_USD_A_TASK = 0.03


def _scenario(marks: Path) -> str:
    return f"""
[[answer]]
when = {{ contains = "Count" }}
repeat = 0
usage = {{ input = 1000, output = 100 }}
[[answer.call]]
tool = "run_command"
arguments = {{ command = "basename $PWD >> {marks}; echo x > made.txt" }}

[[answer]]
text = "Done."
repeat = 0
usage = {{ input = 1000, output = 100 }}
"""


async def _finished(queue: BatchQueue) -> int:
    states = [
        row.state for batch in await queue.batches() for row in await queue.tasks(batch.batch_id)
    ]
    return sum(state in FINISHED for state in states)


async def _has_begun(queue: BatchQueue, since_ms: list[int]) -> bool:
    """Say whether a task runs whose claim is newer than the first look."""
    for batch in await queue.batches():
        look = await queue.look(batch.batch_id)
        since_ms[:] = since_ms or [look.now_ms]
        ends_ms = since_ms[0] + LEASE_S * 1000
        if any(one.state == TaskState.RUNNING and one.lease_ms > ends_ms for one in look.tasks):
            return True
    return False


async def _disturbed(
    process: asyncio.subprocess.Process, env: Mapping[str, str], every_s: float, until_done: int
) -> bool:
    """Kill a worker now and then; return whether so many tasks are finished before it ends.

    The process is then killed, and with it the scheduler, which lives in it.
    """
    loop = asyncio.get_running_loop()
    next_s = 0.0
    since_ms: list[int] = []
    chance = random.Random(7)
    async with queue_of(env) as queue:
        while process.returncode is None:
            await asyncio.sleep(0.5)
            if until_done and await _finished(queue) >= until_done:
                process.kill()
                return True
            if not next_s and await _has_begun(queue, since_ms):
                # Workers that are killed before there is a cluster leave none to go on with.
                next_s = loop.time() + every_s
            if next_s and loop.time() >= next_s:
                next_s += every_s
                try:
                    workers = workers_of(process.pid)
                    if workers:
                        chance.choice(workers).kill()
                except psutil.NoSuchProcess:
                    continue
    return False


@pytest.mark.parametrize(
    ("count", "every_s", "least"),
    [pytest.param(16, 4.0, 0.75), pytest.param(500, 10.0, 0.9, marks=pytest.mark.long)],
)
async def test_each_task_is_finished_once_while_workers_and_the_scheduler_die(
    home: dict[str, str], shop: Path, tmp_path: Path, count: int, every_s: float, least: float
) -> None:
    marks, tasks = tmp_path / "marks", tmp_path / "tasks.jsonl"
    rows = [{"id": f"t{at}", "repository": "shop", "prompt": "Count"} for at in range(count)]
    tasks.write_text("".join(json.dumps(row) + "\n" for row in rows))
    cap_usd = count * _CAP_USD_A_TASK
    options = ("--jobs", "4", "--cap-usd", str(cap_usd), "--quiet")
    budget = ("--task-budget-usd", str(_BUDGET_USD))
    async with scripted(_scenario(marks), is_strict=False) as model:
        env = {**home, "AGENT_LS_API_BASE": model.base_url}
        words = ("batch", "run", str(tasks), *options, *budget)
        async with asyncio.timeout(_LIMIT_S):
            for kill_at in (count // 3, 2 * count // 3, 0):
                async with command(env, *words) as process:
                    was_killed = await _disturbed(process, env, every_s, kill_at)
                    done = await ended(process)
                assert was_killed is bool(kill_at), done.err
                async with queue_of(env) as queue:
                    (batch,) = await queue.batches()
                words = ("batch", "resume", batch.batch_id, *options)
            told: dict[str, Any] = json.loads(
                (await run(env, "batch", "status", batch.batch_id, "--json")).out
            )
    async with queue_of(env) as queue:
        found = await queue.tasks(batch.batch_id)
        patches = [await queue.patch(batch.batch_id, row.task_id) for row in found]
    assert Counter(row.state for row in found) == {TaskState.DONE: count}
    assert told["counts"]["done"] == count
    assert told["cost_usd"] <= cap_usd
    # One session a task, and no command twice. One that was killed in the middle may have done
    # nothing, and is not repeated: the model is told.
    assert len({row.session_id for row in found}) == count
    ran = Counter(marks.read_text().splitlines())
    assert max(ran.values()) == 1
    assert {name.removeprefix(f"{batch.batch_id}-") for name in ran} <= {
        row.task_id for row in found
    }
    assert sum(b"made.txt" in patch for patch in patches) <= len(ran)
    # Each kill may cut one off before it does anything.
    assert len(ran) >= count * least
