"""Proposed plans: what the user's words mean, and which call graphs can be carried out."""

from __future__ import annotations

import json

import pytest
from pydantic import JsonValue

from agent_ls.domain.calls import ToolCall
from agent_ls.domain.events import OutputStored
from agent_ls.domain.plans import ProposedCall
from agent_ls.loop.calls.plans import as_question, chosen, graph_error, is_shown_wholly


def call(id: str, output: str = "", **arguments: JsonValue) -> ToolCall:
    data = {**arguments, **({"output_path": output} if output else {})}
    return ToolCall(id=id, provider_id=id, tool=f"tool_{id}", arguments_json=json.dumps(data))


STEPS = [ProposedCall(call=call(name), title=f"Step {name}", payload="x") for name in "abcd"]


def check(words: str, expected: str | None) -> None:
    found = chosen(words, STEPS)
    assert found == (None if expected is None else tuple(expected))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("all", "abcd"),
        (" ALL ", "abcd"),
        ("yes", "abcd"),
        ("none", ""),
        ("", ""),
        ("no", ""),
        ("2", "b"),
        ("1, 3", "ac"),
        ("1 3-4", "acd"),
        ("4;2", "bd"),
        ("3-99999999999999999999", "cd"),
        ("0 9", ""),
        ("only the first", None),
        ("all but 2", None),
        ("-1", None),
    ],
)
def test_words_choose_steps_or_are_words(words: str, expected: str | None) -> None:
    check(words, expected)


def test_the_user_sees_each_step_with_what_it_would_do() -> None:
    long = ProposedCall(call=call("e"), title="Step e", payload="y" * 5_000)
    text = as_question([STEPS[0], long])
    assert text.startswith("The proposed plan has 2 steps.")
    assert "1. Step a\n   x\n2. Step e" in text
    assert "too long; it is asked about by itself" in text
    assert (is_shown_wholly(STEPS[0]), is_shown_wholly(long)) == (True, False)


READS_A, READS_B = {"x": "†state.a.value"}, {"x": "†state.b.value"}
STORED = (OutputStored(call_id="c", path=("state", "b"), value={"value": 1}),)


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        pytest.param([call("1")], None, id="one-call"),
        pytest.param([call("1", "", **READS_A), call("2", "a")], None, id="in-any-order"),
        pytest.param([call("1", "a", **READS_A)], "circle", id="a-call-that-waits-for-itself"),
        pytest.param(
            [call("1", "a", **READS_B), call("2", "b", **READS_A)], "circle", id="two-in-a-circle"
        ),
        pytest.param([call("1", "", **READS_A)], "no call brings", id="nobody-brings-it"),
    ],
)
def test_a_call_graph_has_no_circle_and_no_loose_end(calls, expected) -> None:
    wrong = graph_error(calls, STORED)
    assert (wrong is None) is (expected is None)
    assert (expected or "") in (wrong or "")
