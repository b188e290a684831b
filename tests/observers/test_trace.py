"""What the trace says of each step of a turn."""

from __future__ import annotations

from typing import Any

import pytest

from agent_ls.cli.trace import lines, rows
from agent_ls.domain import events as ev
from agent_ls.domain.agents import AgentReport
from agent_ls.domain.calls import ToolResult
from agent_ls.domain.messages import AssistantMessage
from agent_ls.domain.model_io import FinishReason
from agent_ls.domain.modes import Mode
from agent_ls.domain.phases import Phase
from agent_ls.domain.stops import StopReason
from agent_ls.domain.usage import Usage
from agent_ls.observers.trace import SessionTrace
from agent_ls.observers.tracing import Tracing, trace_of
from tests.observers.stories import Journal, asked, begun, call, ended, eventful


def check(journal: Journal) -> SessionTrace:
    """Return what a journal tells; a reader that follows along must see the same."""
    whole = trace_of(journal.stored)
    following = Tracing()
    for one in journal.stored:
        following.on_event(one)
        following.on_ephemeral(one.session_id, ev.TextStreamed("stp_1", "streamed"))
    assert following.session == whole
    return whole


def test_a_step_says_what_it_was_sent_and_what_it_took() -> None:
    _, second, third, _ = check(eventful()).turns[0].steps
    assert (second.number, second.input.messages, second.input.estimated_tokens) == (2, 4, 1_000)
    assert second.finish == "tool_calls"
    assert second.usage == Usage(
        input_tokens=2_000, output_tokens=70, reasoning_tokens=20, cost_usd=0.01
    )
    assert [(one.duration_ms, one.failure, one.recovery) for one in second.attempts] == [
        (500, "rate_limited", "transport: retry"),
        (1_000, "", ""),
    ]
    assert (second.hooks_ms, [one.name for one in second.hooks]) == (40, ["redact"])
    assert third.input.slots == ("a",)


def test_a_gap_is_what_the_machine_took_between_two_steps() -> None:
    steps = check(eventful()).turns[0].steps
    # From the prompt, the last result, the refusal of a call, and the answer.
    assert [step.gap_ms for step in steps] == [5, 7, 5, 15]


def test_calls_say_who_decided_and_what_came_of_them() -> None:
    calls = check(eventful()).turns[0].calls
    assert [(one.tool, one.decision, one.decided_by, one.outcome) for one in calls] == [
        ("read_file", "allow", "guards", "ok"),
        ("grep", "", "", "ok"),
        ("edit_file", "ask", "approval", "ok"),
        ("run_command", "deny", "command_guard", "denied"),
    ]
    edit = calls[2].edits[0]
    assert (edit.path, edit.before_blob, edit.after_blob) == ("app.py", "d1", "d2")
    assert [one.code for one in calls[2].findings] == ["F821"]
    assert calls[3].run is None


@pytest.mark.parametrize(
    ("data", "outcome", "has_failed"),
    [
        (None, "ok", False),
        ({"exit_code": 0}, "ok", False),
        ({"exit_code": 3}, "exit code 3", True),
        ({"skipped": True}, "skipped", False),
        ({"queued": True}, "queued", False),
        ({"exit_code": None, "end": "simulated"}, "dry run", False),
        ({"path": "a", "simulated": True}, "dry run", False),
    ],
)
def test_the_outcome_of_a_call_that_did_not_run(data: Any, outcome: str, has_failed: bool) -> None:
    journal = begun()
    asked(journal, 1, call(1, "run_command", command="make"))
    result = ToolResult(call_id="cal_1", text="x", data=data)
    journal.add(1, ev.ToolCallFinished(result=result))
    (found,) = check(journal).turns[0].calls
    assert (
        (found.outcome, found.has_failed) == (result.outcome, has_failed) == (outcome, has_failed)
    )
    assert any(line.split()[:1] == outcome.split()[:1] for line in lines(check(journal)))


def test_a_wait_says_who_answered_what_and_why() -> None:
    (wait,) = check(eventful()).turns[0].waits
    assert (wait.duration_ms, wait.answer, wait.answered_by) == (
        60_000, "allow_session", "code_action",
    )  # fmt: skip
    assert (wait.note, wait.grant, wait.call_id) == ("go on", "edit", "cal_3")


def test_a_turn_that_was_cut_off_has_no_end() -> None:
    journal = begun()
    asked(journal, 1, call(1, "read_file", path="a"))
    (turn,) = check(journal).turns
    assert (turn.status, turn.ended_ms, turn.duration_ms) == ("running", None, 0)
    assert [one.outcome for one in turn.calls] == ["open"]


def test_the_last_words_of_a_turn_that_is_closed_are_no_step() -> None:
    journal = begun()
    asked(journal, 1, text="Looking.")
    journal.add(1, ev.Moved(to=Phase.CLOSE, stop=StopReason.MAX_STEPS, why="One is enough."))
    journal.add(
        700,
        ev.AttemptFinished(step_id="stp_1", finish=FinishReason.STOP, duration_ms=600),
        ev.Answered(step_id="stp_1", message=AssistantMessage(text="So far.")),
    )
    ended(journal)
    step, closing = check(journal).turns[0].steps
    assert (step.text, step.is_closing, len(step.attempts)) == ("Looking.", False, 1)
    assert (closing.text, closing.is_closing, closing.number) == ("So far.", True, 2)
    assert closing.attempts[0].duration_ms == 600


def test_what_is_done_on_the_side_counts() -> None:
    journal = begun()
    asked(journal, 1, text="Hm.")
    journal.add(
        300,
        ev.AdviceGiven(
            origin="confidence", model="small", text="0.4",
            usage=Usage(input_tokens=10, cost_usd=0.5), duration_ms=250,
        ),
        ev.ChildStarted(
            call_id="cal_9", child_id="ses_2", kind="explore", task="Look", mode=Mode.PLAN
        ),
    )  # fmt: skip
    journal.add(
        2_000,
        ev.ChildEnded(
            call_id="cal_9", child_id="ses_2", kind="explore", stop=StopReason.COMPLETED,
            report=AgentReport(findings=("a.py:1",)), steps=3, usage=Usage(input_tokens=100),
        ),
    )  # fmt: skip
    ended(journal)
    (turn,) = check(journal).turns
    advice, child = turn.sides
    assert (advice.origin, advice.duration_ms, advice.model) == ("confidence", 250, "small")
    assert (child.steps, child.duration_ms, child.session_id) == (3, 2_000, "ses_2")
    assert "a.py:1" in child.text
    assert turn.usage.input_tokens == 1_000 + 10 + 100
    assert turn.usage.cost_usd == pytest.approx(0.5)


def test_a_kind_of_event_without_words_of_its_own_is_noted_all_the_same() -> None:
    journal = begun()
    journal.add(1, ev.MonitorAlerted(pattern="alternation", text="A-B-A-B"))
    journal.add(1, ev.WrapUpRequested(by="user", text="finish"))
    notes = check(journal).turns[0].notes
    assert [(one.kind, one.text) for one in notes] == [
        ("monitor", "A-B-A-B"),
        ("wrap_up_requested", "finish"),
    ]


def test_the_json_has_every_figure_and_no_text_of_the_conversation() -> None:
    found = rows(trace_of(eventful().stored))
    (turn,) = found["turns"]
    step: dict[str, Any] = turn["steps"][1]
    assert step["input"] == {
        "messages": 4, "estimated_tokens": 1_000, "slots": 0, "text_only": False,
    }  # fmt: skip
    assert step["hooks_ms"] == 40
    assert step["hooks"][0]["outcome"] == "changed"
    assert step["finish_reason"] == "tool_calls"
    assert step["usage"]["reasoning_tokens"] == 20
    assert [one["usage"]["cost_usd"] for one in turn["steps"][:2]] == [None, 0.01]
    assert [one["failure"] for one in step["attempts"]] == ["rate_limited", None]
    assert [one["outcome"] for one in step["calls"]] == ["ok", "denied"]
    assert turn["waits"][0]["duration_ms"] == 60_000
    assert found["usage"]["input_tokens"] == 5_000
    said = repr(found)
    assert "Everywhere" not in said
    assert "Rename it." not in said


def test_a_user_reads_one_line_per_step_and_per_call() -> None:
    said = list(lines(trace_of(eventful().stored)))
    assert said[2] == (
        "    1  tool_calls   2 messages, in 1,000 (cached 800), out 50, price unknown, "
        "model 1000 ms, gap 5 ms"
    )
    assert said[3] == "        ok            198 ms  read_file app.py"
    assert "hooks 40 ms" in said[5]
    assert said[-1] == "  success (completed) after 66.9 s, 5,220 tokens, $0.0100"
