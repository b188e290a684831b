"""What the logs say of a turn, to a user and to a program."""

from __future__ import annotations

import io
import json
import logging
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agent_ls.domain import events as ev
from agent_ls.domain.approvals import ApprovalAnswer, ApprovalChoice, ApprovalRequest, Preview
from agent_ls.domain.calls import Effect, ErrorKind, ToolCall, ToolResult
from agent_ls.domain.errors import SettingsError
from agent_ls.domain.findings import Finding
from agent_ls.domain.hooks import HookOutcome, HookPoint
from agent_ls.domain.messages import AssistantMessage
from agent_ls.domain.model_io import FinishReason
from agent_ls.domain.phases import Phase
from agent_ls.domain.stops import StopReason, TurnStatus
from agent_ls.domain.usage import Usage
from agent_ls.observers.call_summary import summary_of
from agent_ls.observers.console import TechnicalConsole, technical_handler
from agent_ls.observers.human_log import HumanLog
from agent_ls.observers.json_log import JsonLog

SECRET = "ghp_" + "a1B2c3D4e5" * 4


def stored(*events: ev.Event) -> Sequence[ev.StoredEvent]:
    return [
        ev.StoredEvent(session_id="ses_1", seq=number, at_ms=number, event=event)
        for number, event in enumerate(events, 1)
    ]


def check(*events: ev.Event, with_answers: bool = True) -> list[str]:
    """Return the lines that a user reads of these events."""
    stream = io.StringIO()
    log = HumanLog(stream, with_answers=with_answers)
    for one in stored(*events):
        log.on_event(one)
        log.on_ephemeral("ses_1", ev.TextStreamed("stp_1", "streamed"))
    return stream.getvalue().splitlines()


def call(number: int, tool: str, **arguments: object) -> ToolCall:
    text = json.dumps(arguments)
    return ToolCall(id=f"cal_{number}", provider_id="p", tool=tool, arguments_json=text)


def started(call: ToolCall, effect: Effect = Effect.READ) -> ev.ToolCallStarted:
    return ev.ToolCallStarted(
        call_id=call.id, tool=call.tool, effect=effect, arguments_json=call.arguments_json
    )


def finished(call: ToolCall, text: str = "", **more: object) -> ev.ToolCallFinished:
    return ev.ToolCallFinished(
        result=ToolResult.model_validate({"call_id": call.id, "text": text, **more})
    )


def went_on(*events: ev.Event) -> list[str]:
    """Return the lines that a user reads when the turn of these events goes on."""
    stream = io.StringIO()
    HumanLog(stream).go_on("ses_1", stored(*events))
    return stream.getvalue().splitlines()


def test_what_a_command_prints_is_shown_while_it_runs() -> None:
    stream = io.StringIO()
    log = HumanLog(stream)
    runs, reads = call(1, "run_command", command="make"), call(2, "read_file", path="a")
    message = AssistantMessage(text="", calls=(runs, reads))
    for one in stored(ev.Answered(step_id="stp_1", message=message), started(runs)):
        log.on_event(one)
    before = stream.tell()
    log.on_ephemeral("ses_1", ev.CallOutputStreamed("cal_1", "one\n10%\r\x1b[2Jtwo\n\n  set in\n"))
    log.on_ephemeral("ses_1", ev.CallOutputStreamed("cal_2", "hidden\n"))
    assert stream.getvalue()[before:].splitlines() == [
        "      │ one",
        "      │ two",
        "      │   set in",
    ]


READ, EDIT = (
    call(1, "read_file", path="src/a.py"),
    call(2, "edit_file", path="src/a.py", edits=[{"old_string": "a\nb\n", "new_string": "c"}]),
)


def test_a_turn_reads_like_a_story() -> None:
    usage = Usage(input_tokens=1_100, output_tokens=7, cache_read_tokens=80, cost_usd=0.0012)
    assert check(
        ev.TurnStarted(turn_id="trn_1", prompt="Fix it\nplease"),
        ev.RequestPrepared(step_id="stp_1", number=1, estimated_tokens=1_090, messages=1),
        ev.AttemptFinished(
            step_id="stp_1", finish=FinishReason.TOOL_CALLS, usage=usage, duration_ms=1_240
        ),
        ev.Answered(step_id="stp_1", message=AssistantMessage(text="Looking.", calls=(READ, EDIT))),
        started(READ),
        finished(READ, "1 x", duration_ms=3),
        ev.CallDecided(call_id="cal_2", decision="ask", origin="approval", reason="it edits"),
        ev.ApprovalRequested(
            request=ApprovalRequest(
                id="apr_1", call_id="cal_2", turn_id="trn_1", tool="edit_file", reason="it edits",
                preview=Preview(title="Edit src/a.py", payload="-a"), digest="d", choices=(),
            )
        ),
        ev.ApprovalResolved(
            approval_id="apr_1",
            answer=ApprovalAnswer(choice=ApprovalChoice.ALLOW_ONCE, by="code_action"),
        ),
        started(EDIT, Effect.WRITE),
        ev.EditApplied(
            call_id="cal_2", path="src/a.py", status="applied", added_lines=1, removed_lines=2
        ),
        finished(EDIT, "Edited", duration_ms=1_500),
        ev.FindingsReported(paths=("src/a.py",)),
        ev.RequestPrepared(step_id="stp_2", number=2, estimated_tokens=1_200, text_only=True),
        ev.AttemptFinished(step_id="stp_2", finish=FinishReason.STOP, usage=Usage(input_tokens=5)),
        ev.Answered(step_id="stp_2", message=AssistantMessage(text="Done.\nReally.")),
        ev.TurnEnded(
            turn_id="trn_1", stop=StopReason.COMPLETED, status=TurnStatus.SUCCESS, output="Done."
        ),
    ) == [
        "▶ Fix it…",
        "",
        "🔄 Step 1 → asking the model (1 message, about 1,090 tokens)",
        "   · 1,100 tokens in, 80 cached, 7 out, $0.0012, 1.2 s",
        "   💬 Looking.",
        "   ✓ The model answered with 2 tool calls",
        "   🔧 read_file → src/a.py",
        "      ✓ OK",
        "   ❓ Allow? Edit src/a.py (it edits)",
        "      ↳ allowed (code action)",
        "   🔧 edit_file → src/a.py (2→1 lines)",
        "      ✎ src/a.py (+1 -2)",
        "      ✓ OK (1.5 s)",
        "      🔍 Checks: ✓",
        "",
        "🔄 Step 2 → asking the model (about 1,200 tokens, text only)",
        "   · 5 tokens in, 0 out, 0.0 s",
        "   💬 Done.…",
        "   ✓ The model answered with a final text",
        "",
        "✅ Done",
        "   2 steps, 2 tool calls, 1,112 tokens, $0.0012",
    ]  # fmt: skip


def test_an_error_that_stays_the_same_is_said_once_and_the_end_says_it_in_full() -> None:
    attempt = ev.AttemptFinished(step_id="s", failure="server", message="It is down.")

    def tried(action: str, text: str) -> ev.RecoveryChosen:
        words = f"It is down. {text}"
        return ev.RecoveryChosen(step_id="s", origin="transport", action=action, text=words)

    again = [tried("retry", f"Trying again in 2 s ({number} of 3).") for number in (2, 3)]
    given_up = tried("fail", "Given up after 3 tries.")
    lines = check(attempt, again[0], attempt, again[1], attempt, given_up)
    assert lines == [
        "   ❌ The model did not answer",
        "   ↻ Asking again: It is down. Trying again in 2 s (2 of 3).",
        "   ❌ The model did not answer",
        "   ↻ Asking again",
        "   ❌ The model did not answer",
    ]


def test_where_answers_stream_they_are_not_said_twice() -> None:
    answered = ev.Answered(step_id="stp_1", message=AssistantMessage(text="Hello."))
    assert check(answered, with_answers=False) == ["   ✓ The model answered with a final text"]


@pytest.mark.parametrize("status", [status for status in TurnStatus if status not in
                                    (TurnStatus.RUNNING, TurnStatus.WAITING)])  # fmt: skip
def test_every_way_to_end_has_words(status: TurnStatus) -> None:
    event = ev.TurnEnded(turn_id="t", stop=StopReason.MAX_STEPS, status=status, output="")
    _, line, _ = check(event)
    assert line.endswith("(max_steps)")
    assert status.value not in line.split()[0]


def test_calls_that_run_at_the_same_time_are_told_apart() -> None:
    other = call(2, "grep", pattern="x", path="src")
    answered = ev.Answered(step_id="s", message=AssistantMessage(calls=(READ, other)))
    lines = check(
        answered, started(READ), started(other), finished(READ), finished(other, "", duration_ms=99)
    )
    assert lines[1:] == [
        "   🔧 read_file → src/a.py",
        '   🔧 grep → "x" in src',
        "      ✓ read_file: OK",
        "      ✓ OK",
    ]


def test_a_denied_call_is_named_though_it_never_started() -> None:
    wish = call(1, "run_command", command="rm -rf /")
    denied = ev.CallDecided(call_id="cal_1", decision="deny", origin="commands", reason="deletes")
    answered = ev.Answered(step_id="s", message=AssistantMessage(calls=(wish,)))
    result = finished(wish, "Denied: deletes", error=ErrorKind.DENIED)
    assert check(answered, denied, result)[1:] == [
        "   🔧 run_command → rm -rf /",
        "      ⛔ commands: deletes",
        "      ✗ run_command: DENIED: deletes",
    ]


def test_a_call_of_no_tool_is_told_in_plain_words() -> None:
    wish = call(1, "search", pattern="x")
    answered = ev.Answered(step_id="s", message=AssistantMessage(calls=(wish,)))
    text = "error: There is no tool 'search'; grep does this here.\ncall: search(…)"
    result = finished(wish, text, error=ErrorKind.STRUCTURAL)
    said = "      ✗ search: WRONG CALL: There is no tool 'search'; grep does this here.…"
    assert check(answered, result)[-1] == said


def test_a_tool_of_a_server_says_which() -> None:
    assert check(started(call(1, "git/log", ref="main"))) == ["   🌐 git/log → main (MCP: git)"]


def test_terminal_control_and_secrets_are_not_sent_to_the_terminal() -> None:
    nasty = f"\x1b[2J\x1b]0;x\x07 {SECRET}"
    wish = call(1, "run_command", command=nasty)
    answered = ev.Answered(step_id="s", message=AssistantMessage(text=nasty, calls=(wish,)))
    failed = finished(wish, nasty, error=ErrorKind.RUNTIME)
    text = "\n".join(check(answered, started(wish), failed))
    assert not set(text) & {"\x1b", "\x07"}
    assert SECRET not in text
    assert text.count("[masked") == 3


def test_a_terminal_that_cannot_show_the_signs_gets_the_words() -> None:
    raw = io.BytesIO()
    log = HumanLog(io.TextIOWrapper(raw, encoding="ascii"))
    log.on_event(stored(ev.CancelRequested(by="SIGINT"))[0])
    assert raw.getvalue().decode("ascii").strip("? \n") == "Stopping (SIGINT)"


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("read_file", '{"path": "a.py"}', "a.py"),
        ("write_file", '{"path": "a.py", "content": "1\\n2\\n"}', "a.py (2 lines)"),
        ("move_file", '{"path": "a", "new_path": "b"}', "a → b"),
        ("run_command", '{"command": "pytest -x\\nls"}', "pytest -x…"),
        ("grep", '{"pattern": "import jwt"}', '"import jwt"'),
        ("glob", '{"pattern": "**/*.py", "path": "src"}', '"**/*.py" in src'),
        ("list_dir", "{}", "."),
        ("update_plan", '{"items": [{"status": "completed"}, {"text": "b"}]}', "1 of 2 done"),
        ("ask_user", '{"question": "Which?"}', "Which?"),
        ("other", '{"number": 1, "words": "first text"}', "first text"),
        ("diagnostics", '{"paths": ["a.py", "b.py"]}', "a.py, b.py"),
        ("diagnostics", "{}", "the files changed so far"),
        ("delegate", '{"kind": "explore", "task": "Find it.\\nAll."}', "explore: Find it.…"),
        ("server/tool", '{"n": 1, "text": "' + "x" * 90 + '"}', "x" * 60 + "…"),
        ("other", '{"number": 1}', ""),
        ("other", "", ""),
        ("write_file", '{"path": "a.py"}', "a.py"),
        ("edit_file", '{"path": "a", "edits": 1}', "a"),
        ("edit_file", '{"path": "a", "old_string": "x"}', "a"),
        ("list_dir", '{"path": 5}', '{"path": 5}'),
        ("odd", "[1]", "[1]"),
        ("odd", "{", "{"),
        ("odd", '"x"', '"x"'),
        ("odd", '{"a": "' + "x" * 500 + '"}', "x" * 100 + "…"),
    ],
)
def test_a_call_is_summed_up_by_what_says_most(tool: str, arguments: str, expected: str) -> None:
    assert summary_of(tool, arguments) == expected


def technical(*events: ev.Event) -> list[str]:
    """Return the technical lines of these events."""
    stream = io.StringIO()
    console = TechnicalConsole(stream)
    for one in stored(*events):
        console.on_event(one)
        console.on_ephemeral("ses_1", ev.TextStreamed("stp_1", "streamed"))
    return stream.getvalue().splitlines()


def test_the_technical_console_shows_what_the_human_log_leaves_out() -> None:
    happened = (
        ev.TurnStarted(turn_id="trn_1", prompt="Fix it"),
        ev.Moved(to=Phase.CHECK),
        ev.CallDecided(call_id="cal_1", decision="allow", origin="guards"),
        ev.CallDecided(call_id="cal_2", decision="deny", origin="path_guard", reason="outside"),
        ev.PrefixSet(system="secret " + SECRET + "\nx" * 90, tools=("a", "b"), reason="first"),
    )
    lines = technical(*happened)
    assert lines[:2] == [
        "      [   0.001 s] moved to=check",
        "      [   0.002 s] call_decided call_id=cal_1 decision=allow origin=guards",
    ]
    assert len(lines) == 3
    assert SECRET not in lines[2]
    assert lines[2].endswith("tools=['a', 'b'] reason=first")
    assert not set(lines) & set(check(*happened))


@pytest.mark.parametrize(("verbosity", "levels"), [(1, ["INFO"]), (2, ["INFO", "DEBUG"])])
def test_the_programs_own_records_are_shown_as_far_as_they_are_wanted(
    verbosity: int, levels: list[str]
) -> None:
    stream = io.StringIO()
    handler = technical_handler(stream, verbosity)
    for level in (logging.INFO, logging.DEBUG):
        record = logging.LogRecord("agent_ls.x", level, "", 0, "hello", None, None)
        if record.levelno >= handler.level:
            handler.handle(record)
    assert stream.getvalue().splitlines() == [f"      [{one}] agent_ls.x: hello" for one in levels]


# The log for programs.


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_the_json_log_holds_every_event_and_is_private(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log = JsonLog(path)
    for one in stored(
        ev.TurnStarted(turn_id="trn_1", prompt="ä\nb"),
        ev.AttemptFinished(step_id="s", failure="server", message="500"),
        ev.AttemptFinished(step_id="s", finish=FinishReason.STOP),
        ev.TurnEnded(
            turn_id="trn_1", stop=StopReason.ERROR, status=TurnStatus.FAILED, output=""
        ),
        ev.CancelRequested(by="x"),
    ):  # fmt: skip
        log.on_event(one)
        log.on_ephemeral("ses_1", ev.TextStreamed("stp_1", "streamed"))
    lines = lines_of(path)
    assert list(lines[0]) == ["at", "level", "session_id", "seq", "at_ms", "event"]
    assert lines[0]["at"] == "1970-01-01T00:00:00.001+00:00"
    first = {name: lines[0][name] for name in ("session_id", "seq", "at_ms", "event")}
    written = ev.TurnStarted(turn_id="trn_1", prompt="ä\nb")
    assert [ev.StoredEvent.model_validate(first)] == stored(written)
    assert [(line["event"]["type"], line["level"], line["seq"]) for line in lines] == [
        ("turn_started", "info", 1),
        ("attempt_finished", "warning", 2),
        ("attempt_finished", "info", 3),
        ("turn_ended", "warning", 4),
        ("cancel_requested", "info", 5),
    ]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_programs_own_records_go_into_the_same_file(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log = JsonLog(path)
    logger = logging.getLogger("agent_ls.test_logs")
    logger.addHandler(handler := log.handler())
    try:
        logger.warning("the key %s is odd", SECRET)
        try:
            raise ValueError("what?")
        except ValueError:
            logger.exception("it failed")
    finally:
        logger.removeHandler(handler)
    first, second = lines_of(path)
    assert list(first) == ["at", "level", "logger", "message"]
    assert (first["level"], first["logger"]) == ("warning", "agent_ls.test_logs")
    assert str(first["message"]).startswith("the key [masked")
    assert second["message"] == "it failed"
    assert "ValueError: what?" in str(second["exception"])


def test_secrets_and_broken_characters_do_not_reach_the_file(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    result = ToolResult(call_id="c", text=f"key {SECRET}", data={"list": [SECRET, 1]})
    log = JsonLog(path)
    for event in (
        ev.ToolCallFinished(result=result),
        ev.Answered(step_id="s", message=AssistantMessage(text="a\ud800b")),
    ):
        log.on_event(stored(event)[0])
    assert SECRET not in path.read_text()
    finished, answered = lines_of(path)
    assert str(finished["event"]).count("[masked") == 2
    assert answered["event"]["message"]["text"] == "a?b"


def test_a_log_that_was_moved_away_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log = JsonLog(path)
    first, second = stored(ev.CancelRequested(by="x"), ev.CancelRequested(by="y"))
    log.on_event(first)
    path.rename(tmp_path / "old.jsonl")
    log.on_event(second)
    assert [line["seq"] for line in lines_of(path)] == [2]


def test_a_log_that_cannot_be_written_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"cannot be written.*another place"):
        JsonLog(tmp_path / "no" / "such" / "folder")


def test_a_turn_that_goes_on_says_what_its_process_left_unknown() -> None:
    run = call(1, "run_command", command="make")
    interrupted = finished(run, "Its outcome is unknown.", error=ErrorKind.INTERRUPTED)
    assert went_on(
        ev.TurnStarted(turn_id="trn_1", prompt="Build it"),
        ev.Answered(step_id="stp_1", message=AssistantMessage(calls=(run,))),
        started(run, Effect.EXECUTE),
        interrupted,
        ev.SessionResumed(interrupted_calls=(run.id,), changed_files=("a.py", "b.py")),
    ) == [
        "▶ Going on with ses_1: Build it",
        "   🔧 run_command → make",
        "      ✗ INTERRUPTED: Its outcome is unknown.",
        "   ⚠️  Not as the agent left them, so it looks again: a.py, b.py",
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Exit code 0.\n..\n2 passed in 0.1s\n\n", "✓ OK: 2 passed in 0.1s"),
        ("Exit code 0.", "✓ OK"),
        ("Killed. Its output until then:\n\n", "✓ OK"),
        ("Exit code 1.\n1 failed\n(It saw: a)\n(Sandbox: no network.)", "✓ OK: 1 failed"),
    ],
)
def test_a_command_s_last_line_is_told(text: str, line: str) -> None:
    run = call(1, "run_command", command="pytest")
    lines = check(
        ev.Answered(step_id="stp_1", message=AssistantMessage(calls=(run,))),
        started(run, Effect.EXECUTE),
        finished(run, text),
    )
    assert lines[-1] == f"      {line}"


@pytest.mark.parametrize(
    ("text", "data", "line"),
    [
        (
            "Skipped: †state.a was not taken.",
            {"skipped": True},
            "· run_command: SKIPPED: †state.a was not taken.",
        ),
        (
            "Queued as step 1 of the proposed plan.",
            {"queued": True},
            "· run_command: QUEUED: Queued as step 1 of",
        ),
        (
            "The command was not run, so its outcome is unknown.",
            {"exit_code": None, "end": "simulated", "simulated": True},
            "· run_command: DRY RUN",
        ),
        (
            "The command was not run, so its outcome is unknown.",
            {"exit_code": None, "end": "simulated"},
            "· run_command: DRY RUN: The command was not run",
        ),
    ],
)
def test_a_call_that_did_not_run_is_not_ok(text: str, data: dict[str, object], line: str) -> None:
    run = call(1, "run_command", command="make")
    result = ToolResult.model_validate({"call_id": run.id, "text": text, "data": data})
    lines = check(
        ev.Answered(step_id="stp_1", message=AssistantMessage(calls=(run,))),
        ev.ToolCallFinished(result=result),
    )
    assert line in lines[-1]
    assert "OK" not in lines[-1]


def test_what_a_command_changed_is_told_like_an_edit() -> None:
    run = call(1, "run_command", command="make")
    lines = check(
        started(run, Effect.EXECUTE),
        ev.CommandChanged(call_id=run.id, path="a.txt", before_blob="d1", after_blob="d2"),
        ev.CommandChanged(call_id=run.id, path="b.txt", after_blob="d2"),
        ev.CommandChanged(call_id=run.id, path="c.txt", before_blob="d1"),
    )
    assert lines[1:] == [
        "      ✎ a.txt (changed by the command)",
        "      ✎ b.txt (made by the command)",
        "      ✎ c.txt (removed by the command)",
    ]


def test_a_full_disk_is_said_once_and_disturbs_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    log = JsonLog(Path("/dev/full"))
    logger = logging.getLogger("tests.full_disk")
    logger.addHandler(handler := log.handler())
    try:
        for one in stored(ev.CancelRequested(by="you"), ev.CancelRequested(by="you")):
            log.on_event(one)
            logger.error("Something else.")
    finally:
        logger.removeHandler(handler)
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert said.startswith("agent-ls: /dev/full takes no more: No space left on device.")


def test_what_the_model_did_not_say_is_not_said_to_be_its_answer() -> None:
    planned = AssistantMessage(calls=(READ, EDIT))
    assert check(ev.Answered(step_id="stp_1", message=planned, origin="plan")) == [
        "   📋 Carrying out 2 steps of the plan"
    ]
    lines = check(
        ev.Moved(to=Phase.CLOSE, stop=StopReason.MAX_STEPS),
        ev.AttemptFinished(step_id="stp_1", failure="server", message="It broke."),
        ev.Answered(step_id="stp_1", message=AssistantMessage(text="Stopped.")),
    )
    assert lines[-1] == "   · The model gave no last words; these are made from what happened"


def finding(message: str, line: int = 0, path: str = "a.ts") -> Finding:
    return Finding(path=path, checker="tsc", code="TS1", message=message, start_line=line)


def reported(*findings: Finding, **more: Any) -> ev.FindingsReported:
    return ev.FindingsReported(paths=("a.ts", "b.ts"), findings=findings, **more)


@pytest.mark.parametrize(
    "before, now, words",
    [
        ([], [finding("x")], "⚠️  1 new finding"),
        ([finding("x"), finding("y")], [finding("x", line=7)], "⚠️  1 as before, 1 mended"),
        ([finding("x")], [finding("x"), finding("y")], "⚠️  1 new finding, 1 as before"),
        ([finding("x")], [finding("x", path="b.ts")], "⚠️  1 new finding, 1 mended"),
        ([finding("x")], [finding("x"), finding("x")], "⚠️  1 new finding, 1 as before"),
        ([finding("x")], [], "✓ 1 mended"),
        ([], [], "✓"),
    ],
)
def test_only_what_checkers_had_not_said_is_new(
    before: list[Finding], now: list[Finding], words: str
) -> None:
    log = HumanLog(io.StringIO())
    log.lines_of(reported(*before))
    assert log.lines_of(reported(*now))[0] == f"      🔍 Checks: {words}"


def test_the_findings_of_a_review_are_left_to_its_answer() -> None:
    log = HumanLog(io.StringIO())
    assert log.lines_of(reported(finding("x")))
    of_review = finding("x").model_copy(update={"checker": "review"})
    assert log.lines_of(reported(finding("x"), of_review)) == []
    assert log.lines_of(reported(finding("x"))) == []
    assert log.lines_of(reported(of_review))[0] == "      🔍 Checks: ✓ 1 mended"


def test_a_checker_that_still_looks_has_mended_nothing() -> None:
    log = HumanLog(io.StringIO())
    log.lines_of(reported(finding("x"), finding("y")))
    # What it found before stands in the report until it has answered.
    looks = reported(finding("x"), finding("y"), unanswered=("tsc",))
    assert log.lines_of(looks)[0].endswith("2 as before")
    assert log.lines_of(reported(finding("x")))[0].endswith("1 as before, 1 mended")
    assert log.lines_of(reported(unanswered=("ruff",)))[0].endswith("1 mended, nothing more so far")
    assert log.lines_of(reported(unanswered=("tsc",)))[0].endswith("nothing so far")


def test_a_line_that_moved_in_a_message_makes_no_new_finding() -> None:
    log = HumanLog(io.StringIO())
    log.lines_of(reported(finding("x is already defined on line 3")))
    moved = finding("x is already defined on line 5", line=9)
    assert log.lines_of(reported(moved))[0].endswith("1 as before")


def test_findings_follow_a_renamed_file() -> None:
    log = HumanLog(io.StringIO())
    log.lines_of(reported(finding("x"), finding("y", path="lib/c.ts")))
    log.lines_of(ev.FileRenamed(path="a.ts", new_path="b.ts"))
    log.lines_of(ev.FileRenamed(path="lib", new_path="src"))
    now = reported(finding("x", path="b.ts"), finding("y", path="src/c.ts"))
    assert log.lines_of(now)[0].endswith("2 as before")


def test_what_could_not_be_looked_at_is_not_called_mended() -> None:
    log = HumanLog(io.StringIO())
    log.lines_of(reported(finding("x"), finding("y")))
    said = log.lines_of(reported(finding("x"), problems=("a.ts was not checked: it is locked",)))
    assert said[0].endswith("1 as before, not everything was looked at")


@pytest.mark.parametrize(
    "data, words",
    [
        ({"exit_code": 3}, "✗ exit code 3"),
        ({"exit_code": -9}, "✗ exit code -9"),
        ({"exit_code": None, "end": "killed"}, "✗ killed"),
        ({"exit_code": None, "end": "simulated"}, "· DRY RUN"),
        ({"exit_code": 0}, "✓ OK"),
        (None, "✓ OK"),
    ],
)
def test_a_command_that_did_not_end_well_is_no_success(data: Any, words: str) -> None:
    log = HumanLog(io.StringIO())
    log.lines_of(
        ev.ToolCallStarted(
            call_id="c", tool="run_command", arguments_json="{}", effect=Effect.EXECUTE
        )
    )
    result = ToolResult(call_id="c", text="", data=data)
    assert log.lines_of(ev.ToolCallFinished(result=result)) == [f"      {words}"]


def test_a_check_after_an_edit_blocks_nothing() -> None:
    outcome = HookOutcome.BLOCKED
    checked = ev.HookRan(point=HookPoint.POST_EDIT, name="lint", outcome=outcome, text="bad")
    assert check(checked) == ["   🪝 lint (post_edit): found something: bad"]
    asked = ev.HookRan(point=HookPoint.BEFORE_TOOL, name="lint", outcome=outcome, text="bad")
    assert check(asked) == ["   🪝 lint (before_tool): blocked: bad"]
