"""How long the editor waits for a trivial request, idle and while a session runs.

    python -m benchmarks.jitter [--repetitions 5] [--steps 60] [--json]

The editor asks for a hover every 10 ms: first while nothing happens, then while a scripted session
of reads, edits, commands and searches runs, whose model takes 50 ms for each answer.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks import peer, session
from benchmarks.editor import Editor
from benchmarks.figures import Figure, finish, median, quantile
from benchmarks.machine import private_environment
from benchmarks.model import Plan, RunningModel

_EVERY_S = 0.01
_IDLE_S = 3.0
_SETTLING_S = 8.0
"""By then the server has loaded everything, its model host included."""
_MODEL_DELAY_S = 0.05
_FRAME_MS = 16.0
_LIMIT_S = 120.0


@dataclass(frozen=True)
class Trips:
    """Round trips in milliseconds of one server's life."""

    idle: list[float]
    busy: list[float]

    @property
    def is_smooth(self) -> bool:
        """Whether no request waited longer than a frame of the screen."""
        return max(self.busy) <= _FRAME_MS


def measure(steps: int, repetitions: int) -> list[Figure]:
    """Return how long requests took idle and busy, over all repetitions."""
    runs: list[Trips] = []
    for _ in range(repetitions):
        run = _run(steps)
        sys.stderr.write(
            f"{len(run.busy)} requests during the session: p99 {quantile(run.busy, 0.99):.2f} ms, "
            f"longest {max(run.busy):.2f} ms; idle p99 {quantile(run.idle, 0.99):.2f} ms\n"
        )
        runs.append(run)
    idle = [trip for run in runs for trip in run.idle]
    busy = [trip for run in runs for trip in run.busy]
    idle_p99 = quantile(idle, 0.99)
    return [
        Figure("request, idle: median", median(idle), "ms"),
        Figure("request, idle: p99", idle_p99, "ms"),
        Figure("request during a session: median", median(busy), "ms"),
        Figure(
            "request during a session: p99",
            quantile(busy, 0.99),
            "ms",
            goal=2 * idle_p99 + 2,
            against="goal: 2 × idle + 2 ms",
        ),
        Figure("request during a session: longest", max(busy), "ms"),
        Figure(
            "sessions in which none took over 16 ms",
            sum(run.is_smooth for run in runs) / repetitions,
            goal=0.95,
            at_least=True,
            against=f"of {repetitions}",
        ),
    ]


def _run(count: int) -> Trips:
    with tempfile.TemporaryDirectory(prefix="agent-ls-bench-") as place:
        folder = Path(place)
        steps = session.plan(count)
        session.write_workspace(folder / "workspace", steps)
        plan = Plan(list(session.calls_of_agent_ls(steps)), delay_s=_MODEL_DELAY_S)
        with RunningModel(plan, folder) as model:
            variables = peer.variables(
                model.base_url, model="openai/measured", key="none", mode="auto"
            )
            env = private_environment(folder / "home", variables)
            editor = Editor(peer.command(), folder / "workspace", env=env, log=folder / "log")
            try:
                trips = _trips(editor)
                editor.close()
            finally:
                editor.kill()
        edits = session.check_workspace(folder / "workspace", steps)
        if not edits.is_exact:
            raise RuntimeError(f"the session was not carried out: edits {edits}")
        return trips


def _trips(editor: Editor) -> Trips:
    editor.initialize()
    uri = editor.open("README.md", "markdown")
    editor.read_for(_SETTLING_S)
    until = time.monotonic() + _IDLE_S
    idle = _ask(editor, uri, lambda: time.monotonic() > until)
    token = str(editor.execute("agent-ls.prompt", {"text": session.TASK})["turnId"])
    busy = _ask(editor, uri, lambda: token in editor.ended)
    return Trips(idle, busy)


def _ask(editor: Editor, uri: str, is_over: Callable[[], bool]) -> list[float]:
    """Ask for hovers until it is over; return how many milliseconds each took."""
    params = {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 0}}
    trips: list[float] = []
    deadline = time.monotonic() + _LIMIT_S
    while not is_over():
        if time.monotonic() > deadline:
            raise TimeoutError(f"the session did not end within {_LIMIT_S:g} s")
        asked_at = time.monotonic()
        editor.request("textDocument/hover", params)
        trips.append((time.monotonic() - asked_at) * 1000)
        editor.read_for(_EVERY_S)
    return trips


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    return finish("jitter", measure(options.steps, options.repetitions), as_json=options.json)


if __name__ == "__main__":
    raise SystemExit(main())
