"""What a repository map costs: cold, after one change, and after a restart.

    python -m benchmarks.repository_map [--aider PYTHON] [--repetitions 5] [--json]

The tree is a copy of the standard library without its tests. The floor is parsing every file of
it once with tree-sitter; with the interpreter of an environment that has aider, its map as well.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from agent_ls.codeintel.workspace_code import WorkspaceCode
from agent_ls.loop.ports.workspace import Root
from agent_ls.workspace.disk import DiskWorkspace
from benchmarks.figures import Figure, finish

_LEFT_OUT = ("__pycache__", "site-packages", "test", "tests", "idle_test")
_TOKENS = 1_024
_CHANGED = "json/decoder.py"

_FLOOR = """
import sys, time, resource
from pathlib import Path
import tree_sitter_python
from tree_sitter import Language, Parser
parser = Parser(Language(tree_sitter_python.language()))
files = sorted(Path(sys.argv[1]).rglob("*.py"))
began_s = time.process_time()
for file in files:
    parser.parse(file.read_bytes())
print(time.process_time() - began_s, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""

_AIDER = """
import contextlib, io, json, resource, sys, time
from pathlib import Path
from aider.io import InputOutput
from aider.models import Model
from aider.repomap import RepoMap
tree = Path(sys.argv[1])
files = sorted(str(path) for path in tree.rglob("*.py"))
changed = tree / sys.argv[2]
found = {"files": len(files)}
with contextlib.redirect_stdout(io.StringIO()):
    talk = InputOutput(yes=True, pretty=False, fancy_input=False)
    maps = RepoMap(map_tokens=1024, root=str(tree), main_model=Model("gpt-4o"), io=talk)
    for name in ("cold", "warm"):
        wall_s, cpu_s = time.monotonic(), time.process_time()
        text = maps.get_repo_map([], files, force_refresh=True)
        found[name] = [time.monotonic() - wall_s, time.process_time() - cpu_s, len(text or "")]
        changed.write_text(changed.read_text() + "\\n\\ndef added_by_nobody():\\n    pass\\n")
found["memory_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps(found))
"""


def measure(repetitions: int, aider: str | None = None) -> list[Figure]:
    """Return the medians, each repetition on a fresh copy of the tree."""
    found: defaultdict[str, list[float]] = defaultdict(list)
    for _ in range(repetitions):
        with _tree() as tree:
            for name, value in asyncio.run(_ours(tree, tree.parent / "tags")).items():
                found[name].append(value)
        with _tree() as tree:
            cpu_s, memory_mb = map(float, _output(sys.executable, _FLOOR, tree).split())
            found["floor cpu"].append(cpu_s)
            found["floor memory"].append(memory_mb)
        if aider:
            with _tree() as tree:
                theirs = json.loads(_output(aider, _AIDER, tree, _CHANGED))
                for name in ("cold", "warm"):
                    for number, kind in enumerate(("wall", "cpu")):
                        found[f"aider {name} {kind}"].append(theirs[name][number])
                found["aider memory"].append(theirs["memory_mb"])
    return _figures({name: statistics.median(values) for name, values in found.items()})


def _figures(got: dict[str, float]) -> list[Figure]:
    floor = got["floor cpu"]
    figures = [
        Figure("files", got["files"]),
        Figure("map", got["chars"], "characters", goal=4 * _TOKENS),
        Figure("cold, CPU", got["cold cpu"], "s", against="worker's start included"),
        Figure("cold, CPU to floor", got["cold cpu"] / floor, "×", 4.0, against="parsing once"),
        Figure("cold, wall", got["cold wall"], "s"),
        Figure("after a change, wall", got["warm wall"] * 1e3, "ms", 100.0),
        Figure("after a change, CPU", got["warm cpu"] * 1e3, "ms"),
        Figure("after a restart, CPU", got["restart cpu"] * 1e3, "ms"),
        Figure("after a restart, wall", got["restart wall"] * 1e3, "ms"),
        Figure("worker's memory at most", got["memory"], "MB"),
        Figure("memory to floor", got["memory"] / got["floor memory"], "×", 3.0),
    ]
    if "aider cold cpu" in got:
        figures += [
            Figure("aider cold, CPU", got["aider cold cpu"], "s", against="imports not counted"),
            Figure("cold, CPU to aider", got["cold cpu"] / got["aider cold cpu"], "×", 0.3),
            Figure("aider cold, wall", got["aider cold wall"], "s"),
            Figure("aider after a change, wall", got["aider warm wall"] * 1e3, "ms"),
            Figure("aider's memory at most", got["aider memory"], "MB"),
            Figure("memory to aider", got["memory"] / got["aider memory"], "×", 0.5),
        ]
    return figures


async def _ours(tree: Path, tags: Path) -> dict[str, float]:
    """Return what our maps cost: this process's part, and the worker's from its start on."""
    workspace = DiskWorkspace([Root("tree", tree, is_trusted=True)])
    code = WorkspaceCode(workspace, tags)
    cold_wall, cold_cpu, text = await _timed(code, is_new=True)
    changed = tree / _CHANGED
    changed.write_text(
        changed.read_text("utf-8") + "\n\ndef added_by_nobody():\n    pass\n", "utf-8"
    )
    warm_wall, warm_cpu, _ = await _timed(code, is_new=False)
    memory = _peak_mb(code.worker_pid)
    await code.close()
    again = WorkspaceCode(workspace, tags)
    restart_wall, restart_cpu, _ = await _timed(again, is_new=True)
    await again.close()
    return {
        "files": len([name for name in await workspace.files() if name.endswith(".py")]),
        "chars": len(text),
        "cold wall": cold_wall,
        "cold cpu": cold_cpu,
        "warm wall": warm_wall,
        "warm cpu": warm_cpu,
        "restart wall": restart_wall,
        "restart cpu": restart_cpu,
        "memory": memory,
    }


async def _timed(code: WorkspaceCode, *, is_new: bool) -> tuple[float, float, str]:
    before_s = 0.0 if is_new else _cpu_s(code.worker_pid)
    wall_s, own_s = time.monotonic(), time.process_time()
    text = await code.repository_map((), _TOKENS)
    took_s, used_s = time.monotonic() - wall_s, time.process_time() - own_s
    return took_s, used_s + _cpu_s(code.worker_pid) - before_s, text


def _cpu_s(pid: int | None) -> float:
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system


def _peak_mb(pid: int | None) -> float:
    status = Path(f"/proc/{pid}/status")
    if status.exists():
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(lines["VmHWM"].split()[0]) / 1024
    return psutil.Process(pid).memory_info().rss / 2**20


@contextmanager
def _tree() -> Iterator[Path]:
    """Give a copy of the standard library, which is no repository and has no tests in it."""
    with tempfile.TemporaryDirectory(prefix="map-") as folder:
        tree = Path(folder).resolve() / "tree"
        ignore = shutil.ignore_patterns(*_LEFT_OUT)
        shutil.copytree(Path(os.__file__).parent, tree, ignore=ignore)
        yield tree


def _output(python: str, program: str, *arguments: Path | str) -> str:
    command = [python, "-c", program, *map(str, arguments)]
    with tempfile.TemporaryDirectory() as home:
        env = {"PATH": os.environ["PATH"], "HOME": home, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        ended = subprocess.run(command, capture_output=True, text=True, env=env, cwd=home)
    if ended.returncode:
        raise SystemExit(f"{python} failed:\n{ended.stderr[-2_000:]}")
    return ended.stdout.strip().splitlines()[-1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--aider", help="interpreter of an environment with aider-chat")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    given = parser.parse_args()
    figures = measure(given.repetitions, given.aider)
    return finish("Repository map", figures, as_json=given.json)


if __name__ == "__main__":
    raise SystemExit(main())
