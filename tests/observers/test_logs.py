"""What the logs say of a turn."""

from __future__ import annotations

import io
import json
import stat
from collections.abc import Sequence
from pathlib import Path

import pytest

from agent_ls.domain import events as e
from agent_ls.domain.calls import Effect, ErrorKind, ToolCall, ToolResult
from agent_ls.domain.errors import SettingsError
from agent_ls.domain.messages import AssistantMessage
from agent_ls.domain.model_io import FinishReason
from agent_ls.domain.stops import StopReason, TurnStatus
from agent_ls.domain.usage import Usage
from agent_ls.observers.human_log import HumanLog
from agent_ls.observers.json_log import JsonLog

_CALL = ToolCall(id="cal_1", provider_id="p", tool="read_file", arguments_json='{"path": "a.py"}')


def stored(*events: e.Event) -> Sequence[e.StoredEvent]:
    return [
        e.StoredEvent(session_id="ses_1", seq=number, at_ms=number, event=event)
        for number, event in enumerate(events, 1)
    ]


def check(*events: e.Event) -> str:
    stream = io.StringIO()
    log = HumanLog(stream)
    for one in stored(*events):
        log.on_event(one)
    return stream.getvalue()


def test_a_turn_reads_like_a_story() -> None:
    usage = Usage(input_tokens=100, output_tokens=7, cache_read_tokens=80, cost_usd=0.0012)
    text = check(
        e.TurnStarted(turn_id="trn_1", prompt="Fix it\nplease"),
        e.RequestPrepared(step_id="stp_1", number=1, estimated_tokens=90),
        e.AttemptFinished(
            step_id="stp_1", finish=FinishReason.TOOL_CALLS, usage=usage, duration_ms=12
        ),
        e.Answered(step_id="stp_1", message=AssistantMessage(text="Looking.", calls=(_CALL,))),
        e.ToolCallStarted(
            call_id="cal_1", tool="read_file", effect=Effect.READ, arguments_json='{"path": "a.py"}'
        ),
        e.ToolCallFinished(result=ToolResult(call_id="cal_1", text="1 x", duration_ms=3)),
        e.TurnEnded(
            turn_id="trn_1", stop=StopReason.COMPLETED, status=TurnStatus.SUCCESS, output="Done."
        ),
    )
    assert text.splitlines() == [
        "● Fix it",
        "→ step 1: asking the model (90 tokens)",
        "  model: tool_calls, 100 in (80 cached), 7 out, $0.0012, 12 ms",
        "← Looking.",
        "  read_file a.py",
        "  ✓ read_file (3 ms) 1 x",
        "■ success: completed",
    ]


def test_terminal_control_in_a_result_is_shown_and_not_sent() -> None:
    result = ToolResult(call_id="cal_1", text="\x1b[2J\x1b]0;x\x07gone", error=ErrorKind.RUNTIME)
    text = check(e.ToolCallFinished(result=result))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert text.startswith("  ✗ call")


def test_arguments_that_are_no_object_do_not_break_the_log() -> None:
    for arguments in ("[1]", "{", "", '"x"'):
        started = e.ToolCallStarted(
            call_id="cal_1", tool="odd", effect=Effect.READ, arguments_json=arguments
        )
        assert check(started).startswith("  odd")


def test_the_json_log_holds_every_event_and_is_private(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log = JsonLog(path)
    for one in stored(e.TurnStarted(turn_id="trn_1", prompt="ä\nb"), e.CancelRequested(by="x")):
        log.on_event(one)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["event"]["type"] for line in lines] == ["turn_started", "cancel_requested"]
    assert lines[0]["event"]["prompt"] == "ä\nb"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_log_that_cannot_be_written_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be written"):
        JsonLog(tmp_path / "no" / "such" / "folder")
