"""Everything that can happen in a session: one closed, tagged, versioned union of events.

Stored events are the truth; state is a fold of them (``loop/state/folding.py``). Ephemeral events
(such as streamed text) are published and never stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, JsonValue, TypeAdapter

from agent_ls.domain.agents import AgentReport
from agent_ls.domain.approvals import ApprovalAnswer, ApprovalRequest, Question, QuestionAnswer
from agent_ls.domain.attachments import Attachment
from agent_ls.domain.calls import Effect, ToolResult
from agent_ls.domain.commands import TurnLimits, call_of
from agent_ls.domain.edits import FileEdit
from agent_ls.domain.findings import Finding
from agent_ls.domain.focus import Focus
from agent_ls.domain.goals import Goal, Proof
from agent_ls.domain.hooks import HookOutcome, HookPoint
from agent_ls.domain.images import Images, PutImage
from agent_ls.domain.messages import AssistantMessage
from agent_ls.domain.model_io import FinishReason
from agent_ls.domain.modes import Mode
from agent_ls.domain.phases import Phase
from agent_ls.domain.pictures import Picture
from agent_ls.domain.plain_json import PlainJson
from agent_ls.domain.plans import PlanItem, ProposedCall
from agent_ls.domain.record import Record
from agent_ls.domain.review import ReviewDecision
from agent_ls.domain.stops import StopReason, TurnStatus
from agent_ls.domain.usage import Usage


class _Event(Record):
    v: int = 1
    """Version of this event type's shape; the store migrates older versions when it loads them."""


class SessionCreated(_Event):
    """A session was created."""

    type: Literal["session_created"] = "session_created"
    session_id: str
    roots: tuple[str, ...]
    """Sorted root URIs."""
    mode: Mode
    model: str
    agent: str = ""
    """The kind of sub-agent; empty for a user's session."""
    parent_id: str = ""
    """The session whose agent started it; empty for a user's session."""
    parent_call_id: str = ""
    """The call that started it."""
    grants: tuple[str, ...] = ()
    """Grants of the parent session at that time."""
    revoked: tuple[str, ...] = ()
    """Rules revoked in the parent session at that time."""
    forked_from: str = ""
    """The session this one was forked from; empty for any other."""
    forked_at: int = 0
    """The last shared event of that session."""
    dry_run: bool = False
    """Its changes and commands are only simulated."""
    user: str = ""
    """The name of the user's account; empty for a sub-agent's session, or if it is unknown."""


class SessionResumed(_Event):
    """A session with an unfinished turn was loaded and repaired after its process died."""

    type: Literal["session_resumed"] = "session_resumed"
    interrupted_calls: tuple[str, ...] = ()
    changed_files: tuple[str, ...] = ()
    """Files that differ from what the turn left: unsaved text died with the editor."""


class ResumeDeclined(_Event):
    """The user does not want to be told of the interrupted turn; it can still be resumed."""

    type: Literal["resume_declined"] = "resume_declined"


class SessionRenamed(_Event):
    """The user gave the session another title."""

    type: Literal["session_renamed"] = "session_renamed"
    title: str


class SessionArchived(_Event):
    """The user hid the session from lists, or shows it again; a new turn shows it, too."""

    type: Literal["session_archived"] = "session_archived"
    is_archived: bool = True


class ModeChanged(_Event):
    """The user switched the permission mode."""

    type: Literal["mode_changed"] = "mode_changed"
    mode: Mode


class ModelChanged(_Event):
    """The user switched the model."""

    type: Literal["model_changed"] = "model_changed"
    model: str


class EffortChanged(_Event):
    """The user chose how much the model thinks."""

    type: Literal["effort_changed"] = "effort_changed"
    effort: str
    """A value of ``loop.reasoning_effort``; empty: what that setting says."""


class PolicySilenced(_Event):
    """The user switched one policy off for this session."""

    type: Literal["policy_silenced"] = "policy_silenced"
    origin: str


class Anchor(Record):
    """Where in the workspace the prompt was entered, for faces that show things in place."""

    path: str
    line: int


class PromptQueued(_Event):
    """A prompt arrived while a turn ran: it steers that turn or waits for its end."""

    type: Literal["prompt_queued"] = "prompt_queued"
    text: str
    kind: Literal["steer", "follow_up"]
    anchor: Anchor | None = None
    """Like ``goal`` and ``output_schema``, set only for a ``follow_up``."""
    goal: Goal | None = None
    output_schema: dict[str, JsonValue] | None = None
    focus: Focus | None = None
    limits: TurnLimits | None = None
    """Set only for a ``follow_up``."""
    images: tuple[Picture, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    id: str = ""
    """Names it while it waits; empty: it cannot be changed any more."""

    def as_typed(self) -> str:
        """Return what the user wrote: a goal or the call of a command, not what became of it."""
        return call_of(self.text) if self.goal is None else self.goal.as_typed()


class QueuedPromptChanged(_Event):
    """The user changed, moved or dropped a prompt that waits; one that waits no more stays."""

    type: Literal["queued_prompt_changed"] = "queued_prompt_changed"
    prompt_id: str
    text: str | None = None
    """The new words; None: they stay."""
    kind: Literal["steer", "follow_up"] | None = None
    """Set with ``text``: for what it waits from now on; None: as before."""
    before: str | None = None
    """The id of the prompt that it now goes before; empty: it goes to the end; None: it stays."""
    is_dropped: bool = False


class TurnStarted(_Event):
    """A prompt began a turn."""

    type: Literal["turn_started"] = "turn_started"
    turn_id: str
    prompt: str
    anchor: Anchor | None = None
    goal: Goal | None = None
    """Makes it a goal turn: what must be true in the end, and how it is proven."""
    output_schema: dict[str, JsonValue] | None = None
    """A JSON schema: the turn ends with an object that fits it."""
    focus: Focus | None = None
    """The editor's state at the prompt."""
    limits: TurnLimits | None = None
    """What a custom command sets for the turn; None: nothing."""
    images: tuple[Picture, ...] = ()
    attachments: tuple[Attachment, ...] = ()


class PrefixSet(_Event):
    """The fixed front of every request: system prompt and tool list."""

    type: Literal["prefix_set"] = "prefix_set"
    system: str
    tools: tuple[str, ...]
    made_of: str = ""
    """Hash of its inputs, to detect when it must be rebuilt."""
    unhooked: str | None = None
    """The system prompt before hooks changed it; None when none did."""
    nested_rules: tuple[str, ...] = ()
    """Rule files in subfolders; later turns check whether their texts changed."""
    reason: str
    """``first``, or what changed; a change invalidates the provider's cache."""


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
    """On the way to COMPACT: to save budget, not to make room."""


class AdvisoryRaised(_Event):
    """A check has a message for the next request only; it goes into a slot."""

    type: Literal["advisory_raised"] = "advisory_raised"
    origin: str
    text: str
    priority: int


class RequestPrepared(_Event):
    """What the next request adds to the conversation."""

    type: Literal["request_prepared"] = "request_prepared"
    step_id: str
    number: int
    """1 for the first step of the turn."""
    slots: tuple[str, ...] = ()
    text_only: bool = False
    estimated_tokens: int = 0
    messages: int = 0
    """How many messages of the conversation it sends; 0: not recorded."""
    window_tokens: int = 0
    """The model's context window; 0: unknown."""


class AttemptFinished(_Event):
    """One provider request ended, successful or not."""

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
"""Origin of a ``continue`` when the process ended while the model answered."""
STOPPED = "stopped"
"""Origin of a ``continue`` when the user stopped the turn during the answer."""


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
    """What the model is told, for ``reask`` and ``continue``; otherwise a text for a user."""
    partial: str = ""
    """The text so far, kept in the conversation, for ``continue``."""
    wait_s: float = 0.0
    model: str = ""
    """The model asked from here on, for ``switch_model``."""
    stop: StopReason | None = None
    """Why the turn ends, for ``fail``."""


class Answered(_Event):
    """An attempt was accepted as the step's answer."""

    type: Literal["answered"] = "answered"
    step_id: str
    message: AssistantMessage
    is_partial: bool = False
    origin: Literal["model", "plan", "command"] = "model"
    """Else no model answered: the machine runs approved calls of a plan, or those that a custom
    command makes first."""


class NudgeAdded(_Event):
    """The machine wrote a message to the model; it stays in the conversation."""

    type: Literal["nudge_added"] = "nudge_added"
    origin: str
    text: str


class GateFailed(_Event):
    """A gate rejected the answer."""

    type: Literal["gate_failed"] = "gate_failed"
    origin: str
    text: str
    """For the user; the model's text is in ``NudgeAdded``."""
    instead: str = ""
    """The turn's output instead of this answer, if the turn ends here."""


class GoalCommandStarted(_Event):
    """The durable intent to run a goal's command; ``GoalChecked`` has the outcome."""

    type: Literal["goal_command_started"] = "goal_command_started"
    command: str


class GoalChecked(_Event):
    """Commands or criteria of the turn's goal were checked; later changes invalidate the proofs."""

    type: Literal["goal_checked"] = "goal_checked"
    origin: str
    proofs: tuple[Proof, ...]
    call_id: str = ""
    """The model's own call that proved it; empty when a gate checked it."""


class FindingsReported(_Event):
    """The current findings in the files this turn changed; replaces earlier ones."""

    type: Literal["findings_reported"] = "findings_reported"
    paths: tuple[str, ...]
    """The checked files; those without findings are clean now."""
    findings: tuple[Finding, ...] = ()
    problems: tuple[str, ...] = ()
    unanswered: tuple[str, ...] = ()
    """Checkers still running; their findings are reported later."""
    untrusted: tuple[str, ...] = ()
    """Folders that the user must trust before a checker runs there."""


class CallDecided(_Event):
    """The guards' verdict on one call, for the audit; also written for denied calls."""

    type: Literal["call_decided"] = "call_decided"
    call_id: str
    decision: Literal["allow", "ask", "deny", "defer"]
    origin: str
    """The guard that decided, or ``guards`` when none objected."""
    reason: str = ""
    rule: str = ""
    """For a denial: the user's rule behind it; empty when the guard decides by itself."""
    effect: Effect | None = None
    """What the call would do; None when it was not evaluated."""


class ApprovalRequested(_Event):
    """A call waits for a user's approval."""

    type: Literal["approval_requested"] = "approval_requested"
    request: ApprovalRequest


class ApprovalResolved(_Event):
    """An approval was answered, or nobody can answer; settles it for every face."""

    type: Literal["approval_resolved"] = "approval_resolved"
    approval_id: str
    answer: ApprovalAnswer
    grant: str | None = None
    """The rule granted for the rest of the session; None for this call alone."""


class QuestionAsked(_Event):
    """The turn waits for a user's answer."""

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
    """The arguments as run: references resolved, amendments and hook changes applied."""
    reads_only: bool = False
    """The guards found that its command plainly only reads."""


class EditIntended(_Event):
    """The durable intent of one file edit, with the exact bytes before it."""

    type: Literal["edit_intended"] = "edit_intended"
    call_id: str
    edit: FileEdit
    before_blob: str | None
    """Digest of the bytes before, in the blob store; None when the file did not exist."""
    before_mode: int | None = None
    """Permissions of a file that is moved or deleted; None: unknown, or the file stays."""
    place: str = ""
    """The real file behind a path such as a link; empty when it is the path itself."""
    new_place: str = ""
    """The same for the move's target."""
    takes_back: bool = False
    """Only in older journals: this edit undoes an earlier edit of the call."""


class EditApplied(_Event):
    """The outcome of one file edit."""

    type: Literal["edit_applied"] = "edit_applied"
    call_id: str
    path: str
    status: Literal["applied", "stale", "refused", "unconfirmed"]
    reason: str = ""
    after_blob: str | None = None
    after_mode: int | None = None
    """Permissions of a created file; None: unknown, or the file existed."""
    added_lines: int = 0
    removed_lines: int = 0
    takes_back: bool = False
    """As in ``EditIntended``."""


class ReviewDecided(_Event):
    """The user decided on the agent's changes in one file of a turn.

    With an ``edit`` it is the durable intent of that edit, and takes effect only when
    ``ReviewApplied`` reports it as applied.
    """

    type: Literal["review_decided"] = "review_decided"
    review_id: str
    decision: ReviewDecision
    turn_id: str
    path: str
    hunks: tuple[str, ...] = ()
    """Empty for ``restore``, which covers all changes in the file by this turn and later ones."""
    call_id: str = ""
    """For ``restore``: cover only the changes by this call and later ones."""
    edit: FileEdit | PutImage | None = None
    before_blob: str | None = None
    """The bytes before the edit; None: no file, or no edit."""
    before_mode: int | None = None
    """As in ``EditIntended``."""


class ReviewApplied(_Event):
    """The outcome of an edit that undoes, redoes or restores."""

    type: Literal["review_applied"] = "review_applied"
    review_id: str
    path: str
    status: Literal["applied", "stale", "refused", "unconfirmed"]
    reason: str = ""
    after_blob: str | None = None


class FileRenamed(_Event):
    """The user renamed a file or folder that has changes by the agent, or findings."""

    type: Literal["file_renamed"] = "file_renamed"
    path: str
    new_path: str


class ToolCallFinished(_Event):
    """The one result of one call."""

    type: Literal["tool_call_finished"] = "tool_call_finished"
    result: ToolResult
    effect: Effect = Effect.READ
    """The call's effect; ``READ`` also for a call that never started."""
    met: tuple[str, ...] = ()
    """For a failed call: each path's text version, or why there is none. Empty: not checked."""


class HookRan(_Event):
    """A user's hook ran."""

    type: Literal["hook_ran"] = "hook_ran"
    point: HookPoint
    name: str
    outcome: HookOutcome
    duration_ms: int = 0
    text: str = ""
    """Why it blocked or failed, or what it changed; for a user."""
    call_id: str = ""
    """The call it ran for; empty when it ran for no call."""
    told: str = ""
    """What it added to the conversation, for the model; empty: nothing."""

    @property
    def did(self) -> str:
        """Return the outcome in words; a check after an edit finds something, it does not block."""
        if self.point is HookPoint.POST_EDIT and self.outcome is HookOutcome.BLOCKED:
            return "found something"
        return self.outcome.value.replace("_", " ")


class ChildStarted(_Event):
    """A sub-agent was started, in its own session with its own journal."""

    type: Literal["child_started"] = "child_started"
    call_id: str
    child_id: str
    """The sub-agent's session."""
    kind: str
    task: str
    mode: Mode
    max_tokens: int = 0
    """Its share of the turn's budget; 0: no limit."""
    max_cost_usd: float = 0.0


class ChildFile(Record):
    """One file that a sub-agent changed."""

    path: str
    before_blob: str | None
    """The bytes before its first change; None when there was no file."""
    after_blob: str | None
    """The bytes after its last change; None when the file is gone."""


class ChildEnded(_Event):
    """A sub-agent ended; its usage and changes count for this turn too."""

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
    """Effects that a dry run only simulated, in order, its own sub-agents' included."""


class CommandChanged(_Event):
    """A command changed, created or deleted a file of the project."""

    type: Literal["command_changed"] = "command_changed"
    call_id: str
    path: str
    before_blob: str | None = None
    """None: there was no file, or its content is unknown."""
    after_blob: str | None = None
    """None: the file is gone, or its content was not stored."""
    before_mode: int | None = None
    after_mode: int | None = None
    """Permissions; None: unknown, or no file. ``images`` carry their own."""
    is_before_known: bool = True
    images: Images | None = None
    """Both sides, when one of them is binary or too large for a text."""

    @property
    def is_gone(self) -> bool:
        """Say whether the command deleted the file."""
        return self.after_blob is None if self.images is None else self.images[1] is None

    @property
    def is_new(self) -> bool:
        """Say whether there was no file before."""
        if self.images is not None:
            return self.images[0] is None
        return self.is_before_known and self.before_blob is None


class BackgroundStarted(_Event):
    """The durable intent to start a program that goes on when its call has ended."""

    type: Literal["background_started"] = "background_started"
    call_id: str
    name: str
    """Of the programs that run in a session none has the same."""
    command: str
    limit_s: float
    """It is killed after this many seconds."""
    reads_only: bool = False
    """It is confined so that it changes no files."""

    @property
    def text(self) -> str:
        """Return a sentence about it, for the model and for a user."""
        if self.reads_only:
            return f"{self.name} runs in the background."
        return (
            f"{self.name} runs in the background. What it changes in files from now on is in no "
            "review: an undo leaves it as it is."
        )

    @property
    def after_undo(self) -> str:
        """Return what an undo of its turn says of it."""
        return (
            f"what {self.name} changed in the background is not under review: undo left it as it is"
        )


BackgroundEnd = Literal["exited", "timed_out", "stopped", "closed", "failed", "lost", "simulated"]
"""How a background program ended: by itself, at its time limit, stopped by the agent or the user,
with its session, because it could not start, with the process of agent-ls, or it only seemed to run
in a dry run."""


class BackgroundEnded(_Event):
    """A background program ended, with everything it had started."""

    type: Literal["background_ended"] = "background_ended"
    name: str
    end: BackgroundEnd
    exit_code: int | None = None
    """None unless it exited."""

    @property
    def words(self) -> str:
        """Say how it ended, in words that follow the program's name."""
        match self.end:
            case "exited":
                return f"ended with exit code {self.exit_code}"
            case "timed_out":
                return "was killed at its time limit"
            case "stopped":
                return "was stopped"
            case "closed":
                return "was ended with the session"
            case "failed":
                return "could not be started"
            case "lost":
                return "is gone: the process of agent-ls that ran it died"
            case "simulated":
                return "was not run, because this is a dry run"


class BackgroundRead(_Event):
    """The model has read a background program's output up to here."""

    type: Literal["background_read"] = "background_read"
    name: str
    until_bytes: int
    """Counted from the beginning of all output."""


class CommandChangesLeftOut(_Event):
    """A command changed more files than are recorded; only the number of the others is stored."""

    type: Literal["command_changes_left_out"] = "command_changes_left_out"
    call_id: str
    recorded_files: int
    left_files: int
    left_new_files: int
    """How many of ``left_files`` are new."""

    @property
    def text(self) -> str:
        """Return a sentence about it, for the model and for a user."""
        total = self.recorded_files + self.left_files
        return (
            f"The command changed {total} files, of which {self.recorded_files} are under review. "
            f"The other {self.left_files} are not, {self.left_new_files} of them new: an undo "
            "leaves them as they are."
        )


class FilesLost(_Event):
    """A command deleted files of which nothing was kept, so that no undo brings them back."""

    type: Literal["files_lost"] = "files_lost"
    call_id: str
    why: Literal["ignored", "too_large"]
    paths: tuple[str, ...]
    """The first of them; a folder that went as a whole has a final slash."""
    number: int
    """How many there were."""

    @property
    def text(self) -> str:
        """Return what is lost in words, for the model and for a user."""
        has_folders = any(one.endswith("/") for one in self.paths)
        if self.number == 1:
            words, verb = "1 folder" if has_folders else "1 file", "is"
        else:
            words = f"{self.number:,} {'files and folders' if has_folders else 'files'}"
            verb = "are"
        kind = "that git ignores" if self.why == "ignored" else "too large to keep"
        rest = self.number - len(self.paths)
        names = ", ".join(self.paths) + (f" and {rest:,} more" if rest else "")
        return f"{words} {kind} {verb} gone and cannot come back: {names}"


OutputMethod = Literal["set", "merge", "assign", "push", "concat"]
"""How a value is combined with the value already at its path."""


class OutputStored(_Event):
    """A call stored its result at a path, where later calls can refer to it."""

    type: Literal["output_stored"] = "output_stored"
    call_id: str
    path: tuple[str, ...]
    """The kind, then the keys."""
    method: OutputMethod = "set"
    value: PlainJson = None
    replaces: str | None = None
    """The call of the same answer whose value it overwrote; the two ran in no fixed order."""


class PlanUpdated(_Event):
    """The agent replaced its plan."""

    type: Literal["plan_updated"] = "plan_updated"
    items: tuple[PlanItem, ...]


class PlanProposed(_Event):
    """Calls that wait for a decision: queued in plan mode, or the graph of a plan."""

    type: Literal["plan_proposed"] = "plan_proposed"
    plan_id: str
    """Proposals with the same id form one plan."""
    origin: str
    """``plan_mode``, or ``update_plan`` for a graph."""
    calls: tuple[ProposedCall, ...]
    run: Literal["approved", "eager"] = "approved"
    """``eager``: no approval of the plan as a whole; each call is judged by itself."""


class PlanResolved(_Event):
    """The decision on a proposed plan."""

    type: Literal["plan_resolved"] = "plan_resolved"
    plan_id: str
    approved: tuple[str, ...] = ()
    """Ids of calls that the user approved as shown."""
    digests: tuple[str, ...] = ()
    """Digests of the previews shown for ``approved``, in the same order."""
    each: tuple[str, ...] = ()
    """Ids of calls to run, each after its own approval."""
    unasked: tuple[str, ...] = ()
    """Ids of calls of an eager plan: they run as if the model had just made them."""


class FinalOutputGiven(_Event):
    """The model gave an output that fits the user's schema; the turn ends with it."""

    type: Literal["final_output_given"] = "final_output_given"
    call_id: str
    value: PlainJson


class GrantsRevoked(_Event):
    """Rules no longer apply in this session."""

    type: Literal["grants_revoked"] = "grants_revoked"
    grants: tuple[str, ...]
    why: str
    """For a user: what was edited, or who revoked them."""
    for_good: bool = False
    """The current call caused it, so stored rules are removed for later sessions too."""


class EffectSimulated(_Event):
    """A dry run simulated an effect instead of carrying it out."""

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
    """Empty: nothing replaces them."""
    before_tokens: int
    after_tokens: int
    max_result_chars: int = 0
    """The length each remaining result is cut to; 0: not cut."""
    short_from: int = 0
    """Results of messages with a smaller index in the conversation are not cut."""
    elapsed_s: float = 0.0
    """Since the process began or resumed the turn; spaces out later compactions."""


class CompactionRequested(_Event):
    """The user asked to shorten the conversation, at the next step or right after the turn."""

    type: Literal["compaction_requested"] = "compaction_requested"
    by: str


class CompactionSettled(_Event):
    """The request to shorten the conversation was carried out, as far as that can be."""

    type: Literal["compaction_settled"] = "compaction_settled"
    is_shorter: bool
    """False: there was nothing that is worth a summary."""


class AdviceGiven(_Event):
    """A side model was asked for a short text; its usage counts."""

    type: Literal["advice_given"] = "advice_given"
    origin: str
    """The asking policy."""
    role: str = "cheap"
    """Always this; stored sessions have the field."""
    model: str
    text: str = ""
    """The answer; empty when it failed."""
    failure: str | None = None
    """A ``ProviderFailure`` word."""
    message: str = ""
    usage: Usage = Usage()
    duration_ms: int = 0


class WrapUpRequested(_Event):
    """Somebody asked the turn to finish in good order."""

    type: Literal["wrap_up_requested"] = "wrap_up_requested"
    by: str
    text: str = ""
    """What the closing answer should contain; empty: the default."""


class MonitorAlerted(_Event):
    """An observer outside the loop saw that the turn makes no progress."""

    type: Literal["monitor_alerted"] = "monitor_alerted"
    pattern: Literal["alternation", "near_equal", "no_progress"]
    text: str
    """The observation, for the model and for a user."""


class CancelRequested(_Event):
    """Somebody asked the turn to stop; recorded before the running work is cancelled."""

    type: Literal["cancel_requested"] = "cancel_requested"
    by: str


class TurnEnded(_Event):
    """The turn ended and is final."""

    type: Literal["turn_ended"] = "turn_ended"
    turn_id: str
    stop: StopReason
    status: TurnStatus
    output: str
    failure_reason: str = ""
    """For a user: what to do about it; empty on success."""
    is_authentication: bool = False
    open_tasks: tuple[str, ...] = ()


Event = Annotated[
    SessionCreated
    | SessionResumed
    | ResumeDeclined
    | SessionRenamed
    | SessionArchived
    | ModeChanged
    | ModelChanged
    | EffortChanged
    | PolicySilenced
    | PromptQueued
    | QueuedPromptChanged
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
    | BackgroundStarted
    | BackgroundEnded
    | BackgroundRead
    | CommandChangesLeftOut
    | FilesLost
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
    | CompactionRequested
    | CompactionSettled
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
    QueuedPromptChanged,
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
    BackgroundStarted,
    BackgroundEnded,
    CommandChangesLeftOut,
    FilesLost,
    ReviewDecided,
    ReviewApplied,
    FileRenamed,
    SessionResumed,
    ResumeDeclined,
    SessionRenamed,
    SessionArchived,
    ChildStarted,
    ChildEnded,
    TurnEnded,
)


def is_durable(event: Event) -> bool:
    """Say whether ``emit`` must wait for the commit: intents, outcomes, people's input and ends.

    Reads have no effect that could be lost; after a crash they run again.
    """
    if isinstance(event, ToolCallStarted | ToolCallFinished):
        return event.effect is not Effect.READ
    return isinstance(event, _DURABLE)


class StoredEvent(Record):
    """An event at its position in a session's journal."""

    session_id: str
    seq: int
    """From 1, without gaps."""
    at_ms: int
    """Wall clock, for display and to order events of different journals."""
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
    """The text streamed in this step so far is void; ephemeral."""

    step_id: str


@dataclass(frozen=True, slots=True)
class CallOutputStreamed:
    """A running call printed something; ephemeral."""

    call_id: str
    text: str


Ephemeral = TextStreamed | ReasoningStreamed | AttemptDiscarded | CallOutputStreamed
