"""Checkers that no request waits for: what a turn that ends leaves of them."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from agent_ls.domain import events as e
from agent_ls.domain.stops import StopReason
from agent_ls.safety.trust import TrustedFolders, trust_file
from tests.loop.conftest import Stage
from tests.support.scripted import scripted
from tests.support.turns import TURN_LIMIT_S, User, open_test_sessions, run_turn_of

pytestmark = pytest.mark.asyncio(loop_scope="session")

_SETTINGS = """
mode = "auto"
rules.allow = ["run_command: touch *"]
[policies.step_limit]
max_steps = 1
[[checkers.commands]]
name = "endless"
command = "sh endless.sh"
files = ["*.txt"]
timeout_s = 600
"""
_ENDLESS = 'echo $$ >> "$XDG_STATE_HOME/begun"\nexec sleep 600\n'
_EDITS = """
[[answer]]
[[answer.call]]
tool = "write_file"
arguments = { path = "a.txt", content = "hey" }
[[answer.call]]
tool = "run_command"
arguments = { command = "until [ -s ../begun ]; do sleep 0.05; done" }

"""


@pytest.mark.parametrize(
    ("then", "stop"),
    [
        pytest.param('text = "One step is all."', StopReason.MAX_STEPS, id="closed"),
        pytest.param('hang = "before"', StopReason.CANCELLED, id="stopped"),
    ],
)
async def test_a_turn_that_ends_leaves_no_checker_behind(
    tmp_path: Path, stage: Stage, monkeypatch: pytest.MonkeyPatch, then: str, stop: StopReason
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "endless.sh").write_text(_ENDLESS)
    TrustedFolders(trust_file()).trust(folder)
    async with (
        scripted(f"{_EDITS}[[answer]]\n{then}\n", port=stage.port) as model,
        open_test_sessions(folder, stage.host, settings_toml=_SETTINGS) as sessions,
    ):
        session = await sessions.create()
        user = User(session, [])
        session.follow(user)
        await session.submit("Write it.")
        await model.wait_for_requests(2)
        pids = [int(line) for line in (tmp_path / "begun").read_text().split()]
        assert pids, "nobody looked"
        if stop is StopReason.CANCELLED:
            assert all(map(_runs, pids))
            await session.cancel("test")
        async with asyncio.timeout(TURN_LIMIT_S):
            ended = await session.wait_idle()
        assert ended is not None
        assert ended.stop is stop
        assert [pid for pid in pids if _runs(pid)] == []
    owed = [one.unanswered for one in user.events if isinstance(one, e.FindingsReported)]
    assert owed == [("endless",)]


_WAITS_FOR_INSTALLING = """\
[ -e a.txt ] && [ ! -e "$XDG_STATE_HOME/installed" ] || exit 0
echo $$ >> "$XDG_STATE_HOME/begun"
exec sleep 600
"""
_INSTALLS = _EDITS.replace("; done", "; done; touch $XDG_STATE_HOME/installed")


async def test_a_check_that_began_before_a_command_is_no_answer_to_the_gate(
    tmp_path: Path, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "endless.sh").write_text(_WAITS_FOR_INSTALLING)
    TrustedFolders(trust_file()).trust(folder)
    settings = _SETTINGS.replace("max_steps = 1", "max_steps = 9")
    scenario = f'{_INSTALLS}[[answer]]\ntext = "Done."\n'.replace("$XDG_STATE_HOME", str(tmp_path))
    async with stage.opened(folder, scenario, settings_toml=settings) as sessions:
        session = await sessions.create()
        await session.submit("Write it.")
        async with asyncio.timeout(TURN_LIMIT_S):
            ended = await session.wait_idle()
        assert ended is not None
        assert ended.stop is StopReason.COMPLETED
    assert (tmp_path / "begun").read_text(), "nobody looked before the command"


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


_LATE = """
mode = "auto"
rules.allow = ["run_command: touch *"]
[policies.compile]
max_nudges = 0
[policies.repetition]
nudge_at = 0
warn_at = 0
[policies.repeated_call]
refuse_at = 0
[[checkers.commands]]
name = "words"
command = "sh words.sh"
files = ["*.txt"]
pattern = '^(?P<path>[^:]+):(?P<line>\\d+):(?P<message>.*)$'
"""
_WORDS = 'until [ -e "$XDG_STATE_HOME/go" ]; do sleep 0.05; done\ngrep -nH TODO a.txt\nexit 0\n'
_GOES_ON = """
[[answer]]
[[answer.call]]
tool = "write_file"
arguments = { path = "a.txt", content = "TODO 1" }

[[answer]]
repeat = 0
[[answer.call]]
tool = "run_command"
arguments = { command = "touch $XDG_STATE_HOME/go; sleep 0.3" }

[[answer]]
when = { contains = "The checkers find 1 new problem after your edits:" }
text = "Done."
"""


async def test_what_is_found_late_is_told_and_shown_at_once(
    tmp_path: Path, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "words.sh").write_text(_WORDS)
    TrustedFolders(trust_file()).trust(folder)
    async with stage.opened(
        folder, _GOES_ON.replace("$XDG_STATE_HOME", str(tmp_path)), settings_toml=_LATE
    ) as sessions:
        _, events = await run_turn_of(await sessions.create(), "Write it.")
    told = next(
        number
        for number, one in enumerate(events)
        if isinstance(one, e.AdvisoryRaised) and one.origin == "late_findings"
    )
    shown = next(one for one in events[told:] if isinstance(one, e.FindingsReported))
    assert [one.message for one in shown.findings] == ["TODO 1"]
    between = events[told : events.index(shown)]
    assert not any(isinstance(one, e.Moved) for one in between), "the model knows no sooner"
