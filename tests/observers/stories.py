"""Journals for what reads them: events at given moments, and sessions of any length."""

from __future__ import annotations

import json

from agent_ls.domain import events as ev
from agent_ls.domain.approvals import ApprovalAnswer, ApprovalChoice, ApprovalRequest, Preview
from agent_ls.domain.calls import Effect, ErrorKind, ToolCall, ToolResult
from agent_ls.domain.edits import ChangeText, CreateFile
from agent_ls.domain.findings import Finding
from agent_ls.domain.hooks import HookOutcome, HookPoint
from agent_ls.domain.messages import AssistantMessage
from agent_ls.domain.model_io import FinishReason
from agent_ls.domain.modes import Mode
from agent_ls.domain.phases import Phase
from agent_ls.domain.stops import StopReason, TurnStatus
from agent_ls.domain.usage import Usage

START_MS = 1_700_000_000_000
SESSION = "ses_00000000000000000000000001"
NASTY = "<script>alert(1)</script>\"'&</style></title>\u202e]]>"
"""What a hostile text tries in a page."""


class Journal:
    """Writes events down as time goes by."""

    def __init__(self) -> None:
        self.now_ms = START_MS
        self.stored: list[ev.StoredEvent] = []

    def add(self, after_ms: int, *events: ev.Event) -> None:
        """Let some time pass, then let these happen at once."""
        self.now_ms += after_ms
        for event in events:
            number = len(self.stored) + 1
            self.stored.append(
                ev.StoredEvent(session_id=SESSION, seq=number, at_ms=self.now_ms, event=event)
            )


def begun(prompt: str = "Fix it") -> Journal:
    """Return a session whose first turn has just begun."""
    journal = Journal()
    journal.add(
        0,
        ev.SessionCreated(
            session_id=SESSION, roots=("file:///shop",), mode=Mode.ASK, model="openai/x"
        ),
    )
    journal.add(10, ev.TurnStarted(turn_id="trn_1", prompt=prompt), ev.Moved(to=Phase.PREPARE))
    return journal


def asked(
    journal: Journal,
    number: int,
    *calls: ToolCall,
    text: str = "",
    usage: Usage | None = None,
    took_ms: int = 1_000,
    gap_ms: int = 5,
) -> None:
    """Let the model be asked and answer with these calls."""
    step_id = f"stp_{number}"
    prepared = ev.RequestPrepared(
        step_id=step_id, number=number, slots=("a",), estimated_tokens=900, messages=2 * number
    )
    journal.add(gap_ms, prepared, ev.Moved(to=Phase.CALL))
    used = usage or Usage(input_tokens=1_000, output_tokens=50, cache_read_tokens=800)
    finish = FinishReason.TOOL_CALLS if calls else FinishReason.STOP
    journal.add(
        took_ms,
        ev.AttemptFinished(
            step_id=step_id, finish=finish, usage=used, model="x-1", duration_ms=took_ms
        ),
        ev.Answered(step_id=step_id, message=AssistantMessage(text=text, calls=calls)),
        ev.Moved(to=Phase.ACT if calls else Phase.JUDGE),
    )


def call(number: int, tool: str, **arguments: object) -> ToolCall:
    return ToolCall(
        id=f"cal_{number}", provider_id=f"p{number}", tool=tool,
        arguments_json=json.dumps(arguments),
    )  # fmt: skip


def started(one: ToolCall, effect: Effect = Effect.READ) -> ev.ToolCallStarted:
    return ev.ToolCallStarted(
        call_id=one.id, tool=one.tool, effect=effect, arguments_json=one.arguments_json
    )


def finished(
    one: ToolCall, text: str = "fine", error: ErrorKind | None = None, took_ms: int = 3
) -> ev.ToolCallFinished:
    result = ToolResult(call_id=one.id, text=text, error=error, duration_ms=took_ms)
    return ev.ToolCallFinished(result=result)


def ended(journal: Journal, text: str = "Done.") -> None:
    journal.add(
        5,
        ev.Moved(to=Phase.DONE, stop=StopReason.COMPLETED),
        ev.TurnEnded(
            turn_id="trn_1", stop=StopReason.COMPLETED, status=TurnStatus.SUCCESS, output=text
        ),
    )


READ = call(1, "read_file", path="app.py")
SEARCH = call(2, "grep", pattern="total", path="src")
EDIT = call(3, "edit_file", path="app.py", edits=[{"old_string": "a", "new_string": "b"}])
COMMAND = call(4, "run_command", command="make deploy")
BLOBS = {"d1": b"a = 1\n", "d2": b"b = 1\n"}


def eventful() -> Journal:
    """Return a turn with two reads at once, a retry, an edit that was approved, a refusal."""
    journal = begun("Rename a to b\n\nEverywhere.")
    asked(journal, 1, READ, SEARCH, text="Let me look.")
    journal.add(0, ev.CallDecided(call_id="cal_1", decision="allow", origin="guards"))
    journal.add(0, started(READ), started(SEARCH))
    journal.add(200, finished(READ, took_ms=198))
    journal.add(100, finished(SEARCH, took_ms=290))
    journal.add(
        1,
        ev.HookRan(
            point=HookPoint.BEFORE_LLM_CALL, name="redact", outcome=HookOutcome.CHANGED,
            duration_ms=40, text="system prompt",
        ),
    )  # fmt: skip
    journal.add(
        6, ev.RequestPrepared(step_id="stp_2", number=2, estimated_tokens=1_000, messages=4)
    )
    journal.add(
        500,
        ev.AttemptFinished(
            step_id="stp_2", failure="rate_limited", message="slow down", duration_ms=500
        ),
        ev.RecoveryChosen(
            step_id="stp_2", origin="transport", action="retry", text="busy", wait_s=2
        ),
    )
    journal.add(
        3_000,
        ev.AttemptFinished(
            step_id="stp_2",
            finish=FinishReason.TOOL_CALLS,
            usage=Usage(input_tokens=2_000, output_tokens=70, reasoning_tokens=20, cost_usd=0.01),
            model="x-1",
            duration_ms=1_000,
        ),
        ev.Answered(
            step_id="stp_2",
            message=AssistantMessage(text="", reasoning="Rename it.", calls=(EDIT, COMMAND)),
        ),
    )
    _approved(journal)
    asked(journal, 3, text="Renamed `a`.")
    journal.add(
        10,
        ev.GateFailed(origin="compile", text="1 problem"),
        ev.NudgeAdded(origin="compile", text="1 problem"),
        ev.Moved(to=Phase.CHECK),
    )
    asked(journal, 4, text="Renamed `a`, and mended.")
    ended(journal, "Renamed `a`, and mended.")
    return journal


def _approved(journal: Journal) -> None:
    request = ApprovalRequest(
        id="apr_1", call_id="cal_3", turn_id="trn_1", tool="edit_file", reason="it edits",
        preview=Preview(title="Edit app.py", payload="-a\n+b"), digest="d", choices=(),
    )  # fmt: skip
    journal.add(1, ev.CallDecided(call_id="cal_3", decision="ask", origin="approval"))
    journal.add(0, ev.ApprovalRequested(request=request))
    journal.add(
        60_000,
        ev.ApprovalResolved(
            approval_id="apr_1",
            answer=ApprovalAnswer(
                choice=ApprovalChoice.ALLOW_SESSION, note="go on", by="code_action"
            ),
            grant="edit",
        ),
        started(EDIT, Effect.WRITE),
        ev.EditIntended(
            call_id="cal_3",
            edit=ChangeText(path="app.py", base_version="1", replacements=()),
            before_blob="d1",
        ),
    )
    finding = Finding(path="app.py", checker="ruff", code="F821", message="undefined `b`")
    journal.add(
        20,
        ev.EditApplied(
            call_id="cal_3", path="app.py", status="applied", after_blob="d2", added_lines=1,
            removed_lines=1,
        ),
        ev.FindingsReported(paths=("app.py",), findings=(finding,)),
        finished(EDIT, "Edited app.py.", took_ms=18),
    )  # fmt: skip
    journal.add(
        2,
        ev.CallDecided(
            call_id="cal_4", decision="deny", origin="command_guard", reason="it deploys"
        ),
        finished(COMMAND, "Denied: it deploys", ErrorKind.DENIED, 0),
    )


def long(steps: int, output_lines: int = 400) -> tuple[Journal, dict[str, bytes]]:
    """Return a session of so many steps, each with two reads and an edit, and its files."""
    journal = begun("A long job")
    blobs: dict[str, bytes] = {}
    output = "\n".join(f"line {number} of what a tool printed" for number in range(output_lines))
    for step in range(1, steps + 1):
        reads = [call(3 * step + at, "read_file", path=f"src/m{at}.py") for at in (0, 1)]
        edit = call(3 * step + 2, "write_file", path=f"src/new{step}.py", content="x")
        asked(journal, step, *reads, edit, text=f"Step {step}: I read two files and write one.")
        for one in reads:
            journal.add(1, started(one), finished(one, output))
        blob = f"b{step}"
        blobs[blob] = "".join(f"value_{n} = {n * step}\n" for n in range(200)).encode()
        journal.add(
            3,
            started(edit, Effect.WRITE),
            ev.EditIntended(
                call_id=edit.id, edit=CreateFile(path=f"src/new{step}.py", text="x"),
                before_blob=None,
            ),
            ev.EditApplied(
                call_id=edit.id, path=f"src/new{step}.py", status="applied", after_blob=blob,
                added_lines=200,
            ),
            finished(edit, "Created."),
        )  # fmt: skip
    ended(journal)
    return journal, blobs
