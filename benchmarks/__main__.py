"""Runs the benchmarks one after the other and prints every figure beside its goal.

python -m benchmarks [--only NAME ...] [--thorough] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from benchmarks import (
    batch,
    commands,
    edit_speed,
    footprint,
    growth,
    initialize,
    jitter,
    judging,
    keystrokes,
    repository_map,
    steps,
    terminal,
)
from benchmarks.figures import Figure, print_figures, to_json


@dataclass(frozen=True)
class Benchmark:
    """One program, as it is run here."""

    quick: Callable[[], list[Figure]]
    thorough: Callable[[], list[Figure]]


BENCHMARKS: Mapping[str, Benchmark] = {
    "batch": Benchmark(lambda: batch.measure(8), lambda: batch.measure(40)),
    "commands": Benchmark(lambda: commands.measure(40), lambda: commands.measure(200)),
    "edit_speed": Benchmark(lambda: edit_speed.measure(5), lambda: edit_speed.measure(25)),
    "footprint": Benchmark(lambda: footprint.measure(5), lambda: footprint.measure(21)),
    "growth": Benchmark(
        lambda: growth.measure((300, 5_000), 5), lambda: growth.measure((300, 5_000), 15)
    ),
    "initialize": Benchmark(lambda: initialize.measure(9), lambda: initialize.measure(31)),
    "jitter": Benchmark(lambda: jitter.measure(60, 3), lambda: jitter.measure(60, 20)),
    "judging": Benchmark(lambda: judging.measure(4), lambda: judging.measure(16)),
    "keystrokes": Benchmark(lambda: keystrokes.measure(3), lambda: keystrokes.measure(15)),
    "repository_map": Benchmark(
        lambda: repository_map.measure(3), lambda: repository_map.measure(9)
    ),
    "steps": Benchmark(lambda: steps.measure(30, 200, 3), lambda: steps.measure(30, 200, 9)),
    "terminal": Benchmark(lambda: terminal.measure(7), lambda: terminal.measure(31)),
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure agent-ls.")
    parser.add_argument("--only", nargs="+", choices=BENCHMARKS, default=list(BENCHMARKS))
    parser.add_argument("--thorough", action="store_true", help="more repetitions")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    options = parser.parse_args()
    found: dict[str, list[Figure]] = {}
    for name in options.only:
        sys.stderr.write(f"--- {name}\n")
        benchmark = BENCHMARKS[name]
        found[name] = benchmark.thorough() if options.thorough else benchmark.quick()
    if options.json:
        tables = {name: to_json(figures) for name, figures in found.items()}
        print(json.dumps({"load": os.getloadavg()[0], **tables}, indent=1))
    else:
        for name, figures in found.items():
            print_figures(name, figures)
    every = [figure for figures in found.values() for figure in figures]
    return 0 if all(figure.is_met for figure in every) else 1


if __name__ == "__main__":
    raise SystemExit(main())
