"""What a dead process left open is settled from what can be proven, and nothing runs twice."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agent_ls.assembly import SystemClock
from agent_ls.domain import events as e
from agent_ls.domain.approvals import ApprovalChoice, ApprovalRequest, Preview, Question
from agent_ls.domain.calls import Effect, ErrorKind, ToolCall
from agent_ls.domain.edits import (
    ChangeText,
    CreateFile,
    DeleteFile,
    FileEdit,
    MoveFile,
    Replacement,
)
from agent_ls.domain.messages import AssistantMessage
from agent_ls.domain.modes import Mode
from agent_ls.domain.phases import Phase
from agent_ls.loop.ports.workspace import Root
from agent_ls.loop.state.recorder import Recorder
from agent_ls.loop.state.state import SessionState
from agent_ls.session.repair import repair
from agent_ls.store.sql_store import SqlStore, open_store
from agent_ls.workspace.disk import DiskWorkspace

_CALL = ToolCall(id="cal_1", provider_id="p1", tool="edit_file", arguments_json="{}")
_BEFORE = b"one\ntwo\n"


async def check(
    folder: Path,
    happened: list[e.Event],
    *,
    begin: FileEdit | None = None,
) -> SessionState:
    """Store what happened, forget the process, load, repair; return the state then."""
    folder.mkdir(exist_ok=True)
    store = open_store(folder.parent / "store.db")
    try:
        workspace = DiskWorkspace([Root("project", folder.resolve(), False)])
        first = Recorder("ses_1", store, SystemClock())
        for event in [
            e.SessionCreated(session_id="ses_1", roots=(), mode=Mode.ASK, model="x/y"),
            e.TurnStarted(turn_id="trn_1", prompt="Do it."),
            e.Moved(to=Phase.ACT),
            e.Answered(step_id="stp_1", message=AssistantMessage(calls=(_CALL,))),
            *happened,
        ]:
            await first.emit(event)
        if begin is not None:
            await first.emit(await _intent(begin, store))
        await store.append([], durable=True)
        again = Recorder("ses_1", store, SystemClock(), await store.load("ses_1"))
        assert again.state == first.state
        await repair(again, workspace, store)
        return again.state
    finally:
        await store.close()


async def _intent(edit: FileEdit, store: SqlStore) -> e.EditIntended:
    blob = None if edit.kind == "create" else await store.put_blob(_BEFORE)
    return e.EditIntended(call_id="cal_1", edit=edit, before_blob=blob)


def started(effect: Effect) -> e.ToolCallStarted:
    return e.ToolCallStarted(call_id="cal_1", tool="any", effect=effect)


def result_words(state: SessionState) -> str:
    assert state.turn is not None
    (call,) = state.turn.calls
    return call.result.text if call.result else "(open)"


_CHANGE = ChangeText(
    path="a.txt",
    base_version="v",
    replacements=(Replacement(start=0, end=3, text="ONE"),),
)


@pytest.mark.parametrize(
    ("edit", "on_disk", "words", "is_touched"),
    [
        pytest.param(_CHANGE, b"one\ntwo\n", "was not applied", False, id="a-change-before"),
        pytest.param(_CHANGE, b"ONE\ntwo\n", "was applied", True, id="a-change-after"),
        pytest.param(_CHANGE, b"other\n", "unknown", False, id="a-change-and-someone-else"),
        pytest.param(_CHANGE, None, "unknown", False, id="a-change-of-a-file-that-is-gone"),
        pytest.param(
            CreateFile(path="a.txt", text="new\n"),
            None,
            "not applied",
            False,
            id="a-new-file-before",
        ),
        pytest.param(
            CreateFile(path="a.txt", text="new\n"), b"new\n", "was applied", True, id="a-new-file"
        ),
        pytest.param(
            CreateFile(path="a.txt", text="\xe9\n", encoding="latin-1"),
            b"\xe9\n",
            "was applied",
            True,
            id="a-new-file-in-another-encoding",
        ),
        pytest.param(
            DeleteFile(path="a.txt", base_version="v"), None, "was applied", True, id="a-deletion"
        ),
        pytest.param(
            DeleteFile(path="a.txt", base_version="v"),
            _BEFORE,
            "not applied",
            False,
            id="a-deletion-before",
        ),
        pytest.param(
            MoveFile(path="b.txt", base_version="v", new_path="a.txt"),
            _BEFORE,
            "was applied",
            True,
            id="a-move",
        ),
        pytest.param(
            MoveFile(path="b.txt", base_version="v", new_path="a.txt"),
            None,
            "not applied",
            False,
            id="a-move-before",
        ),
    ],
)
async def test_of_an_edit_the_file_tells_whether_it_happened(
    tmp_path: Path, edit: FileEdit, on_disk: bytes | None, words: str, is_touched: bool
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    if on_disk is not None:
        (folder / "a.txt").write_bytes(on_disk)
    state = await check(folder, [started(Effect.WRITE)], begin=edit)
    assert words in result_words(state)
    assert state.turn is not None
    assert (edit.path in state.turn.touched) is is_touched
    assert state.turn.intents == {}


def edited(edit: FileEdit) -> list[e.Event]:
    """Return an edit that was applied before the process died."""
    return [
        e.EditIntended(call_id="cal_1", edit=edit, before_blob=None),
        e.EditApplied(call_id="cal_1", path=edit.path, status="applied"),
    ]


_PATCHED = e.ToolCallStarted(
    call_id="cal_1", tool="any", effect=Effect.WRITE, paths=("b.txt", "c.txt", "a.txt", "d.txt")
)
_B = CreateFile(path="b.txt", text="b\n")
_MOVE = MoveFile(path="b.txt", base_version="v", new_path="c.txt")


@pytest.mark.parametrize(
    ("happened", "on_disk", "said"),
    [
        pytest.param(
            edited(_B), b"ONE\ntwo\n",
            {"b": "was applied", "c": "was not changed", "a": "was applied", "d": "not changed"},
            id="in-the-middle",
        ),
        pytest.param(
            edited(_MOVE), b"one\ntwo\n",
            {"b": "was applied", "a": "not applied", "d": "not changed"},
            id="what-a-move-made-is-no-other-file",
        ),
    ],
)  # fmt: skip
async def test_the_model_is_told_of_each_file_of_a_patch(
    tmp_path: Path, happened: list[e.Event], on_disk: bytes, said: dict[str, str]
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_bytes(on_disk)
    state = await check(folder, [_PATCHED, *happened], begin=_CHANGE)
    found = re.split(r"(\w)\.txt: ", result_words(state))[1:]
    told = dict(zip(found[::2], found[1::2], strict=True))
    assert sorted(told) == sorted(said)
    for name, words in said.items():
        assert words in told[name]
    assert state.turn is not None
    assert state.turn.intents == {}


@pytest.mark.parametrize("effect", [Effect.WRITE, Effect.EXECUTE, Effect.DELEGATE])
async def test_what_may_have_had_an_effect_is_not_run_again(tmp_path: Path, effect: Effect) -> None:
    state = await check(tmp_path / "project", [started(effect)])
    assert state.turn is not None
    assert state.turn.open_calls == ()
    assert "Check what it did" in result_words(state)
    assert state.turn.calls[0].result is not None
    assert state.turn.calls[0].result.error is ErrorKind.INTERRUPTED


@pytest.mark.parametrize(
    "happened",
    [
        pytest.param([], id="never-started"),
        pytest.param([started(Effect.READ)], id="a-started-read"),
    ],
)
async def test_what_had_no_effect_stays_open(tmp_path: Path, happened: list[e.Event]) -> None:
    state = await check(tmp_path / "project", happened)
    assert state.turn is not None
    assert [one.call.id for one in state.turn.open_calls] == ["cal_1"]
    assert state.turn.phase is Phase.ACT


async def test_questions_to_the_user_are_withdrawn(tmp_path: Path) -> None:
    request = ApprovalRequest(
        id="apr_1",
        call_id="cal_1",
        turn_id="trn_1",
        tool="edit_file",
        reason="r",
        preview=Preview(title="t", payload="p"),
        digest="d",
        choices=(ApprovalChoice.ALLOW_ONCE,),
    )
    question = Question(id="qst_1", turn_id="trn_1", origin="ask_user", text="?")
    state = await check(
        tmp_path / "project",
        [e.ApprovalRequested(request=request), e.QuestionAsked(question=question)],
    )
    assert (dict(state.approvals), dict(state.questions)) == ({}, {})
    assert state.turn is not None
    assert len(state.turn.open_calls) == 1


async def test_an_ended_turn_is_left_alone(tmp_path: Path) -> None:
    ended = e.TurnEnded.model_validate(
        {"turn_id": "trn_1", "stop": "completed", "status": "success", "output": ""}
    )
    state = await check(tmp_path / "project", [ended])
    assert state.turn is not None
    assert not any(isinstance(one.event, e.SessionResumed) for one in state.turn.events)
