"""Every event becomes what clients see, in their words."""

from __future__ import annotations

from typing import Any

import pytest

from agent_ls.domain import events as e
from agent_ls.domain.approvals import Question
from agent_ls.domain.calls import ToolKind
from agent_ls.domain.messages import AssistantMessage
from agent_ls.domain.modes import Mode
from agent_ls.domain.phases import Phase
from agent_ls.domain.plans import ProposedCall
from agent_ls.domain.stops import STATUS, StopReason, TurnStatus
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


ANSWERED = e.Answered(step_id="stp_1", message=AssistantMessage(text="Here."))


def test_what_went_well_after_a_retry_leaves_nothing_behind() -> None:
    retried = failure("trn_1", 3, "retry")
    assert notices(*retried, ANSWERED) == {}
    assert notices(*retried, ended("trn_1", StopReason.CANCELLED)) == {}
    reasked = e.RecoveryChosen(step_id="stp_1", origin="empty", action="reask", text="Say more.")
    assert notices(e.TurnStarted(turn_id="trn_1", prompt="Go."), reasked) != {}
    assert notices(e.TurnStarted(turn_id="trn_1", prompt="Go."), reasked, ANSWERED) == {}


def test_that_another_model_answers_or_an_image_is_left_out_stays() -> None:
    switched = notices(*failure("trn_1", 2, "switch_model"), ANSWERED)
    assert switched == {"model:trn_1": "down. (2 of 2)"}
    refused = e.AttemptFinished(step_id="stp_1", failure="no_images", message="No images.")
    reask = e.RecoveryChosen(step_id="stp_1", origin="images", action="reask", text="Without.")
    left_out = notices(e.TurnStarted(turn_id="trn_1", prompt="Go."), refused, reask, ANSWERED)
    assert left_out == {"model:trn_1": "reask: Without."}


def test_a_side_model_that_fails_again_is_told_once_a_turn() -> None:
    advice = e.AdviceGiven(origin="judge", model="m", failure="server", message="down.")
    begun = e.TurnStarted(turn_id="trn_1", prompt="Go.")
    assert notices(begun, advice, advice, advice) == {"judge:trn_1": "down."}


def test_a_retry_is_told_in_a_few_words_beside_the_reason() -> None:
    [told] = check(CREATED, *failure("trn_1", 2, "retry")[:3])
    assert (told["title"], told["text"]) == ("acme failed, retrying", "down. (1 of 2)")


CREATED = e.SessionCreated(session_id="ses_1", roots=(), mode=Mode.ASK, model="acme/large")


def ended(turn: str, stop: StopReason, why: str = "why") -> e.TurnEnded:
    return e.TurnEnded(turn_id=turn, stop=stop, status=STATUS[stop], output="", failure_reason=why)


def broken_off(failure_word: str, *before: e.Event) -> list[e.Event]:
    """Return a turn that a failure of the model ends, after these events."""
    return [
        CREATED,
        e.TurnStarted(turn_id="trn_1", prompt="Go."),
        *before,
        e.AttemptFinished(step_id="stp_1", failure=failure_word, message="No."),
        e.RecoveryChosen(step_id="stp_1", origin="fatal_error", action="fail", text="No."),
        ended("trn_1", StopReason.ERROR),
    ]


@pytest.mark.parametrize(
    "word, before, failure_word, title, action",
    [
        ("authentication", [], "authentication", "Key refused by acme", "change_key"),
        ("no_credit", [], "no_credit", "No credit left at acme", "retry"),
        ("connection", [ANSWERED], "connection", "Cannot reach acme", "go_on"),
        (
            "connection",
            [e.RecoveryChosen(step_id="s", origin="t", action="switch_model", model="box/small")],
            "connection",
            "Cannot reach box",
            "retry",
        ),
        ("of another version", [], None, "The turn failed", "retry"),
    ],
)
def test_the_end_says_in_a_title_what_failed_and_what_to_do(
    word: str, before: list[e.Event], failure_word: str | None, title: str, action: str
) -> None:
    [update] = check(*broken_off(word, *before))
    assert (update["failure"], update["title"]) == (failure_word, title)
    assert update["actions"][0] == action


def test_a_failure_that_did_not_end_the_turn_is_not_told_at_its_end() -> None:
    events = [*broken_off("server")[:-2], ANSWERED, ended("trn_1", StopReason.MAX_STEPS)]
    [update] = check(*events)
    assert (update["failure"], update["title"]) == (None, "Stopped: all steps used")


def test_a_sub_agent_is_told_with_its_task_and_its_session() -> None:
    started = e.ChildStarted(
        call_id="cal_1", child_id="ses_2", kind="explore", task="Find it.", mode=Mode.ASK
    )
    done = e.ChildEnded(
        call_id="cal_1", child_id="ses_2", kind="explore", stop=StopReason.COMPLETED, steps=3
    )
    [begun] = check(started)
    same = {"toolCallId": "cal_1", "agentSessionId": "ses_2", "kind": "explore"}
    assert begun.items() >= {**same, "task": "Find it.", "status": "in_progress"}.items()
    [end] = check(started, done)
    assert end.items() >= {**same, "task": "Find it.", "status": "completed", "steps": 3}.items()
    [failed] = check(started, done.model_copy(update={"stop": StopReason.ERROR, "why": "no key"}))
    assert failed.items() >= {"status": "failed", "stopReason": "error", "reason": "no key"}.items()


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
