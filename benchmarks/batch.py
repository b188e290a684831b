"""What a task of a batch costs beyond a plain ``agent-ls run`` in a fresh copy of the repository.

    python -m benchmarks.batch [--tasks 12] [--json]

One worker takes one task after the other; the time from one end to the next is what a task takes.
Plain runs take place before and after the batch. All are of one step, with the same model.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

from agent_ls.store.batch_queue import BatchQueue
from agent_ls.store.sql_store import open_store
from benchmarks.figures import Figure, finish, median
from benchmarks.model import Plan, RunningModel

_GOAL_MS = 50.0
_COMMIT = "git init -q . && git add . && git -c user.email=a@b -c user.name=x commit -qm x"
_PROMPT = "Say that you are done."


def measure(tasks: int) -> list[Figure]:
    """Return the ratio of a task to a plain run, and the difference."""
    with tempfile.TemporaryDirectory(prefix="agent-ls-bench-") as place:
        folder = Path(place).resolve()
        shop = folder / "shop"
        shop.mkdir()
        for number in range(100):
            (shop / f"file{number}.py").write_text("x = 1\n")
        subprocess.run(_COMMIT, shell=True, cwd=shop, check=True)
        with RunningModel(Plan([]), folder) as model:
            env = _environment(folder, model.base_url)
            _plain_ms(shop, env)
            plain = [_plain_ms(shop, env) for _ in range(tasks // 2)]
            in_batch = list(_task_ms(folder, env, tasks))
            plain += [_plain_ms(shop, env) for _ in range(tasks - tasks // 2)]
    floor, task = median(plain), median(in_batch)
    against = f"a plain run, median; load {os.getloadavg()[0]:.0f}"
    return [
        Figure("plain run", floor, "ms"),
        Figure("task of a batch", task / floor, "×", against=against),
        Figure("a task costs beyond it: median", task - floor, "ms", goal=_GOAL_MS),
        Figure("a task costs beyond it: least disturbed", min(in_batch) - min(plain), "ms"),
    ]


def _environment(folder: Path, base_url: str) -> Mapping[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder / "home"),
        "AGENT_LS_SANDBOX": "off",
        "AGENT_LS_MODEL": "openai/scripted",
        "AGENT_LS_API_BASE": base_url,
        "AGENT_LS_STORE_URL": str(folder / "store.db"),
    }


def _agent_ls(env: Mapping[str, str], *words: str) -> str:
    command = (sys.executable, "-P", "-m", "agent_ls", *words)
    done = subprocess.run(
        command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout


def _plain_ms(shop: Path, env: Mapping[str, str]) -> float:
    with tempfile.TemporaryDirectory(prefix="agent-ls-bench-") as place:
        copy = Path(place).resolve() / "shop"
        shutil.copytree(shop, copy)
        begun_s = time.perf_counter()
        # As a task is run, with the same limits.
        words = ("--json", "--quiet", "--mode", "auto", "--budget-usd", "5")
        _agent_ls(env, "run", _PROMPT, "--workspace", str(copy), *words)
        return (time.perf_counter() - begun_s) * 1_000


def _task_ms(folder: Path, env: Mapping[str, str], count: int) -> Iterator[float]:
    """Yield the milliseconds from each task's end to the next one's."""
    rows = [{"id": f"t{at}", "repository": "shop", "prompt": _PROMPT} for at in range(count + 1)]
    tasks = folder / "tasks.jsonl"
    tasks.write_text("".join(json.dumps(row) + "\n" for row in rows))
    _agent_ls(env, "batch", "run", str(tasks), "--jobs", "1", "--quiet")
    ends = sorted(asyncio.run(_ends_ms(env["AGENT_LS_STORE_URL"])))
    yield from (float(later - earlier) for earlier, later in pairwise(ends))


async def _ends_ms(place: str) -> list[int]:
    store = open_store(place)
    try:
        queue = BatchQueue(store)
        (batch,) = await queue.batches()
        return [row.finished_ms for row in await queue.tasks(batch.batch_id)]
    finally:
        await store.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tasks", type=int, default=12)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    return finish("batch", measure(options.tasks), as_json=options.json)


if __name__ == "__main__":
    raise SystemExit(main())
