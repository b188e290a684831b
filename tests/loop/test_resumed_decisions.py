"""A process that dies between a decision and what follows from it has decided all the same."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agent_ls.domain import events as e
from agent_ls.domain.approvals import ApprovalAnswer, ApprovalChoice, Question, QuestionAnswer
from agent_ls.domain.calls import ToolCall
from agent_ls.domain.errors import ProviderFailure
from agent_ls.domain.messages import AssistantMessage
from agent_ls.domain.modes import Mode
from agent_ls.domain.phases import Phase
from agent_ls.domain.stops import StopReason
from agent_ls.store.sql_store import open_store
from tests.loop.conftest import Stage
from tests.support.turns import TURN_LIMIT_S

pytestmark = pytest.mark.asyncio(loop_scope="session")

ASKED: list[e.Event] = [
    e.PrefixSet(system="You help.", tools=("read_file", "delegate"), reason="first"),
    e.Moved(to=Phase.PREPARE),
    e.RequestPrepared(step_id="stp_1", number=1),
    e.Moved(to=Phase.CALL),
    e.AttemptFinished(step_id="stp_1", failure=ProviderFailure.OVERLOADED, message="busy"),
]


async def check(
    folder: Path,
    stage: Stage,
    happened: list[e.Event],
    settings: str,
    expected: StopReason,
    scenario: str = "",
) -> e.TurnEnded:
    """Go on from a journal that ends like this; the model is asked for the scenario alone."""
    created = e.SessionCreated(
        session_id="ses_1", roots=(folder.as_uri(),), mode=Mode.AUTO, model="openai/scripted"
    )
    journal = [created, e.TurnStarted(turn_id="trn_1", prompt="Do it."), *happened]
    store = open_store(str(folder.parent / f"{folder.name}-store.db"))
    await store.append(
        [
            e.StoredEvent(session_id="ses_1", seq=seq, at_ms=seq, event=event)
            for seq, event in enumerate(journal, 1)
        ],
        durable=True,
    )
    await store.close()
    async with stage.opened(folder, scenario, settings_toml=settings) as sessions:
        session = await sessions.open("ses_1")
        session.resume()
        async with asyncio.timeout(TURN_LIMIT_S):
            ended = await session.wait_idle()
        assert ended is not None
        assert ended.stop is expected, ended.failure_reason
        return ended


async def test_what_the_user_said_about_refusals_is_told(tmp_path: Path, stage: Stage) -> None:
    outside = ToolCall(
        id="cal_1", provider_id="p", tool="read_file", arguments_json='{"path": "../x"}'
    )
    question = Question(id="qst_1", turn_id="trn_1", origin="denials", text="How now?")
    answer = QuestionAnswer(text="Use b.txt.", by="test")
    happened = [
        *ASKED[:-1],
        e.Answered(step_id="stp_1", message=AssistantMessage(calls=(outside,))),
        e.Moved(to=Phase.ACT),
        e.QuestionAsked(question=question),
        e.QuestionResolved(question_id="qst_1", answer=answer),
    ]
    scenario = """
[[answer]]
text = "I will."
[answer.expect]
contains = ["is outside the workspace", "how to go on and says: Use b.txt."]
"""
    stop = StopReason.COMPLETED
    await check(tmp_path, stage, happened, "", stop, scenario)


async def test_a_request_that_a_dead_process_had_sent_begins_the_next_one(
    tmp_path: Path, stage: Stage
) -> None:
    scenario = """
[[answer]]
text = "It is done."
[answer.expect]
last_contains = ["The work was interrupted"]
"""
    sent = ASKED[:-1]
    await check(tmp_path, stage, sent, "", StopReason.COMPLETED, scenario)


async def test_a_yes_that_no_follow_up_took_back_does_not_hold_for_a_sub_agent(
    tmp_path: Path, stage: Stage
) -> None:
    delegate = ToolCall(
        id="cal_1",
        provider_id="p",
        tool="delegate",
        arguments_json='{"kind": "explore", "task": "Look."}',
    )
    yes = ApprovalAnswer(choice=ApprovalChoice.ALLOW_SESSION, by="test")
    happened = [
        *ASKED[:-1],
        e.ApprovalResolved(approval_id="apr_0", answer=yes, grant="run_command:make"),
        e.CommandChanged(call_id="cal_0", path="Makefile"),
        e.Answered(step_id="stp_1", message=AssistantMessage(calls=(delegate,))),
        e.Moved(to=Phase.ACT),
    ]
    scenario = """
[[answer]]
when.first = "Look."
text = '{"findings": []}'
[[answer]]
when.first = "Do it."
text = "Done."
"""
    stop = StopReason.COMPLETED
    await check(tmp_path, stage, happened, "", stop, scenario)
    store = open_store(str(tmp_path.parent / f"{tmp_path.name}-store.db"))
    journal = [one.event for one in await store.load("ses_1")]
    [started] = [one for one in journal if isinstance(one, e.ChildStarted)]
    [child] = [
        one.event
        for one in await store.load(started.child_id)
        if isinstance(one.event, e.SessionCreated)
    ]
    await store.close()
    assert (child.grants, child.revoked) == ((), ("run_command:make",))
