"""How long an approval and a stop take while the editor floods the server with changes.

    python -m benchmarks.flood [--repetitions 30] [--json]

A turn asks for one command after the other. Before each answer the editor sends 1,000 changes of
an open document of 2,000 lines in one go; the answer has to pass behind them.
"""

from __future__ import annotations

import argparse
import re
import tempfile
import time
from pathlib import Path

import psutil

from benchmarks.editor import Editor
from benchmarks.figures import Figure, finish, median, quantile
from benchmarks.machine import private_environment
from benchmarks.model import Plan, RunningModel
from benchmarks.peer import command, variables
from benchmarks.places import REPOSITORY
from benchmarks.session import Call

CHANGES = 1_000
_LINES = 2_000
_LIMIT_S = 60.0
_APPROVAL = re.compile(r"apr_\w+")


def measure(repetitions: int) -> list[Figure]:
    """Return how long answers to approvals took, and a stop."""
    approvals: list[float] = []
    spent: list[float] = []
    calls: list[Call] = [
        ("run_command", {"command": f"touch made{n}"}) for n in range(repetitions + 1)
    ]
    with (
        tempfile.TemporaryDirectory(prefix="agent-ls-bench-") as place,
        RunningModel(Plan(calls), Path(place)) as model,
    ):
        folder = Path(place) / "work"
        folder.mkdir()
        (folder / "a.py").write_text("x = 1\n" * _LINES)
        told = variables(model.base_url, model="openai/scripted", key="none", mode="ask-all")
        env = private_environment(Path(place) / "home", {**told, "PYTHONPATH": str(REPOSITORY)})
        editor = Editor(command(), folder, env=env)
        try:
            editor.initialize()
            uri = editor.open("a.py", "python")
            token = str(editor.execute("agent-ls.prompt", {"text": "Go on"})["turnId"])
            for _ in range(repetitions):
                approval, before_ms = _waiting(editor), _cpu_ms(editor)
                _flood(editor, uri)
                begun = time.monotonic()
                editor.execute("agent-ls.approval.resolve", approval, "allow_once")
                approvals.append((time.monotonic() - begun) * 1_000)
                spent.append(_cpu_ms(editor) - before_ms)
            _waiting(editor)
            _flood(editor, uri)
            begun = time.monotonic()
            editor.execute("agent-ls.stop")
            editor.until(lambda: token in editor.ended, _LIMIT_S, "the end of the turn")
            stop_ms = (time.monotonic() - begun) * 1_000
            editor.close()
        finally:
            editor.kill()
    return [
        Figure("answer to an approval: median", median(approvals), "ms"),
        Figure("answer to an approval: p95", quantile(approvals, 0.95), "ms", goal=200),
        Figure("CPU of the server for the changes and the answer: median", median(spent), "ms"),
        Figure("stop to the end of the turn", stop_ms, "ms", goal=500),
    ]


def _cpu_ms(editor: Editor) -> float:
    times = psutil.Process(editor.process.pid).cpu_times()
    return (times.user + times.system) * 1_000


def _waiting(editor: Editor) -> str:
    """Return the id of the approval that waits, once there is one."""
    deadline = time.monotonic() + _LIMIT_S
    while time.monotonic() < deadline:
        try:
            editor.execute("agent-ls.approval.resolve")
        except RuntimeError as error:
            # Without an id nothing is decided; the refusal names what waits.
            if found := _APPROVAL.search(str(error)):
                return found[0]
        editor.read_for(0.02)
    raise TimeoutError("no approval came")


def _flood(editor: Editor, uri: str) -> None:
    for number in range(CHANGES):
        at = {"line": number % _LINES, "character": 0}
        change = {"range": {"start": at, "end": at}, "text": "y"}
        params = {"textDocument": {"uri": uri, "version": number + 2}, "contentChanges": [change]}
        editor.notify("textDocument/didChange", params)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.flood", description=__doc__)
    parser.add_argument("--repetitions", type=int, default=30)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    return finish("flood", measure(options.repetitions), as_json=options.json)


if __name__ == "__main__":
    raise SystemExit(main())
