"""What grows with the size of a repository, each beside a floor of the same run.

    python -m benchmarks.growth [--files 300 5000] [--repetitions 5] [--json]

The repositories are made in the temporary folder. Those of 50,000 and 200,000 files take minutes
and are no part of the quick ones: ``--files 300 5000 50000 200000``. Each is measured in a process
of its own, so that the memory is that of one. ``measure`` returns a table of rows: what else grows
is one more function in ``_PARTS``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import psutil

from agent_ls.codeintel.workspace_code import WorkspaceCode
from agent_ls.domain.calls import ToolCall
from agent_ls.loop.extension_points import PlannedCall
from agent_ls.loop.ports.commands import Bounds
from agent_ls.loop.ports.workspace import Root
from agent_ls.safety.ripgrep import find_ripgrep
from agent_ls.safety.sandbox.builder import SandboxBuilder, open_builder
from agent_ls.safety.sandbox.probe import SandboxOptions, probe
from agent_ls.tools.glob import Glob, GlobArguments
from agent_ls.tools.grep import Grep, GrepArguments
from agent_ls.tools.run_command import RunCommand, RunCommandArguments
from agent_ls.workspace.disk import DiskWorkspace
from agent_ls.workspace.runner import ShellRunner
from agent_ls.workspace.tree_watch import TreeWatch
from benchmarks.figures import Figure, finish, median
from benchmarks.large_tree import make_tree

if TYPE_CHECKING:
    from agent_ls.loop.extension_points import ToolContext

_LIMIT_S = 60.0
_PATTERN = r"def f_7_77\b"
_SMALL = 1_000
"""Files; up to so many, a command has a goal in milliseconds beyond bare bash."""
_MAX_BYTES = {True: 160 * 2**20, False: 300 * 2**20}


@dataclass(frozen=True)
class Place:
    """A repository, and what looks at it."""

    root: Path
    files: int
    repetitions: int
    workspace: DiskWorkspace
    builder: SandboxBuilder | None

    @property
    def is_small(self) -> bool:
        return self.files <= _SMALL


async def _first_request(place: Place) -> list[Figure]:
    """The tree that stands in the first prompt."""
    floor = await _floor(place, "rg", "--files", "--hidden")
    fresh = [_workspace(place.root) for _ in range(place.repetitions)]
    taken = [await _timed(one.describe) for one in fresh]
    return [_figure("tree of the first request", median(taken), None, floor, "rg --files")]


async def _command(place: Place) -> list[Figure]:
    """A command that changes a file, with the looks around it."""
    bare = await _floor(place, "bash", "-c", "echo 1 >> p0/m0/f0.py")
    status = await _floor(place, "git", "status", "--porcelain")
    watch, runner = TreeWatch(place.workspace), ShellRunner(place.builder)
    call = ToolCall(id="cal_1", provider_id="p", tool="run_command", arguments_json="{}")
    tool = RunCommand(place.workspace, runner)
    planned = PlannedCall(call, tool, RunCommandArguments(command="make it so"))

    async def run() -> None:
        mark = await watch.begin(planned)
        await runner.run(
            "echo 1 >> p0/m0/f0.py",
            cwd=place.root,
            timeout_s=_LIMIT_S,
            bounds=Bounds("workspace-write"),
        )
        changes = await watch.changes(mark) if mark else ()
        if [one.path for one in changes] != ["p0/m0/f0.py"] or changes[0].before is None:
            raise RuntimeError(f"it was not seen what a command changed: {changes}")

    first = await _timed(run)
    later = median([await _timed(run) for _ in range(place.repetitions)])
    floor = bare if place.is_small else status
    goal = bare + 0.06 if place.is_small else max(bare + 0.06, 2 * status)
    against = "bare bash" if place.is_small else "git status"
    return [
        _figure("first command", first, None, status, "git status"),
        _figure("later command", later, goal, floor, against),
    ]


async def _searches(place: Place) -> list[Figure]:
    """Searches by name and by content, once the list of files is kept."""
    listed = await _floor(place, "rg", "--files", "--hidden")
    searched = await _floor(place, "rg", "--hidden", "--count", _PATTERN)
    glob, grep = Glob(place.workspace), Grep(place.workspace)
    # Searches do not look at it.
    context = cast("ToolContext", None)
    code = WorkspaceCode(place.workspace, None)

    async def globs() -> None:
        await glob.run(GlobArguments(pattern="**/f77.py"), context)

    async def greps() -> None:
        found = await grep.run(GrepArguments(pattern=_PATTERN), context)
        # On a busy machine the search may be ended at its limit, which it says.
        if place.files > 700 and "f_7_77" not in found.text and "partial" not in found.text:
            raise RuntimeError(f"not found: {found.text}")

    async def finds() -> None:
        await code.find("f_2_7", 41)

    try:
        await globs()
        await asyncio.sleep(0.5 + place.files / 50_000)
        first = await _timed(finds)
        later = [
            median([await _timed(one) for _ in range(place.repetitions)])
            for one in (globs, greps, finds)
        ]
    finally:
        await code.close()
    return [
        _figure("glob", later[0], 1.3 * listed + 0.005, listed, "rg --files"),
        _figure("grep", later[1], 1.3 * searched + 0.02, searched, "rg"),
        _figure("find_symbol, first", first, 3.0, searched, "rg"),
        _figure("find_symbol, later", later[2], 1.3 * searched + 0.02, searched, "rg"),
    ]


async def _memory(place: Place) -> list[Figure]:
    """What this process holds after all of it, without a server's other parts."""
    held = float(psutil.Process().memory_info().rss)
    return [Figure("memory", held / 2**20, "MB", goal=_MAX_BYTES[place.is_small] / 2**20)]


_PARTS = (_first_request, _command, _searches, _memory)


def _figure(what: str, taken_s: float, goal_s: float | None, floor_s: float, floor: str) -> Figure:
    goal = None if goal_s is None else goal_s * 1_000
    return Figure(what, taken_s * 1_000, "ms", goal, against=f"{taken_s / floor_s:.1f} × {floor}")


async def _timed(do: Callable[[], Awaitable[object]]) -> float:
    begun_s = time.perf_counter()
    await do()
    return time.perf_counter() - begun_s


async def _floor(place: Place, name: str, *words: str) -> float:
    program = find_ripgrep([place.root]) or name if name == "rg" else name

    async def run() -> None:
        process = await asyncio.create_subprocess_exec(
            *(program, *words), cwd=place.root, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL
        )
        await process.wait()

    await run()
    return median([await _timed(run) for _ in range(place.repetitions)])


def _workspace(root: Path) -> DiskWorkspace:
    return DiskWorkspace([Root("tree", root, is_trusted=True)])


def measure_one(files: int, repetitions: int, made: Path | None = None) -> list[Figure]:
    """Return the figures of one repository, which may have been made before."""
    with tempfile.TemporaryDirectory(prefix="agent-ls-growth-") as name:
        root = (made or Path(name)).resolve()
        if made is None:
            make_tree(root, files)
        options = SandboxOptions(use="bubblewrap")
        sandbox = probe(options).sandbox
        builder = sandbox and open_builder(sandbox, options, lambda: [root])
        place = Place(root, files, repetitions, _workspace(root), builder)
        try:
            return asyncio.run(_measured(place))
        finally:
            if builder:
                builder.end()


async def _measured(place: Place) -> list[Figure]:
    return [figure for part in _PARTS for figure in await part(place)]


def measure(sizes: Sequence[int], repetitions: int) -> list[Figure]:
    """Return the figures of all repositories, each from a process of its own."""
    found = list[Figure]()
    for files in sizes:
        words = ("--one", str(files), "--repetitions", str(repetitions))
        done = subprocess.run(
            (sys.executable, "-m", "benchmarks.growth", *words), stdout=subprocess.PIPE, check=True
        )
        for row in json.loads(done.stdout):
            found.append(Figure(**{**row, "name": f"{files:,} files: {row['name']}"}))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--files", type=int, nargs="+", default=[300, 5_000])
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--made", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.one:
        figures = measure_one(options.one, options.repetitions, options.made)
        print(json.dumps([{name: getattr(one, name) for name in _FIELDS} for one in figures]))
        return 0
    figures = measure(options.files, options.repetitions)
    print(f"load {os.getloadavg()[0]:.0f}", file=sys.stderr)
    return finish("growth", figures, as_json=options.json)


_FIELDS = ("name", "value", "unit", "goal", "at_least", "against")


if __name__ == "__main__":
    raise SystemExit(main())
