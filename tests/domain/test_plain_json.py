"""Values that break parsers, databases or editors: refused as arguments, and never in the way."""

from __future__ import annotations

import json
import math

import pytest

from agent_ls.domain import events as e
from agent_ls.domain.calls import ErrorKind, ToolCall, ToolResult
from agent_ls.domain.plain_json import MAX_DEPTH, parse_arguments, plain_json, softened
from agent_ls.domain.usage import Usage
from agent_ls.loop.calls.arguments import plan_call
from agent_ls.loop.evidence.fingerprints import fingerprint
from agent_ls.observers.call_summary import summary_of
from agent_ls.session.titles import call_title, parsed
from agent_ls.store.upcasts import read_event
from agent_ls.tools.update_plan import UpdatePlan


def _nested(depth: int, inner: str = "1") -> str:
    return "[" * depth + inner + "]" * depth


POISON = {
    "infinite": '{"a": 1e999}',
    "not_a_number": '{"a": NaN}',
    "too_large": '{"a": 99999999999999999999}',
    "larger_than_any": '{"a": ' + "9" * 10_000 + "}",
    "half_a_character": '{"a": "\\ud83d"}',
    "half_a_character_as_a_name": '{"\\ude00": 1}',
    "twice_below": '{"a": [{"b": 1, "b": 2}]}',
    "deep": '{"a": ' + _nested(MAX_DEPTH) + "}",
    "too_deep_for_python": '{"a": ' + _nested(50_000) + "}",
}


@pytest.mark.parametrize("name", POISON)
def test_arguments_that_poison_what_reads_them_are_refused_before_anything_runs(name: str) -> None:
    call = ToolCall(id="c", provider_id="p", tool="update_plan", arguments_json=POISON[name])
    result = plan_call(call, {"update_plan": UpdatePlan()}, ())
    assert isinstance(result, ToolResult)
    assert result.error is ErrorKind.STRUCTURAL
    assert "not one JSON object" in result.text


@pytest.mark.parametrize("name", POISON)
def test_stored_arguments_of_any_kind_are_shown(name: str) -> None:
    text = POISON[name]
    assert parsed(text) == text
    assert call_title("t", text) == "t"
    assert summary_of("t", text)
    assert fingerprint("t", text)
    assert parse_arguments(text) == {}


@pytest.mark.parametrize("text", ['{"a": 1.5e300}', '{"a": "😀"}', _nested(MAX_DEPTH - 1), "[]"])
def test_ordinary_values_are_read(text: str) -> None:
    assert plain_json(text) == json.loads(text)


def _deep(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [math.inf, 10**400, "\ud83d", {"\ud83d": 1}, _deep(190), _deep(3_000)],
    ids=["inf", "huge", "half", "half-name", "190-deep", "3000-deep"],
)
def test_what_a_tool_gave_back_is_stored_and_read_again(value: object) -> None:
    result = ToolResult.model_validate({"call_id": "c", "text": "t", "data": {"value": value}})
    assert result.data == softened({"value": value})
    finished = e.ToolCallFinished(result=result)
    assert read_event(finished.model_dump_json(), finished.type, finished.v) == finished
    given = e.FinalOutputGiven.model_validate({"call_id": "c", "value": value})
    assert read_event(given.model_dump_json(), given.type, given.v) == given


@pytest.mark.parametrize("value", [_nested(900), "9" * 4_400, "1e999"])
def test_what_an_older_version_stored_is_read_all_the_same(value: str) -> None:
    body = '{"v":1,"type":"final_output_given","call_id":"c","value":' + value + "}"
    event = read_event(body, "final_output_given", 1)
    assert event.type == "final_output_given"


@pytest.mark.parametrize("value", [math.inf, math.nan, 10**400, -1, None])
def test_usage_that_counts_nothing_is_none(value: float | None) -> None:
    usage = Usage.model_validate({"input_tokens": value, "cost_usd": value})
    assert (usage.input_tokens, usage.cost_usd) == (0, 0.0)
    assert Usage.model_validate_json(usage.model_dump_json()) == usage
