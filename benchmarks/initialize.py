"""How long `initialize` takes and what the server holds then, against an empty pygls server.

    python -m benchmarks.initialize [--repetitions 9] [--json]

The two are started in turn. Time runs from the spawn to the answer; memory is what the process
holds right after it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import psutil

from benchmarks.editor import Editor
from benchmarks.figures import Figure, finish, median
from benchmarks.machine import private_environment
from benchmarks.places import AGENT_LS

_EMPTY_SERVER = (
    "from pygls.lsp.server import LanguageServer\nLanguageServer('empty', '1').start_io()\n"
)
_COMMANDS = {
    "pygls": (sys.executable, "-P", "-c", _EMPTY_SERVER),
    "agent-ls": (*AGENT_LS, "serve"),
}


def measure(repetitions: int) -> list[Figure]:
    """Return time and memory at the answer of `initialize`."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in _COMMANDS}
    with tempfile.TemporaryDirectory(prefix="agent-ls-bench-") as place:
        for repetition in range(repetitions + 1):
            for name, command in _COMMANDS.items():
                one = _start(command, Path(place) / name)
                # The first of each only fills the caches of the machine.
                if repetition:
                    found[name].append(one)
    times = {name: median(s for s, _ in values) for name, values in found.items()}
    sizes = {name: median(size for _, size in values) for name, values in found.items()}
    fastest = {name: min(s for s, _ in values) for name, values in found.items()}
    return [
        Figure("initialize, empty pygls server", times["pygls"] * 1000, "ms"),
        Figure("initialize, agent-ls", times["agent-ls"] * 1000, "ms"),
        Figure(
            "initialize: time",
            times["agent-ls"] / times["pygls"],
            "×",
            goal=1.25,
            against="empty pygls server, median",
        ),
        Figure(
            "initialize: time, least disturbed",
            fastest["agent-ls"] / fastest["pygls"],
            "×",
            against="empty pygls server, minimum",
        ),
        Figure("initialize: memory, agent-ls", sizes["agent-ls"] / 2**20, "MB"),
        Figure(
            "initialize: memory",
            sizes["agent-ls"] / sizes["pygls"],
            "×",
            goal=1.3,
            against="empty pygls server",
        ),
    ]


def _start(command: tuple[str, ...], home: Path) -> tuple[float, float]:
    """Return the seconds until the answer, and the bytes the process holds then."""
    environment = private_environment(home)
    root = home / "workspace"
    root.mkdir(exist_ok=True)
    editor = Editor(command, root, env=environment, log=home / "server.log")
    try:
        editor.greet()
        answered_at = time.monotonic()
        return answered_at - editor.started_at, psutil.Process(editor.process.pid).memory_info().rss
    finally:
        editor.kill()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    return finish("initialize", measure(options.repetitions), as_json=options.json)


if __name__ == "__main__":
    raise SystemExit(main())
