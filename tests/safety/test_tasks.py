"""How often fifty ordinary tasks ask: real guards, one line of the table a task."""

from __future__ import annotations

import json
import sys
from itertools import groupby
from pathlib import Path
from statistics import median

import pytest

from tests.safety.tables import rows
from tests.support.batch import batch

_LIMITS = {
    ("accept-edits", True): 1,
    ("accept-edits", False): 2,
    ("ask", True): 3,
    ("ask", False): 4,
}
"""The most that half of the tasks may ask, by mode, with and without a sandbox."""


def _request(step: str) -> dict[str, str]:
    verb, _, rest = step.partition(" ")
    kind = {"read": "path", "edit": "write"}.get(verb)
    return {"kind": kind, "path": rest} if kind else {"kind": "command", "command": step}


@pytest.mark.heavy
def test_ordinary_tasks_ask_seldom(tmp_path: Path) -> None:
    tasks = [line.partition(" | ")[2].split(" ;; ") for line in rows("tasks")]
    assert len(tasks) == 50
    requests = [
        {"roots": ["/proj"], "mode": mode, "sandbox": held, **_request(step)}
        for mode, held in _LIMITS
        for task in tasks
        for step in task
    ]
    verdicts = iter(batch(tmp_path, *map(json.dumps, requests)))
    for cell, most in _LIMITS.items():
        counts = [_asked([(step, next(verdicts)["verdict"]) for step in task]) for task in tasks]
        figures = f"{cell}: median {median(counts)}, mean {sum(counts) / 50}, most {max(counts)}"
        sys.stdout.write(f"{figures}\n")
        assert median(counts) <= most, (figures, counts)


def _asked(steps: list[tuple[str, str]]) -> int:
    """Return how often a task asks: edits in a row are one answer's, and so one question."""
    count = 0
    for is_edit, some in groupby(steps, lambda one: one[0].startswith("edit ")):
        asked = [step for step, verdict in some if verdict != "allow"]
        count += min(len(asked), 1) if is_edit else len(asked)
    return count
