"""Everything that can happen in a session: one closed, tagged, versioned union.

Stored events are the truth; state is a fold of them (``loop/state/folding.py``).
Ephemeral ones (text as it streams) are published and never stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, JsonValue, TypeAdapter

from agent_ls.domain.agents import AgentReport
from agent_ls.domain.approvals import ApprovalAnswer, ApprovalRequest, Question, QuestionAnswer
from agent_ls.domain.calls import Effect, ToolResult
from agent_ls.domain.edits import FileEdit
from agent_ls.domain.findings import Finding
from agent_ls.domain.focus import Focus
from agent_ls.domain.goals import Goal, Proof
from agent_ls.domain.hooks import HookOutcome, HookPoint
from agent_ls.domain.images import Images, PutImage
from agent_ls.domain.messages import AssistantMessage
from agent_ls.domain.model_io import FinishReason, ModelRole
from agent_ls.domain.modes import Mode
from agent_ls.domain.phases import Phase
from agent_ls.domain.plain_json import PlainJson
from agent_ls.domain.plans import PlanItem, ProposedCall
from agent_ls.domain.record import Record
from agent_ls.domain.review import ReviewDecision
from agent_ls.domain.stops import StopReason, TurnStatus
from agent_ls.domain.usage import Usage


class _Event(Record):
    v: int = 1
    """The version of this kind's shape; the store migrates older ones when it loads them."""


class SessionCreated(_Event):
    """A session came to be."""

    type: Literal["session_created"] = "session_created"
    session_id: str
    roots: tuple[str, ...]
    """Sorted root URIs."""
    mode: Mode
    model: str
    agent: str = ""
    """The kind of sub-agent this is; empty for a session of a person's."""
    parent_id: str = ""
    """The session whose agent started it; empty for a session of a person's."""
    parent_call_id: str = ""
    """The call that did."""
    grants: tuple[str, ...] = ()
    """What a person had allowed that session by then."""
    revoked: tuple[str, ...] = ()
    """Which rules did not hold in it any more."""
    forked_from: str = ""
    """The session it branched off from; empty for one that began by itself."""
    forked_at: int = 0
    """The last event of that session that it shares."""
    dry_run: bool = False
    """Nothing of it was really done: its changes and commands were only made up."""


class SessionResumed(_Event):
    """A session with an unfinished turn was loaded and repaired after its process died."""

    type: Literal["session_resumed"] = "session_resumed"
    interrupted_calls: tuple[str, ...] = ()
    changed_files: tuple[str, ...] = ()
    """Files that are not as the turn's changes left them: unsaved text died with the editor."""


class ModeChanged(_Event):
    """The person switched the permission mode."""

    type: Literal["mode_changed"] = "mode_changed"
    mode: Mode


class ModelChanged(_Event):
    """The person switched the model."""

    type: Literal["model_changed"] = "model_changed"
    model: str


class PolicySilenced(_Event):
    """The person told one policy to leave this session alone."""

    type: Literal["policy_silenced"] = "policy_silenced"
    origin: str


class Anchor(Record):
    """Where in the workspace the prompt was asked, for faces that show things in place."""

    path: str
    line: int


class PromptQueued(_Event):
    """A prompt came while a turn ran: it steers that turn, or waits for its end."""

    type: Literal["prompt_queued"] = "prompt_queued"
    text: str
    kind: Literal["steer", "follow_up"]
    anchor: Anchor | None = None
    """Of a prompt that waits for the end, as are the others."""
    goal: Goal | None = None
    output_schema: dict[str, JsonValue] | None = None
    focus: Focus | None = None


class TurnStarted(_Event):
    """A prompt began a turn."""

    type: Literal["turn_started"] = "turn_started"
    turn_id: str
    prompt: str
    anchor: Anchor | None = None
    goal: Goal | None = None
    """Makes it a goal turn: what must be true in the end, and how that is proven."""
    output_schema: dict[str, JsonValue] | None = None
    """A JSON schema: the turn ends with an object that fits it."""
    focus: Focus | None = None
    """Where the person was in the editor."""


class PrefixSet(_Event):
    """The unchanging front of every request: system prompt and tool list."""

    type: Literal["prefix_set"] = "prefix_set"
    system: str
    tools: tuple[str, ...]
    made_of: str = ""
    """Hash of what it was made from, to tell whether it must be made anew."""
    unhooked: str | None = None
    """The system prompt before hooks changed it; None when none did."""
    nested_rules: tuple[str, ...] = ()
    """Rule files below the folders' own; later turns look whether their texts are the same."""
    reason: str
    """``first``, or what changed: announced, because it costs the provider's cache."""


class Moved(_Event):
    """The machine went from one phase to the next."""

    type: Literal["moved"] = "moved"
    to: Phase
    stop: StopReason | None = None
    """Set on the way to CLOSE and DONE."""
    why: str = ""
    text_only: bool = False
    """On the way to PREPARE: the next request may not call tools."""
    recovers: bool = False
    """On the way to COMPACT: to save the rest of the budget, not to make room."""


class AdvisoryRaised(_Event):
    """A check has something to tell the model once; goes into a slot, is never kept."""

    type: Literal["advisory_raised"] = "advisory_raised"
    origin: str
    text: str
    priority: int


class RequestPrepared(_Event):
    """What the next request carries behind the conversation."""

    type: Literal["request_prepared"] = "request_prepared"
    step_id: str
    number: int
    """1 for the first step of the turn."""
    slots: tuple[str, ...] = ()
    text_only: bool = False
    estimated_tokens: int = 0
    messages: int = 0
    """How many of the conversation it sends; 0: not recorded."""
    window_tokens: int = 0
    """How much the model can take at once; 0: unknown."""


class AttemptFinished(_Event):
    """One provider request ended, well or badly."""

    type: Literal["attempt_finished"] = "attempt_finished"
    step_id: str
    finish: FinishReason | None = None
    """None when it failed."""
    failure: str | None = None
    """A ``ProviderFailure`` word."""
    message: str = ""
    usage: Usage = Usage()
    model: str = ""
    duration_ms: int = 0


INTERRUPTED = "interrupted"
"""The origin of a ``continue`` by no recovery: the process ended while the model answered."""
STOPPED = "stopped"
"""The origin of a ``continue`` by no recovery: the person stopped the turn in that answer."""


class RecoveryChosen(_Event):
    """A recovery decided what to do with an unusable attempt."""

    type: Literal["recovery_chosen"] = "recovery_chosen"
    step_id: str
    origin: str
    action: str
    """``retry``, ``reask``, ``continue``, ``promote``, ``accept_partial``, ``take_calls``,
    ``switch_model``, ``compact``, ``fail_step`` or ``fail``.
    """
    text: str = ""
    """What the model is told, for ``reask`` and ``continue``; words for a person otherwise."""
    partial: str = ""
    """The text so far, kept in the conversation, for ``continue``."""
    wait_s: float = 0.0
    model: str = ""
    """Who is asked from here on, for ``switch_model``."""
    stop: StopReason | None = None
    """Why the turn ends, for ``fail``."""


class Answered(_Event):
    """An attempt was accepted as the step's answer."""

    type: Literal["answered"] = "answered"
    step_id: str
    message: AssistantMessage
    is_partial: bool = False
    origin: Literal["model", "plan"] = "model"
    """``plan``: nobody answered, the machine carries out what was approved of a plan."""


class NudgeAdded(_Event):
    """The machine wrote a message to the model; kept in the conversation."""

    type: Literal["nudge_added"] = "nudge_added"
    origin: str
    text: str


class GateFailed(_Event):
    """A gate did not accept the answer."""

    type: Literal["gate_failed"] = "gate_failed"
    origin: str
    text: str
    """For the person; what the model is told is in ``NudgeAdded``."""
    instead: str = ""
    """What the turn gives in place of this answer if it ends here."""


class GoalCommandStarted(_Event):
    """The durable intent to run a command of the goal; ``GoalChecked`` says what came of it."""

    type: Literal["goal_command_started"] = "goal_command_started"
    command: str


class GoalChecked(_Event):
    """Commands or criteria of the turn's goal were looked at; later changes undo what it says."""

    type: Literal["goal_checked"] = "goal_checked"
    origin: str
    proofs: tuple[Proof, ...]


class FindingsReported(_Event):
    """What the checkers say now of the files that this turn changed; replaces what they said."""

    type: Literal["findings_reported"] = "findings_reported"
    paths: tuple[str, ...]
    """The files that were looked at; those without findings are clean now."""
    findings: tuple[Finding, ...] = ()
    problems: tuple[str, ...] = ()
    unanswered: tuple[str, ...] = ()
    """Checkers that still look: what they find is reported when they are done."""


class CallDecided(_Event):
    """The guards' verdict on one call; the audit's row, written for denied calls too."""

    type: Literal["call_decided"] = "call_decided"
    call_id: str
    decision: Literal["allow", "ask", "deny", "defer"]
    origin: str
    """The guard that decided, or ``guards`` when none objected."""
    reason: str = ""
    effect: Effect | None = None
    """What the call would do; None when it was not even looked at."""


class ApprovalRequested(_Event):
    """A call waits for a person."""

    type: Literal["approval_requested"] = "approval_requested"
    request: ApprovalRequest


class ApprovalResolved(_Event):
    """A person, or nobody, answered; settles the request for every face."""

    type: Literal["approval_resolved"] = "approval_resolved"
    approval_id: str
    answer: ApprovalAnswer
    grant: str | None = None
    """The rule that holds for the rest of the session, for ``allow_session``."""


class QuestionAsked(_Event):
    """The turn waits for a person's words."""

    type: Literal["question_asked"] = "question_asked"
    question: Question


class QuestionResolved(_Event):
    """The question was answered, or nobody can."""

    type: Literal["question_resolved"] = "question_resolved"
    question_id: str
    answer: QuestionAnswer


class ToolCallStarted(_Event):
    """The durable intent: from here on the call may have had an effect."""

    type: Literal["tool_call_started"] = "tool_call_started"
    call_id: str
    tool: str
    effect: Effect
    paths: tuple[str, ...] = ()
    arguments_json: str = ""
    """As it really runs: references resolved, amendments and hooks applied."""


class EditIntended(_Event):
    """The durable intent of one file edit, with the exact text before it."""

    type: Literal["edit_intended"] = "edit_intended"
    call_id: str
    edit: FileEdit
    before_blob: str | None
    """Digest of the bytes before, in the blob store; None when the file did not exist."""
    before_mode: int | None = None
    """The permissions of a file that goes from its path; None: not known, or it stays."""
    place: str = ""
    """The file itself where the path has another name for it, such as a link; else empty."""
    new_place: str = ""
    """The same of where it moves to."""
    takes_back: bool = False
    """Only in journals of earlier versions: it undoes an earlier edit of the call."""


class EditApplied(_Event):
    """The outcome of one file edit."""

    type: Literal["edit_applied"] = "edit_applied"
    call_id: str
    path: str
    status: Literal["applied", "stale", "refused", "unconfirmed"]
    reason: str = ""
    after_blob: str | None = None
    after_mode: int | None = None
    """The permissions of a file that was made; None: not known, or it was there."""
    added_lines: int = 0
    removed_lines: int = 0
    takes_back: bool = False
    """As of ``EditIntended``."""


class ReviewDecided(_Event):
    """The person decided about changes of the agent's in one file of a turn.

    With an ``edit`` it is the durable intent of that edit, and holds when ``ReviewApplied`` says
    that it was applied.
    """

    type: Literal["review_decided"] = "review_decided"
    review_id: str
    decision: ReviewDecision
    turn_id: str
    path: str
    hunks: tuple[str, ...] = ()
    """Empty for ``restore``: all that this turn and later ones changed in the file."""
    call_id: str = ""
    """For ``restore``: only what this call of the turn and everything after it changed."""
    edit: FileEdit | PutImage | None = None
    before_blob: str | None = None
    """The bytes before the edit; None when there was no file, or there is no edit."""
    before_mode: int | None = None
    """As of ``EditIntended``."""


class ReviewApplied(_Event):
    """The outcome of an edit that undoes, redoes or restores."""

    type: Literal["review_applied"] = "review_applied"
    review_id: str
    path: str
    status: Literal["applied", "stale", "refused", "unconfirmed"]
    reason: str = ""
    after_blob: str | None = None


class FileRenamed(_Event):
    """The person renamed a file with changes of the agent's or findings, or a folder with such."""

    type: Literal["file_renamed"] = "file_renamed"
    path: str
    new_path: str


class ToolCallFinished(_Event):
    """The one result of one call."""

    type: Literal["tool_call_finished"] = "tool_call_finished"
    result: ToolResult
    effect: Effect = Effect.READ
    """Of the call, ``READ`` too for one that never started."""
    met: tuple[str, ...] = ()
    """What is at each path of a call that failed: the version of the text, or why there is none.
    Empty: not looked at.
    """


class HookRan(_Event):
    """A hook of the user's was asked."""

    type: Literal["hook_ran"] = "hook_ran"
    point: HookPoint
    name: str
    outcome: HookOutcome
    duration_ms: int = 0
    text: str = ""
    """Why it blocked or failed, or what it changed; for a person."""
    call_id: str = ""
    """The call it was asked about; empty for model requests."""

    @property
    def did(self) -> str:
        """Return what came of it in a person's words: a check after an edit blocks nothing."""
        if self.point is HookPoint.POST_EDIT and self.outcome is HookOutcome.BLOCKED:
            return "found something"
        return self.outcome.value.replace("_", " ")


class ChildStarted(_Event):
    """A sub-agent was started; it has a session, and a journal, of its own."""

    type: Literal["child_started"] = "child_started"
    call_id: str
    child_id: str
    """Its session."""
    kind: str
    task: str
    mode: Mode
    max_tokens: int = 0
    """What of the turn's budget it may spend; 0: no limit."""
    max_cost_usd: float = 0.0


class ChildFile(Record):
    """One file that a sub-agent changed."""

    path: str
    before_blob: str | None
    """The bytes before its first touch; None when it did not exist."""
    after_blob: str | None
    """The bytes it left; None when it is gone."""


class ChildEnded(_Event):
    """A sub-agent is over; what it spent and changed counts for this turn too."""

    type: Literal["child_ended"] = "child_ended"
    call_id: str
    child_id: str
    kind: str
    stop: StopReason
    why: str = ""
    report: AgentReport = AgentReport()
    steps: int = 0
    usage: Usage = Usage()
    files: tuple[ChildFile, ...] = ()
    simulated: tuple[str, ...] = ()
    """What a dry run left out, in order; of its own sub-agents too."""


class CommandChanged(_Event):
    """A command changed, made or removed a file of the project."""

    type: Literal["command_changed"] = "command_changed"
    call_id: str
    path: str
    before_blob: str | None = None
    """None: there was no file, or what it held is not known."""
    after_blob: str | None = None
    """None: it is gone, or what it holds was not kept."""
    before_mode: int | None = None
    after_mode: int | None = None
    """The permissions; None: not known, or no file. With ``images`` those say it."""
    is_before_known: bool = True
    images: Images | None = None
    """Both sides where one of them is no text, or too large for one."""

    @property
    def is_gone(self) -> bool:
        """Say whether the command took the file away."""
        return self.after_blob is None if self.images is None else self.images[1] is None

    @property
    def is_new(self) -> bool:
        """Say whether there was no file before."""
        if self.images is not None:
            return self.images[0] is None
        return self.is_before_known and self.before_blob is None


class CommandChangesLeftOut(_Event):
    """A command changed more files than are recorded of one; of the rest only the number is."""

    type: Literal["command_changes_left_out"] = "command_changes_left_out"
    call_id: str
    recorded_files: int
    left_files: int
    left_new_files: int
    """Those of ``left_files`` that were not there before."""

    @property
    def text(self) -> str:
        """Return it in words, for the model and for a person."""
        total = self.recorded_files + self.left_files
        return (
            f"The command changed {total} files, of which {self.recorded_files} are under review. "
            f"The other {self.left_files} are not, {self.left_new_files} of them new: an undo "
            "leaves them as they are."
        )


OutputMethod = Literal["set", "merge", "assign", "push", "concat"]
"""How a value joins what is at its path already."""


class OutputStored(_Event):
    """A call left its result at a path, where later calls can refer to it."""

    type: Literal["output_stored"] = "output_stored"
    call_id: str
    path: tuple[str, ...]
    """Kind, then keys."""
    method: OutputMethod = "set"
    value: PlainJson = None
    replaces: str | None = None
    """The call of the same answer whose value at this path it overwrote: their order was open."""


class PlanUpdated(_Event):
    """The agent replaced its plan."""

    type: Literal["plan_updated"] = "plan_updated"
    items: tuple[PlanItem, ...]


class PlanProposed(_Event):
    """Calls that do not run yet: queued in plan mode, or the graph of a plan."""

    type: Literal["plan_proposed"] = "plan_proposed"
    plan_id: str
    """Proposals with one id are one plan."""
    origin: str
    """``plan_mode``, or ``update_plan`` for a graph."""
    calls: tuple[ProposedCall, ...]
    run: Literal["approved", "eager"] = "approved"
    """``eager``: without asking for the plan as a whole; each call is judged by itself."""


class PlanResolved(_Event):
    """What becomes of a proposed plan."""

    type: Literal["plan_resolved"] = "plan_resolved"
    plan_id: str
    approved: tuple[str, ...] = ()
    """Ids of calls that the person allowed as they were shown."""
    digests: tuple[str, ...] = ()
    """Of what was shown of each of these, in the same order."""
    each: tuple[str, ...] = ()
    """Ids of calls that run, each after it was asked about by itself."""
    unasked: tuple[str, ...] = ()
    """Ids of calls of an eager plan: they run as if the model had just made them."""


class FinalOutputGiven(_Event):
    """The model gave the output that fits the person's schema: the turn's end."""

    type: Literal["final_output_given"] = "final_output_given"
    call_id: str
    value: PlainJson


class GrantsRevoked(_Event):
    """Rules that hold for the session do so no longer."""

    type: Literal["grants_revoked"] = "grants_revoked"
    grants: tuple[str, ...]
    why: str
    """For a person: what was edited, or who took them back."""
    for_good: bool = False
    """The call at hand is why, so those that are written down end for later sessions too."""


class EffectSimulated(_Event):
    """A dry run left something out that would have had an effect."""

    type: Literal["effect_simulated"] = "effect_simulated"
    what: str
    """One line: ``change a.py``, ``run make test``."""


class Compacted(_Event):
    """The conversation was shortened, with loss."""

    type: Literal["compacted"] = "compacted"
    origin: str
    why: str
    drop_before: int
    """Messages with a smaller index in the conversation are replaced by ``summary``."""
    summary: str
    """Empty: nothing was put in their place."""
    before_tokens: int
    after_tokens: int
    max_result_chars: int = 0
    """What stays of each result that is kept; 0: all of it."""
    short_from: int = 0
    """Results of messages with a smaller index in the conversation stay whole."""
    elapsed_s: float = 0.0
    """Since the process began or resumed the turn; for the pause until the next one."""


class AdviceGiven(_Event):
    """A side model was asked for a short text: a real request, whose usage counts."""

    type: Literal["advice_given"] = "advice_given"
    origin: str
    """The policy that asked."""
    role: ModelRole
    model: str
    text: str = ""
    """The answer; empty when it failed."""
    failure: str | None = None
    """A ``ProviderFailure`` word."""
    message: str = ""
    usage: Usage = Usage()
    duration_ms: int = 0


class WrapUpRequested(_Event):
    """Somebody asked the turn to come to an end in good order."""

    type: Literal["wrap_up_requested"] = "wrap_up_requested"
    by: str
    text: str = ""
    """What the last answer should hold; empty: the usual."""


class MonitorAlerted(_Event):
    """A reader outside the loop saw that the turn gets nowhere."""

    type: Literal["monitor_alerted"] = "monitor_alerted"
    pattern: Literal["alternation", "near_equal", "no_progress"]
    text: str
    """What was seen, for the model and for a person."""


class CancelRequested(_Event):
    """Somebody asked the turn to stop; recorded before the running work is cancelled."""

    type: Literal["cancel_requested"] = "cancel_requested"
    by: str


class TurnEnded(_Event):
    """The turn is over; nothing of it changes any more."""

    type: Literal["turn_ended"] = "turn_ended"
    turn_id: str
    stop: StopReason
    status: TurnStatus
    output: str
    failure_reason: str = ""
    """For a person: what to do about it; empty on success."""
    is_authentication: bool = False
    open_tasks: tuple[str, ...] = ()


Event = Annotated[
    SessionCreated
    | SessionResumed
    | ModeChanged
    | ModelChanged
    | PolicySilenced
    | PromptQueued
    | TurnStarted
    | PrefixSet
    | Moved
    | AdvisoryRaised
    | RequestPrepared
    | AttemptFinished
    | RecoveryChosen
    | Answered
    | NudgeAdded
    | GateFailed
    | GoalCommandStarted
    | GoalChecked
    | FindingsReported
    | CallDecided
    | ApprovalRequested
    | ApprovalResolved
    | QuestionAsked
    | QuestionResolved
    | ToolCallStarted
    | EditIntended
    | EditApplied
    | CommandChanged
    | CommandChangesLeftOut
    | ReviewDecided
    | ReviewApplied
    | FileRenamed
    | ToolCallFinished
    | HookRan
    | ChildStarted
    | ChildEnded
    | OutputStored
    | PlanUpdated
    | PlanProposed
    | PlanResolved
    | FinalOutputGiven
    | GrantsRevoked
    | EffectSimulated
    | Compacted
    | AdviceGiven
    | WrapUpRequested
    | MonitorAlerted
    | CancelRequested
    | TurnEnded,
    Field(discriminator="type"),
]

EVENT: TypeAdapter[Event] = TypeAdapter(Event)
"""Reads and writes any stored event as JSON."""

_DURABLE = (
    SessionCreated,
    ModeChanged,
    PromptQueued,
    TurnStarted,
    ApprovalRequested,
    ApprovalResolved,
    QuestionResolved,
    PlanResolved,
    GoalCommandStarted,
    GrantsRevoked,
    EditIntended,
    EditApplied,
    CommandChanged,
    CommandChangesLeftOut,
    ReviewDecided,
    ReviewApplied,
    FileRenamed,
    SessionResumed,
    ChildStarted,
    ChildEnded,
    TurnEnded,
)


def is_durable(event: Event) -> bool:
    """Say whether ``emit`` must wait for the commit: intents, outcomes, what people say, and ends.

    Reads have no effect that could be lost; after a crash they run again.
    """
    if isinstance(event, ToolCallStarted | ToolCallFinished):
        return event.effect is not Effect.READ
    return isinstance(event, _DURABLE)


class StoredEvent(Record):
    """An event in its place in a session's journal."""

    session_id: str
    seq: int
    """From 1, without gaps."""
    at_ms: int
    """Wall clock; for people, and for what came first of what two journals tell."""
    event: Event


@dataclass(frozen=True, slots=True)
class TextStreamed:
    """A piece of the answer arrived; ephemeral."""

    step_id: str
    text: str


@dataclass(frozen=True, slots=True)
class ReasoningStreamed:
    """A piece of visible thinking arrived; ephemeral."""

    step_id: str
    text: str


@dataclass(frozen=True, slots=True)
class AttemptDiscarded:
    """What streamed in this step so far does not count; ephemeral."""

    step_id: str


@dataclass(frozen=True, slots=True)
class CallOutputStreamed:
    """A running call printed something; ephemeral."""

    call_id: str
    text: str


Ephemeral = TextStreamed | ReasoningStreamed | AttemptDiscarded | CallOutputStreamed
