"""What a session did, step by step: the data behind the trace, the report and spans.

Only data types; ``tracing.py`` fills them from a journal. Times are wall-clock milliseconds since
1970; if the clock was set back, a duration is 0.
Source: S3, "LoopTrace": input summary, hook latency, finish reason, for each round.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from agent_ls.domain.findings import Finding
from agent_ls.domain.plans import PlanItem
from agent_ls.domain.usage import Usage


@dataclass(slots=True)
class Span:
    """When something began and ended."""

    started_ms: int
    ended_ms: int | None = None
    """None while it runs, or if its process died."""

    @property
    def duration_ms(self) -> int:
        """Return how long it took; 0 while it runs."""
        return 0 if self.ended_ms is None else max(0, self.ended_ms - self.started_ms)


@dataclass(slots=True)
class WaitTrace(Span):
    """A wait of the turn for the user's answer."""

    id: str = ""
    kind: Literal["approval", "question"] = "approval"
    title: str = ""
    reason: str = ""
    asked_by: str = ""
    """The tool, or the policy that asks."""
    call_id: str = ""
    answer: str = ""
    """The choice or the text; empty until answered."""
    answered_by: str = ""
    note: str = ""
    grant: str = ""


@dataclass(slots=True)
class EditTrace:
    """One file that one call changed."""

    path: str
    kind: str
    new_path: str = ""
    before_blob: str | None = None
    after_blob: str | None = None
    status: str = "intended"
    """``intended`` if the outcome is unknown."""
    reason: str = ""
    added_lines: int = 0
    removed_lines: int = 0
    is_by_command: bool = False
    """A command made the change, so its lines were not counted."""
    is_before_known: bool = True


@dataclass(slots=True)
class CallTrace:
    """One tool call."""

    call_id: str
    tool: str
    arguments_json: str = ""
    effect: str = ""
    decision: str = ""
    decided_by: str = ""
    reason: str = ""
    run: Span | None = None
    """None if the call never started."""
    duration_ms: int = 0
    """Of the tool itself; a read may have run while the model still streamed."""
    finished_ms: int | None = None
    """When its result was recorded; set for denied calls too."""
    error: str = ""
    bad_exit: str = ""
    """How a command failed, such as ``exit code 3``; else empty."""
    not_run: str = ""
    """``skipped``, ``queued`` or ``dry run``; else empty."""
    text: str = ""
    edits: list[EditTrace] = field(default_factory=list[EditTrace])
    findings: list[Finding] = field(default_factory=list[Finding])

    @property
    def outcome(self) -> str:
        """Return ``open``, else what ``ToolResult.outcome`` says."""
        if self.finished_ms is None:
            return "open"
        return self.error or self.bad_exit or self.not_run or "ok"

    @property
    def has_failed(self) -> bool:
        """Say whether it has an error or a bad exit code; a call that did not run has neither."""
        return bool(self.error or self.bad_exit)


@dataclass(slots=True)
class AttemptTrace(Span):
    """One request to the provider."""

    finish: str = ""
    failure: str = ""
    message: str = ""
    model: str = ""
    usage: Usage = field(default_factory=Usage)
    recovery: str = ""
    """The recovery chosen, such as ``transport: retry``; empty if it was accepted."""
    recovery_text: str = ""
    wait_s: float = 0.0


@dataclass(slots=True)
class InputSummary:
    """Size and parts of the request sent to the model."""

    messages: int = 0
    estimated_tokens: int = 0
    slots: tuple[str, ...] = ()
    text_only: bool = False


@dataclass(slots=True)
class HookTrace(Span):
    """One hook that ran."""

    name: str = ""
    moment: str = ""
    """Such as ``before_llm_call``."""
    outcome: str = ""
    text: str = ""
    call_id: str = ""


@dataclass(slots=True)
class SideTrace(Span):
    """Work for the turn by a side model or a sub-agent; its usage counts for the turn."""

    kind: Literal["advice", "child"] = "advice"
    origin: str = ""
    """The policy that asked, or the kind of sub-agent."""
    model: str = ""
    task: str = ""
    text: str = ""
    failure: str = ""
    call_id: str = ""
    """The call that started a sub-agent."""
    session_id: str = ""
    """The sub-agent's session, which has a trace of its own."""
    steps: int = 0
    usage: Usage = field(default_factory=Usage)


@dataclass(slots=True)
class StepTrace(Span):
    """One step."""

    step_id: str = ""
    number: int = 0
    asked_model: str = ""
    input: InputSummary = field(default_factory=InputSummary)
    attempts: list[AttemptTrace] = field(default_factory=list[AttemptTrace])
    hooks: list[HookTrace] = field(default_factory=list[HookTrace])
    calls: list[CallTrace] = field(default_factory=list[CallTrace])
    text: str = ""
    reasoning: str = ""
    is_answered: bool = False
    is_closing: bool = False
    """The request for a turn's closing answer, which counts towards no step limit."""
    gap_ms: int = 0
    """From the end of the step before to this request: the machine's own time."""

    @property
    def finish(self) -> str:
        """Return the last attempt's finish reason or failure."""
        last = self.attempts[-1] if self.attempts else None
        return (last.finish or last.failure) if last else ""

    @property
    def model(self) -> str:
        """Return the model that answered last."""
        return self.attempts[-1].model if self.attempts else ""

    @property
    def usage(self) -> Usage:
        """Return the usage of all attempts."""
        return sum((one.usage for one in self.attempts), Usage())

    @property
    def hooks_ms(self) -> int:
        """Return the total time of the step's hooks."""
        return sum(one.duration_ms for one in self.hooks)


@dataclass(slots=True)
class Note:
    """Something the machine or the user did outside the steps."""

    at_ms: int
    kind: str
    """``gate``, ``nudge``, ``advisory``, ``compaction``, ``steer``, ``findings``, …"""
    origin: str = ""
    text: str = ""
    findings: tuple[Finding, ...] = ()


@dataclass(slots=True)
class PhaseTrace(Span):
    """One stay in one phase of the machine."""

    phase: str = ""


@dataclass(slots=True)
class TurnTrace(Span):
    """One turn."""

    turn_id: str = ""
    prompt: str = ""
    model: str = ""
    """The session's model when the turn began."""
    items: list[StepTrace | Note | WaitTrace | SideTrace] = field(
        default_factory=list[StepTrace | Note | WaitTrace | SideTrace]
    )
    """In the order they began."""
    phases: list[PhaseTrace] = field(default_factory=list[PhaseTrace])
    plan: tuple[PlanItem, ...] = ()
    status: str = "running"
    stop: str = ""
    output: str = ""
    failure_reason: str = ""
    open_tasks: tuple[str, ...] = ()

    @property
    def steps(self) -> list[StepTrace]:
        """Return the steps in order."""
        return [one for one in self.items if isinstance(one, StepTrace)]

    @property
    def calls(self) -> list[CallTrace]:
        """Return the calls of all steps."""
        return [call for step in self.steps for call in step.calls]

    @property
    def waits(self) -> list[WaitTrace]:
        """Return the turn's approvals and questions."""
        return [one for one in self.items if isinstance(one, WaitTrace)]

    @property
    def notes(self) -> list[Note]:
        """Return the turn's notes."""
        return [one for one in self.items if isinstance(one, Note)]

    @property
    def sides(self) -> list[SideTrace]:
        """Return the work of side models and sub-agents."""
        return [one for one in self.items if isinstance(one, SideTrace)]

    @property
    def usage(self) -> Usage:
        """Return the usage of all steps, side models and sub-agents."""
        return sum((one.usage for one in (*self.steps, *self.sides)), Usage())


@dataclass(slots=True)
class SessionTrace:
    """One session."""

    session_id: str = ""
    roots: tuple[str, ...] = ()
    mode: str = ""
    model: str = ""
    is_dry_run: bool = False
    turns: list[TurnTrace] = field(default_factory=list[TurnTrace])

    @property
    def usage(self) -> Usage:
        """Return the usage of all turns."""
        return sum((one.usage for one in self.turns), Usage())
