"""A program that goes on, through a whole session: asked for, kept over turns, ended with it."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from agent_ls.domain import events as e
from tests.session.conftest import Open
from tests.support.turns import run_turn_of

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.heavy]

_SCENARIO = """
[[answer]]
[[answer.call]]
tool = "run_command"
arguments = { command = "echo $$ > pid; echo up; sleep 600; sleep 600", background = "dev" }

[[answer]]
text = "It runs."
[answer.expect]
last_contains = ["dev runs: echo $$ > pid"]

[[answer]]
[[answer.call]]
tool = "background"
arguments = { name = "dev" }

[[answer]]
text = "It still runs."
[answer.expect]
last_contains = ["dev runs"]
"""


async def test_it_asks_as_a_command_stays_after_the_turn_and_ends_with_the_session(
    opened: Open, tmp_path: Path
) -> None:
    async with opened(_SCENARIO, settings_toml='sandbox.use = "off"') as (sessions, _):
        session = await sessions.create()
        _, events = await run_turn_of(session, "Start it.", ["allow_once"])
        (asked,) = [one for one in events if isinstance(one, e.ApprovalRequested)]
        assert asked.request.preview.title.startswith("Run in the background: echo")
        _, later = await run_turn_of(session, "Look at it.")
        results = [one.result for one in later if isinstance(one, e.ToolCallFinished)]
        assert results[-1].data == {"background": "dev", "is_running": True}
        pid = int((tmp_path / "pid").read_text())
        assert psutil.pid_exists(pid)
        await session.close()
        assert not psutil.pid_exists(pid)
        ended = session.state.background["dev"].ended
        assert ended is not None
        assert ended.words == "was ended with the session"
