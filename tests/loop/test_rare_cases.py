"""What the loop's pure parts say of what hardly ever comes: broken JSON, odd shapes and types."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import JsonValue

from agent_ls import catalogue
from agent_ls.domain import events as e
from agent_ls.domain.calls import Effect, ErrorKind, ToolCall, ToolResult
from agent_ls.domain.errors import AgentLsError, SettingsError
from agent_ls.domain.goals import Goal
from agent_ls.domain.model_io import ToolSpec
from agent_ls.domain.modes import Mode
from agent_ls.domain.stops import StopReason, TurnStatus
from agent_ls.domain.verdicts import Slot
from agent_ls.loop.calls.arguments import plan_call
from agent_ls.loop.evidence.fingerprints import fingerprint
from agent_ls.loop.evidence.news import is_news
from agent_ls.loop.evidence.output_schema import check_schema, violations
from agent_ls.loop.evidence.progress import Progress
from agent_ls.loop.evidence.proofs import proofs, unproven
from agent_ls.loop.evidence.work_report import work_report
from agent_ls.loop.machine.prepare import fit
from agent_ls.loop.machine.results import result_of
from agent_ls.loop.ports.store import SessionSummary
from agent_ls.loop.ports.workspace import Root
from agent_ls.loop.sockets import PlannedCall
from agent_ls.loop.state.event_log import EventLog
from agent_ls.loop.state.folding import fold_all
from agent_ls.loop.state.outputs import value_at, value_of
from agent_ls.loop.state.state import SessionState
from agent_ls.store.sql_store import open_store
from agent_ls.tools.read_file import ReadFile
from agent_ls.workspace.disk import DiskWorkspace
from tests.policies.views import view_of

GOAL = Goal(text="Make it.", tests=("make test",))


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


def test_a_file_spelled_another_way_does_not_make_another_call() -> None:
    plain = fingerprint("read_file", '{"path": "a.py"}')
    assert fingerprint("read_file", '{"file_path": "./sub/../a.py", "start_line": null}') == plain
    longer = fingerprint("run_command", '{"command": "make", "timeout_s": 60}')
    assert longer != fingerprint("run_command", '{"command": "make"}')


def test_a_call_that_is_no_json_is_its_own_fingerprint() -> None:
    assert fingerprint("read_file", "{") == "read_file {"
    assert fingerprint("read_file", "[1]") == "read_file [1]"


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


def test_facts_that_are_no_object_are_kept_as_data() -> None:
    result = ToolResult(call_id="cal_1", text="x", data=[1, 2])
    assert value_of(result) == {"data": [1, 2], "value": "x"}


def test_a_log_equals_logs_only() -> None:
    assert EventLog() == EventLog()
    assert EventLog() != "no log"


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (e.ModeChanged(mode=Mode.AUTO), True),
        (e.PromptQueued(text="x", kind="steer"), True),
        (e.PromptQueued(text="x", kind="follow_up"), False),
        (e.EditApplied(call_id="c", path="a", status="applied"), True),
        (e.EditApplied(call_id="c", path="a", status="stale"), False),
        (e.CancelRequested(by="x"), False),
    ],
)
def test_news_is_what_changes_what_calls_meet(event: e.Event, expected: bool) -> None:
    assert is_news(event) is expected


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


def ran(arguments_json: str, *, starts: bool = True) -> list[e.Event]:
    result = ToolResult(call_id="cal_1", text="ok", data={"exit_code": 0})
    finished = e.ToolCallFinished(result=result, effect=Effect.EXECUTE)
    started = e.ToolCallStarted(
        call_id="cal_1",
        tool="run_command",
        effect=Effect.EXECUTE,
        arguments_json=arguments_json,
    )
    return [started, finished] if starts else [finished]


@pytest.mark.parametrize(
    ("events", "proven"),
    [
        (ran('{"command": "make test"}'), True),
        (ran('{"command": "make test", "cwd": "sub"}'), False),
        (ran('{"command": "make"}'), False),
        (ran("{"), False),
        (ran('{"command": 5}'), False),
        (ran('{"command": "make test"}', starts=False), False),
    ],
)
def test_only_the_goals_own_command_proves_it(events: list[e.Event], proven: bool) -> None:
    assert (unproven(view_of(*events, goal=GOAL)) == ()) is proven


def test_without_a_goal_nothing_is_to_be_proven() -> None:
    view = view_of(*ran('{"command": "make test"}'))
    assert (proofs(view), unproven(view)) == ({}, ())


def test_without_anything_done_there_is_no_progress() -> None:
    assert Progress().score == 0.0


def test_a_turn_that_still_runs_has_no_result() -> None:
    with pytest.raises(AgentLsError, match="before its end"):
        result_of(SessionState())


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


def test_another_model_holds_from_then_on() -> None:
    assert view_of(e.ModelChanged(model="acme/small")).session.model == "acme/small"


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


async def test_a_report_names_commands_as_far_as_they_can_be_read(tmp_path: Path) -> None:
    workspace = DiskWorkspace([Root("proj", tmp_path.resolve(), True)])
    store = open_store(tmp_path / "store.db")
    try:
        for arguments, said in (('{"command": "make"}', "- make: exit"), ("{", "- : exit code 0")):
            text = await work_report(view_of(*ran(arguments)), "Done.", workspace, store)
            assert said in text
    finally:
        await store.close()


async def test_a_report_leaves_out_what_cannot_be_read_any_more(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    workspace = DiskWorkspace([Root("proj", tmp_path.resolve(), True)])
    store = open_store(tmp_path / "store.db")
    try:
        view = view_of(change("folder", known=True, before=None))
        assert "+++" not in await work_report(view, "Done.", workspace, store)
    finally:
        await store.close()


@pytest.mark.parametrize(
    ("forked_from", "is_dry_run", "expected"),
    [
        ("", False, ""),
        ("", True, "dry run"),
        ("ses_01ABCDEF", False, "fork of …ABCDEF"),
        ("ses_01ABCDEF", True, "dry run, fork of …ABCDEF"),
    ],
)
def test_a_session_that_is_no_ordinary_one_says_so(
    forked_from: str, is_dry_run: bool, expected: str
) -> None:
    row = SessionSummary(
        session_id="ses_1",
        title="",
        roots=(),
        updated_ms=0,
        turns=1,
        status="success",
        cost_usd=0.0,
        forked_from=forked_from,
        is_dry_run=is_dry_run,
    )
    assert row.kind == expected


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
