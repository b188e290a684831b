"""The events that other programs get, translated from a session's own."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from agent_ls.domain import events as ev
from agent_ls.domain import run_events as out
from agent_ls.domain.calls import ErrorKind, ToolCall, ToolResult
from agent_ls.domain.findings import Finding
from agent_ls.domain.messages import AssistantMessage
from agent_ls.domain.usage import Usage
from agent_ls.loop.machine.results import result_of
from agent_ls.loop.state.folding import fold_all
from agent_ls.observers.run_stream import RunStream
from tests.observers.stories import eventful
from tools.generate_run_events import schema


def check(*events: ev.Event | ev.Ephemeral) -> list[out.RunEvent]:
    """Translate; every event must be as the published schema says."""
    found: list[out.RunEvent] = []
    stream = RunStream(found.append)
    for seq, one in enumerate(events, 1):
        if isinstance(one, ev.Ephemeral):
            stream.on_ephemeral("ses_1", one)
        else:
            stream.on_event(ev.StoredEvent(session_id="ses_1", seq=seq, at_ms=seq, event=one))
    for one in found:
        check_line(one)
    return found


def check_line(one: out.RunEvent) -> None:
    """Assert that an event fits the published schema; only money is no whole number."""

    def whole(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        assert {name for name, value in pairs if isinstance(value, float)} <= {"cost_usd"}
        return dict(pairs)

    jsonschema.validate(json.loads(one.model_dump_json(), object_pairs_hook=whole), schema())


def answered(*calls: ToolCall, text: str = "") -> ev.Answered:
    return ev.Answered(step_id="stp_1", message=AssistantMessage(text=text, calls=calls))


def call(arguments_json: str, name: str = "cal_1") -> ToolCall:
    return ToolCall(id=name, provider_id="1", tool="run_command", arguments_json=arguments_json)


def test_a_whole_story_fits_the_schema_and_every_call_has_one_result() -> None:
    found = check(*(stored.event for stored in eventful().stored))
    calls = [one.call_id for one in found if isinstance(one, out.ToolCall)]
    results = [one.call_id for one in found if isinstance(one, out.ToolResult)]
    assert calls
    assert sorted(calls) == sorted(results)


def test_the_result_fits_the_schema() -> None:
    result = result_of(fold_all(eventful().stored))
    check_line(out.Result(**dict(result), exit_code=0))


def test_pieces_come_as_they_stream() -> None:
    found = check(
        ev.TextStreamed("stp_1", "He"),
        ev.AttemptDiscarded("stp_1"),
        ev.ReasoningStreamed("stp_1", "so"),
        ev.CallOutputStreamed("cal_1", "ok\n"),
    )
    kinds = ["text", "text_discarded", "reasoning", "tool_output"]
    assert [one.type for one in found] == kinds


@pytest.mark.parametrize(
    "written, arguments",
    [
        ('{"command": "ls"}', {"command": "ls"}),
        ("", {}),
        ("{not json", "{not json"),
        ('{"command": "export K=sk-ant-api03-aaaaaaaaaaaaaaaaaaaaaaaa"}', None),
    ],
)
def test_arguments_are_an_object_or_the_models_own_text_and_never_a_secret(
    written: str, arguments: object
) -> None:
    (found,) = check(answered(call(written)))
    assert isinstance(found, out.ToolCall)
    if arguments is None:
        assert "aaaaaaaa" not in found.model_dump_json()
    else:
        assert found.arguments == arguments


def test_a_step_without_words_has_no_message() -> None:
    assert check(answered(text=" \n")) == []


def test_a_refused_call_has_a_result_with_its_tool() -> None:
    result = ToolResult(call_id="cal_1", text="Denied: no", error=ErrorKind.DENIED)
    found = check(answered(call("{}")), ev.ToolCallFinished(result=result))
    assert isinstance(found[-1], out.ToolResult)
    assert (found[-1].tool, found[-1].outcome) == ("run_command", "denied")


def test_lines_and_columns_of_problems_begin_at_1() -> None:
    finding = Finding(path="a.py", checker="ruff", message="unused", start_line=2)
    (found,) = check(ev.FindingsReported(paths=("a.py",), findings=(finding,)))
    assert isinstance(found, out.ProblemsFound)
    assert (found.problems[0].line, found.problems[0].column) == (3, 1)


def test_usage_adds_up_and_an_unknown_price_is_no_0() -> None:
    attempt = ev.AttemptFinished(step_id="stp_1", usage=Usage(input_tokens=10, output_tokens=1))
    first, second = check(attempt, attempt)
    assert isinstance(second, out.UsageChanged)
    assert (second.input_tokens, second.output_tokens, second.cost_usd) == (20, 2, None)
    assert first != second
