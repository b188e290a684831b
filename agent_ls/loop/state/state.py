"""The session state folded from events; only ``folding.fold`` changes it.

Frozen: whoever holds an old state keeps a consistent picture. It is never stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, TypeVar

from pydantic import JsonValue

from agent_ls.domain import events as e
from agent_ls.domain.approvals import ApprovalRequest, Question
from agent_ls.domain.calls import Effect, ToolCall, ToolResult
from agent_ls.domain.code_review import CodeReview
from agent_ls.domain.commands import TurnLimits
from agent_ls.domain.findings import Finding
from agent_ls.domain.goals import Goal
from agent_ls.domain.messages import AssistantMessage, Message, UserMessage
from agent_ls.domain.modes import Mode, strictest
from agent_ls.domain.phases import Phase
from agent_ls.domain.plans import PlanItem
from agent_ls.domain.stops import StopReason, TurnStatus
from agent_ls.domain.usage import Usage
from agent_ls.loop.state.event_log import EventLog
from agent_ls.loop.state.seen import Seen

_MAX_BY_OTHERS = 20
"""Limit of ``TouchedFile.changed_by_others``."""


@dataclass(frozen=True, slots=True)
class CallState:
    """The progress of one call of the current step."""

    call: ToolCall
    effect: Effect | None = None
    """Set when the call started: from then on it may have had an effect."""
    result: ToolResult | None = None


@dataclass(frozen=True, slots=True)
class TouchedFile:
    """One file the turn changed."""

    before_blob: str | None
    """The content before the turn's first change; None when there was no file."""
    after_blob: str | None
    """The content after the last applied edit; None when the file is gone."""
    changed_by_others: tuple[tuple[str, str], ...] = ()
    """Changes by others between the turn's edits: what one edit left, and what the next found."""

    def changed(self, found: str | None, after: str | None) -> TouchedFile:
        """Return the entry after one more change by the turn, from ``found`` to ``after``."""
        left = self.after_blob
        if left is None or found is None or left == found:
            return replace(self, after_blob=after)
        changed_by_others = (*self.changed_by_others, (left, found))[-_MAX_BY_OTHERS:]
        return TouchedFile(self.before_blob, after, changed_by_others)


@dataclass(frozen=True)
class TurnState:
    """One turn, running or ended."""

    turn_id: str
    prompt: str
    anchor: e.Anchor | None = None
    goal: Goal | None = None
    """None: an ordinary turn."""
    output_schema: dict[str, JsonValue] | None = None
    """JSON schema of the turn's output; None: any text."""
    limits: TurnLimits = TurnLimits()
    """What a custom command sets for the turn."""
    granted: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    """The rules that it grants until the turn ends, by the event that did."""
    phase: Phase = Phase.CHECK
    is_declined: bool = False
    """It was interrupted, and the user said that it is not to be resumed now."""
    stop: StopReason | None = None
    why: str = ""
    recovers: bool = False
    """COMPACT was entered to save budget."""
    text_only: bool = False
    """CHECK allowed the next step only without tools."""
    events: EventLog = field(default_factory=EventLog)
    """Every event of the turn in order; policies count these."""
    step_id: str = ""
    step_number: int = 0
    request: e.RequestPrepared | None = None
    """The request prepared last."""
    calls: tuple[CallState, ...] = ()
    """The calls of the last answer, in the order the model wrote them."""
    answer: AssistantMessage | None = None
    reasks: tuple[UserMessage, ...] = ()
    """Messages for the model in the next attempt of this step only."""
    partial_text: str = ""
    """Earlier pieces of an answer that is being continued."""
    model: str = ""
    """The model that replaces the session's model: a custom command's, or another while that one
    fails; empty: none."""
    touched: Mapping[str, TouchedFile] = field(default_factory=lambda: MappingProxyType({}))
    intents: Mapping[str, e.EditIntended] = field(default_factory=lambda: MappingProxyType({}))
    """By path: edits that were started and have no outcome yet."""
    usage: Usage = Usage()
    proposals: tuple[e.PlanProposed, ...] = ()
    """Proposed plans without a decision, in call order."""
    allowed_calls: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """By id: plan calls that the user approved, with the digest of the preview shown."""
    released_calls: frozenset[str] = frozenset()
    """Plan calls that the user wants to approve one by one."""
    due_calls: tuple[ToolCall, ...] = ()
    """Approved plan calls that ACT has not taken over yet."""
    final_output: e.FinalOutputGiven | None = None
    ended: e.TurnEnded | None = None

    @property
    def open_calls(self) -> tuple[CallState, ...]:
        """Return the calls without a result."""
        return tuple(state for state in self.calls if state.result is None)

    @property
    def review(self) -> CodeReview | None:
        """Return the result of a review of code; None for any other turn, and before the end."""
        if self.limits.output != "review" or self.final_output is None:
            return None
        return CodeReview.model_validate(self.final_output.value)


S = TypeVar("S", "TurnState", "SessionState")


def with_changes(state: S, **changes: Any) -> S:
    """Return the state with other values of these fields.

    ``dataclasses.replace`` looks at each of thirty fields, several times for each event: the second
    that this takes for a long journal is what the user waits for when a session is opened again.
    """
    made = object.__new__(type(state))
    fields = made.__dict__
    fields.update(state.__dict__)
    known = len(fields)
    fields.update(changes)
    if len(fields) != known:
        raise TypeError(f"{type(state).__name__} has not all of {', '.join(changes)}")
    return made


@dataclass(frozen=True, slots=True)
class BackgroundProgram:
    """A program that goes on when its call has ended."""

    started: e.BackgroundStarted
    ended: e.BackgroundEnded | None = None
    """None while it runs."""
    read_bytes: int = 0
    """How much of its output the model has read."""
    is_told: bool = False
    """The model was told of its end, or has read its output since."""


@dataclass(frozen=True)
class SessionState:
    """The state of one session."""

    session_id: str = ""
    roots: tuple[str, ...] = ()
    mode: Mode = Mode.ASK
    model: str = ""
    effort: str = ""
    """How much the model thinks; empty: what ``loop.reasoning_effort`` says."""
    is_child: bool = False
    """Whether this is a sub-agent's session."""
    is_dry_run: bool = False
    """Whether its changes and commands are only simulated."""
    agent: str = ""
    """The kind of sub-agent; empty for a user's session."""
    seq: int = 0
    messages: tuple[Message, ...] = ()
    """The conversation as it is sent, after compactions."""
    prefix: e.PrefixSet | None = None
    turn: TurnState | None = None
    """The running turn, or the last one."""
    turns: int = 0
    earlier_results: int = 0
    """How many calls of earlier turns have a result."""
    past_calls: frozenset[str] = frozenset()
    """Calls of earlier turns' last steps: what comes of them late is not the running turn's."""
    title: str = ""
    usage: Usage = Usage()
    plan: tuple[PlanItem, ...] = ()
    outputs: tuple[e.OutputStored, ...] = ()
    """Values that calls stored at state paths, oldest first."""
    background: Mapping[str, BackgroundProgram] = field(
        default_factory=lambda: MappingProxyType({})
    )
    """Background programs by name, oldest first; those that ended stay until a name is reused."""
    seen: Seen = field(default_factory=lambda: MappingProxyType({}))
    """The text of each file as the model knows it."""
    grants: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    """Grants for the session, each with the number of the event that gave it."""
    changed_at: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    """By path: the number of the newest event by which a call changed the file, or may have."""
    always: frozenset[str] = frozenset()
    """Grants backed by a stored rule; they end with that rule."""
    revoked: frozenset[str] = frozenset()
    """Rules that do not apply in this session until the user grants them again."""
    silenced: frozenset[str] = frozenset()
    without_images: frozenset[str] = frozenset()
    """Models that have refused to take images."""
    queue: tuple[e.PromptQueued, ...] = ()
    is_compaction_asked: bool = False
    """Whether the user asked to shorten the conversation and that has not been tried yet."""
    approvals: Mapping[str, ApprovalRequest] = field(default_factory=lambda: MappingProxyType({}))
    """Pending approvals, oldest first."""
    questions: Mapping[str, Question] = field(default_factory=lambda: MappingProxyType({}))
    """Pending questions, oldest first."""
    findings: Mapping[str, tuple[Finding, ...]] = field(
        default_factory=lambda: MappingProxyType({})
    )
    """The last findings of the checkers, by path; clean files are absent."""
    fixed_findings: Mapping[str, tuple[Finding, ...]] = field(
        default_factory=lambda: MappingProxyType({})
    )
    """Earlier findings that the last ones no longer have, by path: an undo may bring them back."""

    @property
    def mode_of_turn(self) -> Mode:
        """Return the mode that holds in the turn: the session's, unless a command is stricter."""
        most = self.turn.limits.mode if self.turn else None
        return self.mode if most is None else strictest(self.mode, most)

    @property
    def is_running(self) -> bool:
        """Say whether a turn has begun and not ended."""
        return self.turn is not None and self.turn.ended is None

    @property
    def status(self) -> TurnStatus | None:
        """Return the last turn's status; None before the first turn."""
        if self.turn is None:
            return None
        if self.turn.ended is not None:
            return self.turn.ended.status
        return TurnStatus.WAITING if self.approvals or self.questions else TurnStatus.RUNNING


def renamed_path(path: str, event: e.FileRenamed) -> str:
    """Return a path after a rename of it or of a folder above it; unchanged for any other."""
    if path == event.path or path.startswith(f"{event.path}/"):
        return event.new_path + path.removeprefix(event.path)
    return path
