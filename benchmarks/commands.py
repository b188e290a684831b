"""What the sandbox costs a command in a repository, against plain bash and a command without it.

    python -m benchmarks.commands [--repetitions 40] [--json]

The ways take turns. The command does nothing, and the folders change a little before each round.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from agent_ls.loop.ports.commands import Bounds
from agent_ls.safety.sandbox.builder import SandboxBuilder, open_builder
from agent_ls.safety.sandbox.probe import SandboxOptions, probe
from agent_ls.workspace.runner import ShellRunner
from benchmarks.figures import Figure, finish, median, quantile

_FOLDERS, _FILES = 300, 10
_LIMIT_S = 60.0
_GOAL_MS = 60.0
_COMMIT = "git init -q . && git add . && git -c user.email=a@b -c user.name=x commit -qm x"


def measure(repetitions: int) -> list[Figure]:
    """Return what a command costs with and without the sandbox; nothing without bubblewrap."""
    options = SandboxOptions(use="bubblewrap")
    found = probe(options)
    if found.sandbox is None:
        return []
    with tempfile.TemporaryDirectory(prefix="agent-ls-bench-") as place:
        top = Path(place).resolve() / "repository"
        _make(top)
        builder = open_builder(found.sandbox, options, lambda: [top])
        try:
            taken = asyncio.run(_rounds(builder, top, repetitions))
        finally:
            builder.end()
    return _figures(taken)


def _make(top: Path) -> None:
    for number in range(_FOLDERS):
        folder = top / f"part{number % 20}" / f"module{number}"
        folder.mkdir(parents=True)
        for file in range(_FILES):
            (folder / f"file{file}.py").write_text("x = 1\n")
    subprocess.run(_COMMIT, shell=True, cwd=top, check=True)


async def _rounds(builder: SandboxBuilder, top: Path, repetitions: int) -> dict[str, list[float]]:
    """Return the milliseconds of each way, in order; the first round only fills caches."""

    async def bash() -> None:
        process = await asyncio.create_subprocess_exec("/bin/bash", "-c", "true", cwd=top)
        await process.wait()

    def command(bounds: Bounds) -> Callable[[], Awaitable[object]]:
        return lambda: ShellRunner(builder).run("true", cwd=top, timeout_s=_LIMIT_S, bounds=bounds)

    ways = {
        "bash": bash,
        "outside": command(Bounds("outside")),
        "read-only": command(Bounds("read-only")),
        "workspace-write": command(Bounds("workspace-write")),
    }
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for repetition in range(repetitions + 1):
        (top / f"part{repetition % 20}" / f"new{repetition}.py").write_text("x = 2\n")
        for name, run in ways.items():
            begun_s = time.perf_counter()
            await run()
            if repetition:
                taken[name].append((time.perf_counter() - begun_s) * 1_000)
    return taken


def _figures(taken: dict[str, list[float]]) -> list[Figure]:
    floor, outside = median(taken["bash"]), median(taken["outside"])
    found = [
        Figure("plain bash", floor, "ms"),
        Figure("command without the sandbox", outside / floor, "×", against="plain bash, median"),
    ]
    for view in ("read-only", "workspace-write"):
        times = taken[view]
        against = f"plain bash, median; load {os.getloadavg()[0]:.0f}"
        added = [one - outside for one in times]
        found += [
            Figure(f"command that may {view}", median(times) / floor, "×", against=against),
            Figure(f"sandbox adds, {view}: median", median(added), "ms"),
            Figure(f"sandbox adds, {view}: p95", quantile(added, 0.95), "ms", goal=_GOAL_MS),
            Figure(
                f"sandbox adds, {view}: least disturbed", min(times) - min(taken["outside"]), "ms"
            ),
        ]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repetitions", type=int, default=40)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    return finish("commands", measure(options.repetitions), as_json=options.json)


if __name__ == "__main__":
    raise SystemExit(main())
