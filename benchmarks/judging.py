"""How many requests ``explain --batch`` judges in a second of CPU, beyond its start.

    python -m benchmarks.judging [--rounds 8] [--json]

The requests are those of the tables in ``tests/safety``, in random order.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys

from benchmarks.figures import Figure, finish
from tests.safety.tables import requests

_GOAL_PER_S = 1_000.0


def _cpu_s(lines: list[str]) -> float:
    """Return the seconds of CPU that judging these requests takes, with the start."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    words = [sys.executable, "-P", "-m", "agent_ls", "explain", "--json", "--batch"]
    done = subprocess.run(words, input="\n".join(lines), capture_output=True, check=True, text=True)
    assert len(done.stdout.splitlines()) == len(lines)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(rounds: int) -> list[Figure]:
    """Judge all requests this many times."""
    lines = [json.dumps(one) for table in ("classes", "rules") for one in requests(table)] * rounds
    random.Random(1).shuffle(lines)
    start_s = min(_cpu_s(lines[:1]) for _ in range(3))
    rate = len(lines) / (_cpu_s(lines) - start_s)
    return [
        Figure("requests", len(lines)),
        Figure("start", start_s, "s"),
        Figure("requests judged in a second", rate, goal=_GOAL_PER_S, at_least=True),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.judging", description=__doc__)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    return finish("judging", measure(options.rounds), as_json=options.json)


if __name__ == "__main__":
    raise SystemExit(main())
