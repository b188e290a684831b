"""What the loop's pure parts say of what hardly ever comes: broken JSON, odd shapes and types."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from agent_ls import catalogue
from agent_ls.domain import events as e
from agent_ls.domain.calls import ErrorKind, ToolCall
from agent_ls.domain.errors import SettingsError
from agent_ls.domain.model_io import ToolSpec
from agent_ls.domain.stops import StopReason, TurnStatus
from agent_ls.domain.verdicts import Slot
from agent_ls.loop.calls.arguments import plan_call
from agent_ls.loop.evidence.output_schema import check_schema, violations
from agent_ls.loop.extension_points import PlannedCall
from agent_ls.loop.machine.prepare import fit
from agent_ls.loop.state.folding import fold_all
from agent_ls.loop.state.outputs import value_at
from agent_ls.tools.read_file import ReadFile
from agent_ls.workspace.disk import DiskWorkspace
from tests.policies.views import view_of


def check(call: ToolCall, words: str) -> None:
    """Assert that a call cannot run, and why."""
    (part,) = (one for one in catalogue.TOOLS if one is ReadFile)
    specs: tuple[ToolSpec, ...] = (catalogue.spec_of(part),)
    found = plan_call(call, {"read_file": ReadFile(DiskWorkspace(()))}, specs)
    assert not isinstance(found, PlannedCall)
    assert found.error is ErrorKind.STRUCTURAL
    assert words in found.text


def read(arguments_json: str) -> ToolCall:
    return ToolCall(id="cal_1", provider_id="p", tool="read_file", arguments_json=arguments_json)


@pytest.mark.parametrize(
    ("arguments_json", "words"),
    [
        ('{"path": "a", "output_path": 5}', "output_path is no text"),
        ('{"path": "a", "output_path": "†state.a", "output_method": "eat"}', "'eat' is none of"),
    ],
)
def test_odd_arguments_are_refused_with_what_is_wrong(arguments_json: str, words: str) -> None:
    check(read(arguments_json), words)


def stored(method: e.OutputMethod, value: JsonValue, call_id: str) -> e.OutputStored:
    return e.OutputStored(call_id=call_id, path=("state", "a"), method=method, value=value)


@pytest.mark.parametrize(
    ("method", "before", "value", "expected"),
    [
        ("assign", "text", {"b": 2}, {"b": 2}),
        ("assign", {"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        ("merge", "text", {"b": 2}, {"b": 2}),
        ("merge", {"a": {"x": 1}}, {"a": {"y": 2}}, {"a": {"x": 1, "y": 2}}),
        ("push", "text", "more", ["text", "more"]),
        ("concat", None, ["more"], ["more"]),
    ],
)
def test_values_join_what_is_there_whatever_it_is(
    method: e.OutputMethod, before: JsonValue, value: JsonValue, expected: JsonValue
) -> None:
    found = value_at(
        [stored("set", before, "cal_1"), stored(method, value, "cal_2")], ("state", "a")
    )
    assert found == expected


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (["a"], "it is no object"),
        ({"type": "nonsense"}, "no valid JSON schema"),
    ],
)
def test_what_is_no_schema_is_refused(schema: JsonValue, words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        check_schema(schema, "--output-schema")


@pytest.mark.parametrize("leads_to", ["http://nowhere.example/x", "#/$defs/b", "#"])
def test_a_schema_whose_reference_leads_nowhere_is_said_to(leads_to: str) -> None:
    (said,) = violations({"a": 1}, check_schema({"$ref": leads_to}, "it"))
    assert said.startswith("the schema itself cannot be used")
    assert violations({"a": 1}, {"type": "object"}) == []


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("aaab", ""),
        ("aaa!", "does not match"),
        (7, ""),
        ("a" * 40 + "!", "it takes too long to tell"),
    ],
)
def test_a_pattern_is_searched_for_within_a_time_that_ends(value: JsonValue, words: str) -> None:
    said = violations(value, {"pattern": "^(a|aa)+b?$"})
    assert (words in said[0]) if words else (said == [])


def test_how_a_session_stands_is_told_before_during_and_after_a_turn() -> None:
    ended = e.TurnEnded(
        turn_id="trn_1", stop=StopReason.COMPLETED, status=TurnStatus.SUCCESS, output=""
    )
    question = e.QuestionAsked.model_validate(
        {"question": {"id": "qst_1", "turn_id": "trn_1", "origin": "x", "text": "?"}}
    )
    events = [e.TurnStarted(turn_id="trn_1", prompt="Do it."), question, ended]
    journal = [
        e.StoredEvent(session_id="ses_1", seq=seq, at_ms=0, event=event)
        for seq, event in enumerate(events, 1)
    ]
    found = [fold_all(journal[:upto]).status for upto in range(4)]
    assert found == [None, TurnStatus.RUNNING, TurnStatus.WAITING, TurnStatus.SUCCESS]


def change(path: str, *, known: bool, before: str | None) -> e.CommandChanged:
    return e.CommandChanged(
        call_id="cal_1", path=path, is_before_known=known, before_blob=before, after_blob="new"
    )


def test_a_change_from_nobody_knows_what_is_not_counted_as_the_turns() -> None:
    view = view_of(change("a", known=False, before=None), change("b", known=True, before="old"))
    assert list(view.turn.touched) == ["b"]
    again = view_of(
        change("b", known=True, before="old"), change("b", known=False, before=None)
    ).turn.touched["b"]
    assert (again.before_blob, again.after_blob) == ("old", "new")


def test_the_queued_prompt_that_becomes_a_turn_is_found_wherever_it_stands() -> None:
    queued = [e.PromptQueued(text=text, kind="follow_up") for text in ("one", "two")]
    ended = e.TurnEnded(
        turn_id="trn_1", stop=StopReason.COMPLETED, status=TurnStatus.SUCCESS, output=""
    )
    begun = e.TurnStarted(turn_id="trn_2", prompt="two")
    assert [one.text for one in view_of(*queued, ended, begun).session.queue] == ["one"]


def test_slots_have_room_by_priority_and_the_last_is_cut() -> None:
    slots = [
        Slot(name="b", priority=2, max_tokens=1_000, text="b" * 4_000),
        Slot(name="a", priority=1, max_tokens=10, text="short"),
        Slot(name="c", priority=3, max_tokens=1_000, text="c" * 4_000),
    ]
    first, cut = fit(slots, 200)
    assert first == "short"
    assert cut.startswith("bbb")
    assert len(cut) < 800
