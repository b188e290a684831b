"""Delegating: what a report is, what one may spend, and which kinds there are."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pytest

from agent_ls import catalogue
from agent_ls.domain.agents import (
    AgentKind,
    AgentLimits,
    AgentReport,
    Allowance,
    ChildResult,
    report_of,
)
from agent_ls.domain.approvals import ApprovalAnswer, ApprovalRequest, Question, QuestionAnswer
from agent_ls.domain.calls import ErrorKind
from agent_ls.domain.errors import ToolError
from agent_ls.domain.modes import Mode
from agent_ls.domain.stops import StopReason
from agent_ls.domain.usage import Usage
from agent_ls.extension.agent_kinds import agent_kinds
from agent_ls.loop.ports.workspace import Root
from agent_ls.loop.state.recorder import Recorder
from agent_ls.session.child_faces import ChildApprover
from agent_ls.store.sql_store import open_store
from agent_ls.tools.delegate import Delegate
from tests.tools.conftest import Place

_DONE = ChildResult(
    session_id="ses_2",
    kind="explore",
    stop=StopReason.COMPLETED,
    why="",
    report=AgentReport(findings=("a", "b"), remaining=("c",)),
    usage=Usage(),
    steps=2,
    files=("x.py",),
)


class Answering:
    """Sub-agents that all end in one way."""

    def __init__(self, result: ChildResult | ToolError) -> None:
        self._result = result
        self.asked: list[tuple[str, str, str]] = []

    async def run(
        self, call_id: str, kind: str, task: str, show: Callable[[str], None]
    ) -> ChildResult:
        self.asked.append((call_id, kind, task))
        if isinstance(self._result, ToolError):
            raise self._result
        show("[explore] grep\x1b[31m\n")
        return self._result


def _tool(children: Answering) -> Any:
    return Delegate(children)


async def check(
    place: Place, result: ChildResult | ToolError, text: str, error: ErrorKind | None
) -> None:
    """Delegate once and look at what the model reads."""
    children = Answering(result)
    output = await place.call(_tool(children), kind="explore", task="Look.")
    assert (output.text, output.error) == (text, error)
    assert children.asked == [("cal_1", "explore", "Look.")]
    assert place.said == ["[explore] grep\n"]


async def test_the_report_is_the_result(place: Place) -> None:
    text = (
        "explore: success (completed), 2 steps.\nchanged: x.py\nfindings:\n- a\n- b\nremaining: c"
    )
    await check(place, _DONE, text, None)


@pytest.mark.parametrize(
    "stop, why, error, said",
    [
        (StopReason.MAX_STEPS, "It used 20 steps. Raise the limit.", None, "It used 20 steps."),
        (StopReason.ERROR, "No key", ErrorKind.RUNTIME, "No key."),
        (StopReason.CANCELLED, "Stopped.", ErrorKind.RUNTIME, "Stopped."),
    ],
)
async def test_an_end_too_early_is_said_and_a_failure_is_an_error(
    stop: StopReason, why: str, error: ErrorKind | None, said: str, place: Place
) -> None:
    result = ChildResult("ses_2", "test", stop, why, AgentReport(), Usage(), 1, ())
    output = await place.call(_tool(Answering(result)), kind="test", task="Run.")
    assert output.error is error
    assert output.text.splitlines()[1:] == [said, "It reported nothing."]


@pytest.mark.parametrize(
    "answer, report",
    [
        ('{"findings": ["a"], "next": "b"}', AgentReport(findings=("a",), next=("b",))),
        ('Done:\n```json\n{"actions": ["a"]}\n```\nBye.', AgentReport(actions=("a",))),
        ('I found {"failures": ["x"], "remaining": null} here', AgentReport(failures=("x",))),
        ('{"findings": [{"file": "a.py"}]}', AgentReport(findings=('{"file": "a.py"}',))),
        ('{"other": 1}', AgentReport(findings=('{"other": 1}',))),
        ("All is well.", AgentReport(findings=("All is well.",))),
        ('{"findings": [', AgentReport(findings=('{"findings": [',))),
        ("  ", AgentReport()),
    ],
    ids=["plain", "fenced", "inside", "not-text", "no-field", "prose", "broken", "empty"],
)
def test_a_report_is_found_in_whatever_was_answered(answer: str, report: AgentReport) -> None:
    assert report_of(answer) == report


_LIMITS = AgentLimits()


@pytest.mark.parametrize(
    "limit, used, reserved, share",
    [
        ((0, 0.0), (0, 0.0), (0, 0.0), Allowance(250_000, 0.0)),
        ((100_000, 0.0), (0, 0.0), (0, 0.0), Allowance(45_000, 0.0)),
        ((100_000, 0.0), (20_000, 0.0), (40_000, 0.0), Allowance(18_000, 0.0)),
        ((100_000, 0.0), (95_000, 0.0), (0, 0.0), None),
        ((0, 1.0), (0, 0.25), (0, 0.25), Allowance(250_000, 0.225)),
        ((0, 1.0), (0, 1.0), (0, 0.0), None),
    ],
    ids=["no-limit", "fresh", "shared", "used-up", "money", "no-money"],
)
def test_a_sub_agent_gets_a_part_of_what_is_left(
    limit: tuple[int, float],
    used: tuple[int, float],
    reserved: tuple[int, float],
    share: Allowance | None,
) -> None:
    spent = Usage(input_tokens=used[0], cost_usd=used[1])
    assert _LIMITS.share(Allowance(*limit), spent, Allowance(*reserved)) == share


def test_the_built_in_kinds_have_tools_that_exist_and_no_way_to_delegate() -> None:
    groups = {tool.group for tool in catalogue.TOOLS}
    kinds = agent_kinds(Path("/nowhere"))
    assert list(kinds) == ["explore", "implement", "test", "review"]
    assert all(set(kind.tools) <= groups - {""} for kind in kinds.values())


_TRANSLATOR = """\
---
description: translates texts
tools: read_file, write_file
mode: ask
max_steps: 5
---
You translate.
"""


def test_a_file_describes_a_kind_of_the_users_own(tmp_path: Path) -> None:
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents/translator.md").write_text(_TRANSLATOR)
    kinds = agent_kinds(tmp_path)
    assert kinds["translator"] == AgentKind(
        name="translator",
        description="translates texts",
        role="You translate.",
        tools=("read_file", "write_file"),
        mode=Mode.ASK,
        max_steps=5,
    )


@pytest.mark.parametrize(
    "text",
    [
        "You translate.",
        "---\ndescription: x\n",
        "---\ndescription\n---\n",
        "---\ntools: a\n---\n",
        "---\ndescription: x\ntools: a\nmode: everything\n---\n",
        "---\ndescription: x\ntools: a\nhooks: b\n---\n",
    ],
    ids=["bare", "open", "no-colon", "no-description", "mode", "unknown-key"],
)
def test_a_file_that_describes_none_is_left_out_and_said(
    text: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents/bad.md").write_text(text)
    (tmp_path / "agents/good.md").write_text(_TRANSLATOR)
    with caplog.at_level(logging.WARNING):
        kinds = agent_kinds(tmp_path)
    assert "good" in kinds
    assert "bad" not in kinds
    assert "bad.md" in caplog.text


@pytest.mark.parametrize("is_trusted", [True, False], ids=["trusted", "not-trusted"])
def test_a_folder_describes_kinds_only_when_it_is_trusted(is_trusted: bool, tmp_path: Path) -> None:
    place = tmp_path / "project" / ".agent-ls" / "agents"
    place.mkdir(parents=True)
    (place / "translator.md").write_text(_TRANSLATOR)
    root = Root("project", tmp_path / "project", is_trusted)
    assert ("translator" in agent_kinds(tmp_path / "none", [root])) is is_trusted


@pytest.mark.parametrize("is_trusted", [True, False], ids=["trusted", "not-trusted"])
def test_another_agents_kind_is_read_in_its_words(is_trusted: bool, tmp_path: Path) -> None:
    place = tmp_path / "project" / ".claude" / "agents"
    (place / "web").mkdir(parents=True)
    head = "name: Code Reader\ndescription: reads\nmodel: claude-3-5-sonnet-20241022\ncolor: red"
    (place / "one.md").write_text(f"---\n{head}\ntools: Read, Bash(ls:*)\n---\nRead.")
    (place / "two.md").write_text("---\nmodel: inherit\n---\n# Does things\nDo.")
    more = "tools: '*'\ndisallowedTools: Write, Bash\npermissionMode: plan\nmaxTurns: 7"
    (place / "web/three.md").write_text(f"---\ndescription: x\n{more}\n---\nDo.")
    root = Root("project", tmp_path / "project", is_trusted)
    kinds = agent_kinds(tmp_path / "none", [root])
    new = {name: kind for name, kind in kinds.items() if name in ("code-reader", "two", "three")}
    assert len(new) == (3 if is_trusted else 0)
    if is_trusted:
        one, two, three = new["code-reader"], new["two"], new["three"]
        assert (one.tools, one.rules) == (("read_file", "run_command"), ("run_command: ls *",))
        assert (one.model, two.model) == ("sonnet", "")
        assert (two.description, two.tools) == ("Does things", ("look", "change", "run"))
        assert (three.without, three.mode) == (("write_file", "run_command"), Mode.PLAN)
        assert three.max_steps == 7


class Slow:
    """A user who takes their time, on a clock that only they move."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.turns: list[str] = []
        self.said: list[str] = []

    def now_ms(self) -> int:
        return 0

    def monotonic_s(self) -> float:
        return self.now_s

    async def sleep(self, seconds: float) -> None:
        self.now_s += seconds

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        raise NotImplementedError

    async def undo(self, paths: Collection[str]) -> None:
        raise NotImplementedError

    async def ask(self, question: Question) -> QuestionAnswer:
        self.now_s += 600
        self.turns.append(question.turn_id)
        self.said.append(question.text)
        return QuestionAnswer(text="continue")


async def test_waiting_for_the_user_is_not_the_sub_agents_time(tmp_path: Path) -> None:
    user = Slow()
    recorder = Recorder("ses_2", open_store(str(tmp_path / "store.db")), user)
    approver = ChildApprover(user, recorder, "explore", "trn_parent", user)
    await approver.ask(Question(id="qst_1", turn_id="trn_child", origin="x", text="Go on?"))
    assert approver.waited_s == 600
    assert (user.turns, user.said) == (["trn_parent"], ["Sub-agent explore: Go on?"])
