"""Told turns about symbols in texts that are too large to be parsed beside everything else."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agent_ls.domain import events as e
from agent_ls.domain.stops import StopReason
from tests.loop.conftest import Stage
from tests.support.turns import run_turn_of

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.heavy]

_BLOCKS = [f"def step_{n}(value):\n    return value + {n}\n" for n in range(5_000)]
_LARGE = "\n\n".join(_BLOCKS)

_REPLACES = """
[[answer]]
[[answer.call]]
tool = "find_symbol"
arguments = { name = "step_4321" }
[[answer.call]]
tool = "references"
arguments = { name = "step_7", path = "use.py" }

[[answer]]
[answer.expect]
last_contains = ["use.py:2: print(step_7(1))"]
[[answer.call]]
tool = "edit_file"
[answer.call.arguments]
path = "large.py"
edits = [{ old_string = "return value + 4321", new_string = "return (value" }]

[[answer]]
[answer.expect]
last_contains = ["Edited large.py: line", "Since this edit large.py has syntax errors at line"]
[[answer.call]]
tool = "edit_file"
[answer.call.arguments]
path = "large.py"
edits = [{ old_string = "return value + 4320", new_string = "return -value" }]

[[answer]]
text = "Half done."
"""


async def check(folder: Path, stage: Stage, scenario: str) -> list[e.Event]:
    """Tell the turn to its end while the loop keeps a count, and return its events."""
    folder.mkdir()
    (folder / "large.py").write_text(_LARGE)
    (folder / "use.py").write_text("from large import step_7\nprint(step_7(1))  # step_7\n")
    settings = 'mode = "auto"\ncheckers.ruff.enabled = false\n'
    async with stage.opened(folder, scenario, settings_toml=settings) as sessions:
        ended, events = await run_turn_of(await sessions.create(), "Do it.")
    assert ended.stop is StopReason.COMPLETED
    return events


async def test_large_files_are_worked_on_while_the_loop_goes_on(
    tmp_path: Path, stage: Stage
) -> None:
    beats = 0

    async def beat() -> None:
        nonlocal beats
        while True:
            await asyncio.sleep(0.001)
            beats += 1

    beating = asyncio.ensure_future(beat())
    events = await check(tmp_path / "project", stage, _REPLACES)
    beating.cancel()
    results = [one.result.text for one in events if isinstance(one, e.ToolCallFinished)]
    # Reads of one answer end in any order.
    assert set(results[:2]) == {
        "large.py:17285: step_4321: def step_4321(value)",
        "use.py:1: from large import step_7\nuse.py:2: print(step_7(1))  # step_7",
    }
    after = _LARGE.replace("value + 4321", "(value").replace("value + 4320", "-value")
    assert (tmp_path / "project" / "large.py").read_text() == after
    # The second edit is beside what was broken before it, which is not told again.
    assert "syntax errors" not in results[3]
    assert beats > 100
