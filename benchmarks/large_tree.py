"""Listing, searching and watching a tree of 200,000 files, beside git and ripgrep.

    python -m benchmarks.large_tree [--files 200000] [--repetitions 3] [--json]

The tree is made anew in the temporary folder and committed there. It is no part of the quick ones:
making it takes a minute.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from agent_ls.domain.calls import ToolCall
from agent_ls.loop.extension_points import PlannedCall
from agent_ls.loop.ports.workspace import Root
from agent_ls.safety.ripgrep import find_ripgrep
from agent_ls.tools.run_command import RunCommand, RunCommandArguments
from agent_ls.tools.searching import Query, search_below
from agent_ls.workspace.disk import DiskWorkspace
from agent_ls.workspace.runner import ShellRunner
from agent_ls.workspace.tree_watch import TreeWatch
from benchmarks.figures import Figure, finish, median

_IN_A_FOLDER = 100
_PATTERN = "x \\+ 77$"
_LIMIT_S = 60.0


def measure(files: int, repetitions: int) -> list[Figure]:
    """Return how many seconds each takes."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name).resolve()
        make_tree(root, files)
        status = median(
            [_timed(["git", "status", "--porcelain"], root) for _ in range(repetitions)]
        )
        found = [
            Figure("git status", status, "s"),
            _beside("list of all files", status, 2, lambda: _list(root, files), repetitions),
        ]
        if (program := find_ripgrep([root])) is not None:
            search = [program, "--count", "--regexp", _PATTERN]
            floor = median([_timed(search, root) for _ in range(repetitions)])
            found += [
                Figure("ripgrep", floor, "s"),
                _beside("search", floor, 1.3, lambda: _search(program, root, files), repetitions),
            ]
        watch = TreeWatch(DiskWorkspace([Root("tree", root, is_trusted=True)]))
        return [
            *found,
            _beside("look before the first command", status, 16, lambda: _watch(watch, root), 1),
            _beside(
                "looks around a later one", status, 8, lambda: _watch(watch, root), repetitions
            ),
        ]


def make_tree(root: Path, files: int) -> None:
    for number in range(files // _IN_A_FOLDER):
        folder = root / f"p{number // 100}" / f"m{number % 100}"
        folder.mkdir(parents=True)
        for at in range(_IN_A_FOLDER):
            (folder / f"f{at}.py").write_text(f"def f_{number}_{at}(x):\n    return x + {at}\n")
    user = ["-c", "user.name=a", "-c", "user.email=a@localhost", "-c", "gc.auto=0"]
    for command in (["init", "-q"], ["add", "-A"], [*user, "commit", "-qm", "x"], ["gc", "-q"]):
        subprocess.run(["git", *command], cwd=root, check=True)


def _timed(command: list[str], root: Path) -> float:
    started_s = time.perf_counter()
    subprocess.run(command, cwd=root, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started_s


def _beside(
    what: str, floor: float, factor: float, do: Callable[[], Awaitable[None]], repetitions: int
) -> Figure:
    """Return the median of doing this, with so many times the floor as its goal."""

    async def timed() -> float:
        started_s = time.perf_counter()
        await do()
        return time.perf_counter() - started_s

    taken = median([asyncio.run(timed()) for _ in range(repetitions)])
    return Figure(what, taken, "s", goal=factor * floor, against=f"{taken / floor:.1f} × the floor")


async def _list(root: Path, files: int) -> None:
    found = await DiskWorkspace([Root("tree", root, is_trusted=True)]).files()
    if len(found) != files or found.is_cut:
        raise RuntimeError(f"{len(found)} of {files} files were listed")


async def _search(program: str, root: Path, files: int) -> None:
    query = Query(_PATTERN, None, ignore_case=False, max_hits=files, limit_s=_LIMIT_S)
    found = await search_below(query, program, root, ".")
    if len(found.hits) != files // _IN_A_FOLDER:
        raise RuntimeError(f"{len(found.hits)} lines were found")


async def _watch(watch: TreeWatch, root: Path) -> None:
    workspace = DiskWorkspace([Root("tree", root, is_trusted=True)])
    call = ToolCall(id="cal_1", provider_id="p", tool="run_command", arguments_json="{}")
    tool = RunCommand(workspace, ShellRunner())
    mark = await watch.begin(PlannedCall(call, tool, RunCommandArguments(command="make it so")))
    if mark is not None:
        await watch.changes(mark)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--files", type=int, default=200_000)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    figures = measure(options.files, options.repetitions)
    return finish("large_tree", figures, as_json=options.json)


if __name__ == "__main__":
    sys.exit(main())
