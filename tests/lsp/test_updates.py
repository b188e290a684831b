"""Every event becomes what clients see, in their words."""

from __future__ import annotations

from typing import Any

import pytest

from agent_ls.domain import events as e
from agent_ls.domain.approvals import Question
from agent_ls.domain.calls import ToolKind
from agent_ls.domain.messages import AssistantMessage
from agent_ls.domain.phases import Phase
from agent_ls.domain.plans import ProposedCall
from agent_ls.domain.stops import StopReason, TurnStatus
from agent_ls.domain.usage import Usage
from agent_ls.lsp.updates import Translation
from agent_ls.session.titles import call_title
from tests.support.gallery import CALL, REQUEST


def check(*events: e.Event) -> list[dict[str, Any]]:
    """Return the updates of the last event, after the others."""
    translation = Translation({"edit_file": ToolKind.EDIT}, lambda path: f"file:///w/{path}")
    updates = [translation.feed(event) for event in events][-1]
    return [one.model_dump(mode="json", by_alias=True) for one in updates]


def test_a_steer_is_a_message_when_the_model_gets_it() -> None:
    updates = check(
        e.PromptQueued(text="faster", kind="steer"),
        e.PromptQueued(text="later", kind="follow_up"),
        e.RequestPrepared(step_id="stp_2", number=2),
    )
    assert [(one["content"]["text"], one["origin"]) for one in updates] == [("faster", "steer")]


@pytest.mark.parametrize("kind", ["steer", "follow_up"])
def test_what_a_stop_overtook_goes_back_and_is_in_no_later_turn(kind: Any) -> None:
    queued = e.PromptQueued(text="faster", kind=kind)
    stop = e.CancelRequested(by="panel")
    end = e.TurnEnded(
        turn_id="trn_1", stop=StopReason.CANCELLED, status=TurnStatus.CANCELLED, output=""
    )
    begun = e.TurnStarted(turn_id="trn_2", prompt="next")
    prepared = e.RequestPrepared(step_id="stp_2", number=1)
    assert check(queued, stop)[0]["returned"] == ["faster"]
    assert check(queued, stop, stop)[0]["returned"] == []
    assert check(queued, stop, end, begun, prepared) == []


def test_a_queued_prompt_that_becomes_a_turn_is_said_once() -> None:
    queued = e.PromptQueued(text="next", kind="steer")
    begun = e.TurnStarted(turn_id="trn_2", prompt="next")
    prepared = e.RequestPrepared(step_id="stp_2", number=1)
    assert check(queued, begun, prepared) == []
    assert check(queued, begun, e.CancelRequested(by="panel"))[0]["returned"] == []


def notices(*events: e.Event) -> dict[str, str]:
    """Return what a client shows that keeps one notice an id, in order."""
    translation = Translation({}, lambda path: None)
    shown: dict[str, str] = {}
    for event in events:
        for update in translation.feed(event):
            found: Any = update
            if found.session_update == "notice":
                shown[found.notice_id or str(len(shown))] = found.text
    return {place: text for place, text in shown.items() if text}


def failure(turn: str, attempts: int, last: str) -> list[e.Event]:
    """Return a turn in which nothing but failures came from the model."""
    attempt = e.AttemptFinished(step_id="stp_1", failure="server", message="down.")
    events: list[e.Event] = [e.TurnStarted(turn_id=turn, prompt="Go.")]
    for number in range(1, attempts + 1):
        action = "retry" if number < attempts else last
        text = f"down. ({number} of {attempts})"
        events.append(attempt)
        events.append(
            e.RecoveryChosen(step_id="stp_1", origin="transport", action=action, text=text)
        )
    return events


def test_a_model_that_does_not_answer_is_one_notice_a_turn() -> None:
    assert notices(*failure("trn_1", 5, "retry")) == {"model:trn_1": "down. (5 of 5)"}
    both = [*failure("trn_1", 2, "retry"), *failure("trn_2", 1, "retry")]
    assert list(notices(*both)) == ["model:trn_1", "model:trn_2"]


def test_why_the_model_was_given_up_is_told_by_the_turns_end_alone() -> None:
    why = "down. Given up."
    done = e.Moved(to=Phase.DONE, stop=StopReason.ERROR, why=why)
    events = [*failure("trn_1", 5, "fail"), done]
    assert notices(*events) == {}
    ended = e.TurnEnded(
        turn_id="trn_1",
        stop=StopReason.ERROR,
        status=TurnStatus.FAILED,
        output="",
        failure_reason=why,
    )
    assert check(*events)[0]["detail"] == ""
    assert check(*events, ended)[0]["failureReason"] == why


def test_a_permission_request_carries_the_arguments_that_may_be_amended() -> None:
    answered = e.Answered(step_id="stp_1", message=AssistantMessage(calls=(CALL,)))
    [update] = check(answered, e.ApprovalRequested(request=REQUEST))
    assert update["rawInput"] == {"path": "a.py"}


def test_the_usage_is_told_beside_the_models_window() -> None:
    usage = Usage(input_tokens=600, output_tokens=400)
    for window_tokens, size in ((8_192, 8_192), (0, None)):
        [update] = check(
            e.RequestPrepared(step_id="stp_1", number=1, window_tokens=window_tokens),
            e.AttemptFinished(step_id="stp_1", usage=usage),
        )
        assert (update["used"], update["size"]) == (1_000, size)


def test_a_plan_carries_what_each_step_would_do() -> None:
    steps = tuple(
        ProposedCall(call=CALL, title=f"Edit {number}", payload="+x\n" * number)
        for number in (1, 5_000)
    )
    question = Question(id="qst_1", turn_id="t", origin="plan", text="Which?", steps=steps)
    [update] = check(e.QuestionAsked(question=question))
    fields = ("toolCallId", "title", "payload", "isAskedAgain")
    assert [tuple(step[name] for name in fields) for step in update["steps"]] == [
        (CALL.id, "Edit 1", "+x\n", False),
        (CALL.id, "Edit 5000", "+x\n" * 5_000, True),
    ]


@pytest.mark.parametrize(
    "piece, expected",
    [
        (e.TextStreamed("s", "t"), "agent_message_chunk"),
        (e.ReasoningStreamed("s", "t"), "agent_thought_chunk"),
        (e.AttemptDiscarded("s"), "agent_chunks_discarded"),
        (e.CallOutputStreamed("c", "t"), "tool_call_output"),
    ],
)
def test_what_streams_becomes_a_chunk(piece: e.Ephemeral, expected: str) -> None:
    update: Any = Translation({}, lambda path: None).of_ephemeral(piece)
    assert update.session_update == expected


@pytest.mark.parametrize(
    "tool, arguments, expected",
    [
        (
            "run_command",
            '{"command": "make test\\nmake lint", "cwd": "."}',
            "run_command make test\\nmake lint",
        ),
        ("read_file", '{"path": "a.py", "lines": 3}', "read_file a.py"),
        ("grep", '{"path": ".", "pattern": "price"}', "grep price"),
        ("update_plan", '{"items": []}', "update_plan"),
        ("read_file", "{ broken", "read_file"),
        ("grep", '{"pattern": "' + "x" * 200 + '"}', "grep " + "x" * 54 + " … " + "x" * 58),
    ],
)
def test_a_call_is_told_in_one_line(tool: str, arguments: str, expected: str) -> None:
    assert call_title(tool, arguments) == expected
