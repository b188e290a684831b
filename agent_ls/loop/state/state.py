"""What the events of a session add up to; ``folding.fold`` is the only way it changes.

Frozen: a holder of an old state keeps a consistent picture. Nothing here is stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from pydantic import JsonValue

from agent_ls.domain import events as e
from agent_ls.domain.approvals import ApprovalRequest, Question
from agent_ls.domain.calls import Effect, ToolCall, ToolResult
from agent_ls.domain.findings import Finding
from agent_ls.domain.goals import Goal
from agent_ls.domain.messages import AssistantMessage, Message, UserMessage
from agent_ls.domain.modes import Mode
from agent_ls.domain.phases import Phase
from agent_ls.domain.plans import PlanItem
from agent_ls.domain.stops import StopReason, TurnStatus
from agent_ls.domain.usage import Usage
from agent_ls.loop.state.event_log import EventLog
from agent_ls.loop.state.seen import Seen

_MAX_BY_OTHERS = 20
"""Changes by others, to one file in one turn, that are kept apart from its own."""


@dataclass(frozen=True, slots=True)
class CallState:
    """Where one call of the current step stands."""

    call: ToolCall
    effect: Effect | None = None
    """Set once it started: from then on it may have had an effect."""
    result: ToolResult | None = None


@dataclass(frozen=True, slots=True)
class TouchedFile:
    """One file the turn changed through us."""

    before_blob: str | None
    """The bytes before the turn's first touch; None when it did not exist."""
    after_blob: str | None
    """The bytes after the last applied edit; None when it is gone."""
    by_others: tuple[tuple[str, str], ...] = ()
    """What others changed between the turn's edits: what one had left, and what the next found."""

    def changed(self, found: str | None, after: str | None) -> TouchedFile:
        """Return what is known after one more change by the turn, of these bytes to those."""
        left = self.after_blob
        if left is None or found is None or left == found:
            return replace(self, after_blob=after)
        by_others = (*self.by_others, (left, found))[-_MAX_BY_OTHERS:]
        return TouchedFile(self.before_blob, after, by_others)


@dataclass(frozen=True, slots=True)
class TurnState:
    """One turn, running or ended."""

    turn_id: str
    prompt: str
    anchor: e.Anchor | None = None
    goal: Goal | None = None
    """None: an ordinary turn."""
    output_schema: dict[str, JsonValue] | None = None
    """What the turn's output must fit; None: any text will do."""
    phase: Phase = Phase.CHECK
    stop: StopReason | None = None
    why: str = ""
    recovers: bool = False
    """COMPACT was entered to save the rest of the budget."""
    text_only: bool = False
    """CHECK allowed the coming step only without tools."""
    events: EventLog = field(default_factory=EventLog)
    """Every event since the prompt, in order: policies count these."""
    step_id: str = ""
    step_number: int = 0
    request: e.RequestPrepared | None = None
    """The one that was prepared last."""
    calls: tuple[CallState, ...] = ()
    """Those of the last answer, in the order the model wrote them."""
    answer: AssistantMessage | None = None
    reasks: tuple[UserMessage, ...] = ()
    """Told to the model in the next attempt of this step only."""
    partial_text: str = ""
    """Text of earlier pieces of an answer that is being continued."""
    model: str = ""
    """Who is asked instead of the session's model, while that one fails."""
    touched: Mapping[str, TouchedFile] = field(default_factory=lambda: MappingProxyType({}))
    intents: Mapping[str, e.EditIntended] = field(default_factory=lambda: MappingProxyType({}))
    """By path: edits that were begun and have no outcome yet."""
    usage: Usage = Usage()
    proposals: tuple[e.PlanProposed, ...] = ()
    """Of plans that nothing was decided on yet, in the order the calls were made."""
    allowed_calls: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """By id: calls of a plan that the person allowed, with the digest of what they were shown."""
    released_calls: frozenset[str] = frozenset()
    """Calls of a plan that the person wants to be asked about one by one."""
    due_calls: tuple[ToolCall, ...] = ()
    """Calls of a decided plan that ACT has not taken over yet."""
    final_output: e.FinalOutputGiven | None = None
    ended: e.TurnEnded | None = None

    @property
    def open_calls(self) -> tuple[CallState, ...]:
        """Return the calls that have no result yet."""
        return tuple(state for state in self.calls if state.result is None)


@dataclass(frozen=True, slots=True)
class SessionState:
    """One session."""

    session_id: str = ""
    roots: tuple[str, ...] = ()
    mode: Mode = Mode.ASK
    model: str = ""
    is_child: bool = False
    """Whether another agent gave it its task."""
    is_dry_run: bool = False
    """Whether its changes and commands are only made up."""
    agent: str = ""
    """The kind of sub-agent whose session it is; empty for a person's."""
    seq: int = 0
    messages: tuple[Message, ...] = ()
    """The conversation as it is sent, compactions carried out."""
    prefix: e.PrefixSet | None = None
    turn: TurnState | None = None
    """The running turn, or the last one."""
    turns: int = 0
    title: str = ""
    usage: Usage = Usage()
    plan: tuple[PlanItem, ...] = ()
    outputs: tuple[e.OutputStored, ...] = ()
    """What calls left at state paths, oldest first."""
    seen: Seen = field(default_factory=lambda: MappingProxyType({}))
    """The texts that the model goes by."""
    grants: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    """What a person allowed for the session, each with the number of the event that said so."""
    changed_at: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    """By path: the number of the newest event that says that a call changed it, or may have."""
    always: frozenset[str] = frozenset()
    """Those of the grants that are written down, and hold for as long as they are."""
    revoked: frozenset[str] = frozenset()
    """Rules that do not hold in this session until the person says so again."""
    silenced: frozenset[str] = frozenset()
    queue: tuple[e.PromptQueued, ...] = ()
    approvals: Mapping[str, ApprovalRequest] = field(default_factory=lambda: MappingProxyType({}))
    """Pending ones, oldest first."""
    questions: Mapping[str, Question] = field(default_factory=lambda: MappingProxyType({}))
    """Pending ones, oldest first."""
    findings: Mapping[str, tuple[Finding, ...]] = field(
        default_factory=lambda: MappingProxyType({})
    )
    """What the checkers last said, by path; clean files are absent."""

    @property
    def is_running(self) -> bool:
        """Say whether a turn has begun and not ended."""
        return self.turn is not None and self.turn.ended is None

    @property
    def status(self) -> TurnStatus | None:
        """Return how the last turn stands; None before the first."""
        if self.turn is None:
            return None
        if self.turn.ended is not None:
            return self.turn.ended.status
        return TurnStatus.WAITING if self.approvals or self.questions else TurnStatus.RUNNING
