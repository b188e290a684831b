"""Which files a turn touched, with the texts before and after: a fold of the edits' events."""

from __future__ import annotations

from agent_ls.domain.calls import Effect, ToolCall, ToolResult
from agent_ls.domain.edits import CreateFile, DeleteFile, FileEdit, MoveFile
from agent_ls.domain.events import (
    Answered,
    EditApplied,
    EditIntended,
    Event,
    ToolCallFinished,
    TurnEnded,
    TurnStarted,
)
from agent_ls.domain.messages import AssistantMessage
from agent_ls.domain.stops import StopReason, TurnStatus
from tests.policies.views import view_of


def edited(edit: FileEdit, before: str | None, after: str | None) -> list[Event]:
    """Return what is recorded of an edit that was applied."""
    return [
        EditIntended(call_id="cal_1", edit=edit, before_blob=before),
        EditApplied(call_id="cal_1", path=edit.path, status="applied", after_blob=after),
    ]


def check(happened: list[Event], expected: dict[str, tuple[str | None, str | None]]) -> None:
    """Assert the text before the turn and the text now of each file."""
    touched = view_of(*happened).turn.touched
    assert {path: (one.before_blob, one.after_blob) for path, one in touched.items()} == expected


def move(path: str, new_path: str) -> MoveFile:
    return MoveFile(path=path, base_version="v", new_path=new_path)


def test_a_move_makes_a_file_and_takes_one_away() -> None:
    check(edited(move("a", "b"), "A", "A"), {"a": ("A", None), "b": (None, "A")})


def test_a_move_onto_a_path_that_the_turn_deleted_is_a_file_again() -> None:
    deleted = edited(DeleteFile(path="b", base_version="v"), "B", None)
    check([*deleted, *edited(move("a", "b"), "A", "A")], {"a": ("A", None), "b": ("B", "A")})


def test_a_move_there_and_back_leaves_what_was() -> None:
    there = edited(move("a", "b"), "A", "A")
    check([*there, *edited(move("b", "a"), "A", "A")], {"a": ("A", "A"), "b": (None, None)})


def test_what_was_made_and_moved_was_nowhere_before() -> None:
    made = edited(CreateFile(path="a", text="A"), None, "A")
    check([*made, *edited(move("a", "b"), "A", "A")], {"a": (None, None), "b": (None, "A")})


def test_what_comes_late_of_an_earlier_turns_call_is_not_this_turns() -> None:
    call = ToolCall(id="cal_1", provider_id="p", tool="write_file", arguments_json="{}")
    earlier = [
        TurnStarted(turn_id="trn_0", prompt="Write."),
        Answered(step_id="stp_1", message=AssistantMessage(text="", calls=(call,))),
        TurnEnded(
            turn_id="trn_0", stop=StopReason.CANCELLED, status=TurnStatus.CANCELLED, output=""
        ),
    ]
    late = [
        *edited(CreateFile(path="a", text="A"), None, "A"),
        ToolCallFinished(result=ToolResult(call_id="cal_1", text="Done."), effect=Effect.WRITE),
    ]
    turn = view_of(*late, earlier=earlier).turn
    assert (dict(turn.touched), len(turn.events), turn.calls) == ({}, 1, ())
