"""References between calls: how they are spelled, what they stand for, and what waits for what."""

from __future__ import annotations

import json

import pytest
from pydantic import JsonValue

from agent_ls.domain.calls import ErrorKind, ToolCall, ToolResult
from agent_ls.domain.events import OutputMethod, OutputStored
from agent_ls.loop.calls.references import (
    Found,
    Results,
    destination_in,
    expressions_in,
    resolved,
    split_destination,
)
from agent_ls.loop.state.expressions import parse_expression, parse_output
from agent_ls.loop.state.outputs import MISSING, targets, value_at, value_of, with_output

A, B, C = ("state", "a"), ("state", "b"), ("state", "c")


def check(text: str) -> tuple[tuple[tuple[str, ...], ...], ...] | None:
    """Return the branches of what a text is as a reference."""
    expression = parse_expression(text)
    return expression.branches if expression else None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("†state.a", ((A,),), id="one-path"),
        pytest.param("†state.a || †state.b", ((A,), (B,)), id="the-first-that-is-there"),
        pytest.param("†state.a && †state.b", ((A, B),), id="all-of-them"),
        pytest.param("state.a", None, id="no-dagger"),
        pytest.param("†state", None, id="a-kind-alone"),
        pytest.param("see †state.a", None, id="words-before"),
        pytest.param("† see the note below.", None, id="a-footnote"),
    ],
)
def test_only_a_whole_text_is_a_reference(text: str, expected: object) -> None:
    assert check(text) == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param({}, None, id="none"),
        pytest.param({"output_path": "†state.a"}, ((A,),), id="one"),
        pytest.param({"output_path": "state.a"}, ((A,),), id="without-its-dagger"),
        pytest.param({"output_path": "a"}, ((A,),), id="a-name-alone"),
        pytest.param({"output_path": "a || b"}, ((A,), (B,)), id="one-of-two"),
        pytest.param({"output_path": "a/b"}, "is no path", id="a-file-is-no-path"),
        pytest.param({"output_path": "a", "output_method": "add"}, "is none of", id="no-method"),
    ],
)
def test_a_result_goes_where_the_call_says(data: dict[str, JsonValue], expected: object) -> None:
    if isinstance(expected, str):
        with pytest.raises(ValueError, match=expected):
            destination_in("any", data)
    else:
        goes_to = destination_in("any", data)
        assert (goes_to and goes_to.output.branches) == expected


@pytest.mark.parametrize(
    ("data", "own", "goes_to"),
    [
        pytest.param({"output_path": "out/a.png"}, {"output_path"}, None, id="the-servers-own"),
        pytest.param({"output_path": "a"}, {"output_path"}, None, id="a-file-without-an-ending"),
        pytest.param({"output_path": 3}, {"output_path"}, None, id="no-text"),
        pytest.param({"output_method": "POST"}, {"output_method"}, None, id="a-method-alone"),
        pytest.param({"x": 1, "output_path": "†state.a"}, {"x"}, ((A,),), id="with-a-dagger-ours"),
        pytest.param(
            {"output_path": " †state.a", "output_method": "push"}, set(), ((A,),), id="with-method"
        ),
    ],
)
def test_a_tool_server_keeps_its_own_output_path(
    data: dict[str, JsonValue], own: set[str], goes_to: object
) -> None:
    assert split_destination("images/draw", data)[0].keys() == own
    found = destination_in("images/draw", data)
    assert (found and found.output.branches) == goes_to


def kept(*values: tuple[str, OutputMethod, JsonValue]) -> tuple[OutputStored, ...]:
    """Return what was stored, oldest first, as the session keeps it."""
    stored: tuple[OutputStored, ...] = ()
    for number, (path, method, value) in enumerate(values):
        event = OutputStored(
            call_id=f"cal_{number}", path=tuple(path.split(".")), method=method, value=value
        )
        stored = with_output(stored, event)
    return stored


@pytest.mark.parametrize(
    ("values", "path", "expected"),
    [
        pytest.param([], "s.a", MISSING, id="nothing-there"),
        pytest.param([("s.a", "set", 1)], "s.a", 1, id="set"),
        pytest.param([("s.a", "set", None)], "s.a", None, id="null-is-a-value"),
        pytest.param([("s.a", "set", 1), ("s.a", "set", 2)], "s.a", 2, id="the-newest-set-counts"),
        pytest.param([("s.a.b", "set", 1)], "s.a", {"b": 1}, id="above-a-value"),
        pytest.param(
            [("s.a.b", "set", 1), ("s.a", "set", {"c": 2})], "s.a", {"c": 2}, id="set-covers-below"
        ),
        pytest.param(
            [("s.a", "set", {"x": {"p": 1}}), ("s.a", "merge", {"x": {"q": 2}})],
            "s.a",
            {"x": {"p": 1, "q": 2}},
            id="merge-is-deep",
        ),
        pytest.param(
            [("s.a", "set", {"x": {"p": 1}, "y": 0}), ("s.a", "assign", {"x": {"q": 2}})],
            "s.a",
            {"x": {"q": 2}, "y": 0},
            id="assign-is-shallow",
        ),
        pytest.param([("s.a", "push", 1), ("s.a", "push", [2])], "s.a", [1, [2]], id="push"),
        pytest.param([("s.a", "concat", [1]), ("s.a", "concat", [2, 3])], "s.a", [1, 2, 3], id="+"),
        pytest.param(
            [("s.a", "push", 1), ("s.a", "set", []), ("s.a", "push", 2)], "s.a", [2], id="to-set"
        ),
    ],
)  # fmt: skip
def test_values_are_read_newest_to_oldest_until_a_set(values, path, expected) -> None:
    assert value_at(kept(*values), tuple(path.split("."))) == expected


def test_a_call_that_ran_again_leaves_its_value_once() -> None:
    event = OutputStored(call_id="cal_1", path=("s", "a"), method="push", value=1)
    assert value_at(with_output(with_output((), event), event), ("s", "a")) == [1]


def result(text: str = "ok", error: ErrorKind | None = None, **data: JsonValue) -> ToolResult:
    return ToolResult(call_id="cal_1", text=text, error=error, data=data or None)


@pytest.mark.parametrize(
    ("given_result", "value", "goes_to"),
    [
        pytest.param(result(), {"value": "ok"}, (A,), id="what-went-well"),
        pytest.param(result(exit_code=1), {"error": "ok", "exit_code": 1}, (B,), id="handled"),
        pytest.param(result("no", ErrorKind.RUNTIME), {"error": "no"}, (B,), id="failed"),
        pytest.param(result("no", ErrorKind.DENIED), {"error": "no"}, (), id="never-ran"),
    ],
)
def test_a_result_is_a_value_or_an_error_and_takes_that_branch(
    given_result: ToolResult, value: object, goes_to: object
) -> None:
    assert value_of(given_result) == value
    assert targets(parse_output("a || b"), given_result) == goes_to


def call(id: str, output: str = "", **arguments: JsonValue) -> ToolCall:
    data = {**arguments, **({"output_path": output} if output else {})}
    return ToolCall(id=id, provider_id=id, tool="any", arguments_json=json.dumps(data))


READER = call("reader", x="†state.a.value")
EITHER = call("reader", x="†state.a.value || †state.b.value")
MAKER = call("maker", "a")
CHOOSER = call("chooser", "b || a")
STORED = kept(("state.a", "set", {"value": "1"}))
GONE = ToolResult(call_id="maker", text="", error=ErrorKind.DENIED)
FINE = ToolResult(call_id="chooser", text="", data={"exit_code": 0})
SKIPPED = ToolResult(call_id="maker", text="", data={"skipped": True})
HANDLED = kept(("state.a", "set", {"error": "1"}))


@pytest.mark.parametrize(
    ("reader", "others", "stored", "expected"),
    [
        pytest.param(READER, [], (), "never", id="nobody-brings-it"),
        pytest.param(READER, [], STORED, "present", id="it-is-there"),
        pytest.param(READER, [(MAKER, None)], (), "later", id="somebody-will"),
        pytest.param(READER, [(MAKER, None)], STORED, "later", id="one-before-it-writes-it-anew"),
        pytest.param(READER, [(MAKER, FINE)], STORED, "present", id="it-came"),
        pytest.param(READER, [(MAKER, GONE)], (), "never", id="its-call-was-denied"),
        pytest.param(READER, [(MAKER, SKIPPED)], (), "not_taken", id="its-call-was-skipped"),
        pytest.param(READER, [(CHOOSER, FINE)], (), "not_taken", id="the-other-branch-was-taken"),
        pytest.param(READER, [(MAKER, FINE)], HANDLED, "not_taken", id="it-failed-in-good-order"),
        pytest.param(EITHER, [], STORED, "present", id="one-of-two-is-enough"),
        pytest.param(EITHER, [(MAKER, None)], (), "later", id="the-first-branch-may-come"),
        pytest.param(EITHER, [(MAKER, GONE)], kept(("state.b", "set", {"value": "2"})), "present",
                     id="the-second-when-the-first-fails"),
    ],
)  # fmt: skip
def test_a_reference_is_there_or_comes_or_never_will(reader, others, stored, expected) -> None:
    found = Results([*others, (reader, None)], stored).find(expressions_in(reader)[0], reader)
    assert found.state == expected, found


def test_a_call_may_refer_to_what_a_later_one_writes_over() -> None:
    results = Results([(READER, None), (MAKER, None)], STORED)
    assert results.find(expressions_in(READER)[0], READER) == Found("present", "1")


def test_who_is_waited_for_is_known_through_any_number_of_calls() -> None:
    middle = call("middle", "b", x="†state.a.value")
    last = call("last", x="†state.b.value")
    results = Results([(MAKER, None), (middle, None), (last, None)], ())
    assert results.producers([last]) == {"maker", "middle"}


def test_values_stand_in_the_place_of_references_and_nowhere_else() -> None:
    given_call = call("c", "out", path="†state.a", edits=[{"new": "†state.b", "old": "†state"}])
    after = resolved(given_call, {"†state.a": "x.py", "†state.b": [1]})
    assert json.loads(after.arguments_json) == {
        "path": "x.py",
        "edits": [{"new": [1], "old": "†state"}],
        "output_path": "out",
    }


def test_a_call_that_is_no_json_leaves_nothing_anywhere() -> None:
    broken = ToolCall(id="cal_1", provider_id="p", tool="read_file", arguments_json="{")
    results = Results([(broken, None)], [])
    assert not results.brings(A)


def test_a_call_whose_destination_is_not_understood_brings_nothing() -> None:
    wrong = ToolCall(
        id="cal_1", provider_id="p", tool="run_command", arguments_json='{"output_path": 5}'
    )
    call = wrong.model_copy(update={"id": "cal_2", "arguments_json": '{"command": "†state.a"}'})
    expression = parse_expression("†state.a")
    assert expression is not None
    found = Results([(wrong, None), (call, None)], ()).find(expression, call)
    assert found.state == "never"
