"""What clients that opted in see and say: the ``agent/*`` methods and their types.

The one source of ``docs/protocol.md``, its JSON schema and the TypeScript types of the panel.
Owns shapes only; ``updates.py`` makes them from events, ``handlers/`` serve the methods.
Words are the Agent Client Protocol's where it has one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Annotated, Literal, Self, TypeVar, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    StrictBool,
    StringConstraints,
    model_validator,
)
from pydantic.alias_generators import to_camel
from typing_extensions import TypeAliasType

from agent_ls.domain.approvals import ApprovalChoice
from agent_ls.domain.attachments import AttachmentKind
from agent_ls.domain.calls import ErrorKind, ToolKind
from agent_ls.domain.errors import ProviderFailure
from agent_ls.domain.findings import Severity
from agent_ls.domain.modes import Mode
from agent_ls.domain.phases import Phase
from agent_ls.domain.plans import PlanStatus
from agent_ls.domain.review import HunkKind, HunkState, ReviewDecision
from agent_ls.domain.stops import StopReason, TurnStatus
from agent_ls.loop.window import WindowPart
from agent_ls.lsp.ends import NextAction

VERSION = 1
"""The protocol's version, announced as ``experimental.agent.version`` on both sides."""


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be empty")
    return text


Name = Annotated[str, Field(min_length=1)]
"""An id, a URI or a path; never empty, so that an empty one is not mistaken for none."""
Text = Annotated[str, Field(min_length=0)]
"""Free text, may be empty. ``min_length`` makes pydantic refuse halves of characters, which cannot
be stored."""
Words = Annotated[str, Field(min_length=1), AfterValidator(_not_blank)]
"""Free text that is not blank."""
ModelName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Line = Annotated[int, Field(strict=True, ge=0)]
"""0-based; a number only, since pydantic would also take text and booleans."""


class Wire(BaseModel):
    """Sent with camel-case keys and without nulls; unknown keys are ignored."""

    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        alias_generator=to_camel,
        populate_by_name=True,
        json_schema_serialization_defaults_required=True,
    )

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, given: object) -> object:
        """Treat null as left out in every optional field."""
        if not isinstance(given, dict):
            return given
        keys = cast("dict[object, object]", given)
        optional = _optional(cls)
        return {key: one for key, one in keys.items() if one is not None or key not in optional}


@cache
def _optional(kind: type[Wire]) -> frozenset[object]:
    """Return the optional keys, in both spellings."""
    names = [name for name, field in kind.model_fields.items() if not field.is_required()]
    return frozenset([*names, *map(to_camel, names)])


class Deciding(Wire):
    """Params of a method that changes something: an unknown key is refused.

    An ignored key could make the request mean more than the client said.
    """

    model_config = ConfigDict(extra="forbid")


# Parts.


class TextContent(Wire):
    """A piece of text."""

    type: Literal["text"] = "text"
    text: str


class ImageInfo(Wire):
    """An image of the conversation."""

    name: str
    mime_type: str
    width: int
    height: int
    size_bytes: int


class Location(Wire):
    """A place in a file."""

    path: str
    """As the agent names it: relative to its root."""
    uri: str | None
    """Null for a place outside the workspace."""
    line: int | None
    """0-based."""


class AttachmentInfo(Wire):
    """One thing that came with a prompt, beside its words and images."""

    kind: AttachmentKind | Literal["selection"]
    """``selection``: what was selected in the editor."""
    name: str
    """For a chip: ``prices.py:13-15``."""
    location: Location | None
    """Null: no place of the workspace."""
    last_line: int | None
    """0-based; null: the location is one line or a whole file."""
    note: str
    """What the model does not get of it; empty: nothing."""


class PlanEntry(Wire):
    """One line of the agent's plan."""

    content: str
    status: PlanStatus


class Cost(Wire):
    """Money."""

    amount: float
    currency: Literal["USD"] = "USD"


class TokenUsage(Wire):
    """Tokens; the input includes the cached ones."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    reasoning_tokens: int


class PermissionOption(Wire):
    """One answer to a permission request."""

    option_id: ApprovalChoice
    name: str
    """What a button says."""


class FoundProblem(Wire):
    """One finding of a checker; the column counts code points."""

    path: str
    uri: str | None
    checker: str
    code: str
    message: str
    severity: Severity
    line: int
    """0-based."""
    column: int


# Updates: what happened, tagged by ``sessionUpdate``.


class SessionCreatedUpdate(Wire):
    """The session was created."""

    session_update: Literal["session_created"] = "session_created"
    mode: Mode
    model: str


class SessionResumedUpdate(Wire):
    """An unfinished turn was repaired after its process died."""

    session_update: Literal["session_resumed"] = "session_resumed"
    interrupted_tool_calls: list[str]
    """Calls whose effect is unknown."""


class ModeUpdate(Wire):
    """The permission mode changed."""

    session_update: Literal["current_mode_update"] = "current_mode_update"
    current_mode_id: Mode


class ModelUpdate(Wire):
    """The model changed."""

    session_update: Literal["current_model_update"] = "current_model_update"
    model: str


class EffortUpdate(Wire):
    """How much the model thinks was changed."""

    session_update: Literal["current_effort_update"] = "current_effort_update"
    effort: str
    """Empty: what the setting ``loop.reasoning_effort`` says."""


class SilencedUpdate(Wire):
    """The user told a policy to leave the session alone."""

    session_update: Literal["policy_silenced"] = "policy_silenced"
    origin: str


class QueuedUpdate(Wire):
    """A prompt waits: for the next request (``steer``) or for the turn's end."""

    session_update: Literal["prompt_queued"] = "prompt_queued"
    content: TextContent
    images: list[ImageInfo] | None = None
    attachments: list[AttachmentInfo] | None = None
    when_busy: Literal["steer", "follow_up"]
    prompt_id: str = ""
    """For ``agent/prompt/change`` while it waits; empty: it cannot be changed."""


class QueuedPromptChange(Wire):
    """A prompt that waits was changed, moved or dropped; null: that stays."""

    session_update: Literal["prompt_changed"] = "prompt_changed"
    prompt_id: str
    text: str | None = None
    when_busy: Literal["steer", "follow_up"] | None = None
    before: str | None = None
    """The id of the prompt that it now goes before; empty: it goes to the end."""
    is_dropped: bool = False


class TurnStartedUpdate(Wire):
    """A prompt began a turn; the prompt itself follows as a user message."""

    session_update: Literal["turn_started"] = "turn_started"
    turn_id: str
    anchor: Location | None


class UserMessageUpdate(Wire):
    """Text in the user's role."""

    session_update: Literal["user_message_chunk"] = "user_message_chunk"
    content: TextContent
    images: list[ImageInfo] | None = None
    """What came with it; the text mentions each."""
    attachments: list[AttachmentInfo] | None = None
    """What else came with it; the text does not mention it."""
    origin: str
    """``user``, or the name of the policy that wrote it."""


class PhaseUpdate(Wire):
    """The turn went on to another phase."""

    session_update: Literal["phase_update"] = "phase_update"
    phase: Phase
    step: int
    """The number of the step, from 1; 0 before the first."""
    detail: str


class AgentMessageChunk(Wire):
    """The next piece of the answer's text."""

    session_update: Literal["agent_message_chunk"] = "agent_message_chunk"
    step_id: str
    content: TextContent


class AgentThoughtChunk(Wire):
    """The next piece of the model's visible thinking."""

    session_update: Literal["agent_thought_chunk"] = "agent_thought_chunk"
    step_id: str
    content: TextContent


class ChunksDiscarded(Wire):
    """The step's chunks so far do not count: the request is sent again."""

    session_update: Literal["agent_chunks_discarded"] = "agent_chunks_discarded"
    step_id: str


class AgentMessage(Wire):
    """The answer, or with ``is_partial`` a kept piece of it; replaces the step's chunks since the
    last one of the same step."""

    session_update: Literal["agent_message"] = "agent_message"
    step_id: str
    content: TextContent
    thought: str
    is_partial: bool


class ToolCallUpdate(Wire):
    """The model asked for a call."""

    session_update: Literal["tool_call"] = "tool_call"
    tool_call_id: str
    step_id: str
    tool: str
    title: str
    """One line for a user."""
    kind: ToolKind
    status: Literal["pending"] = "pending"
    raw_input: JsonValue
    """The arguments; a string when they are not JSON."""


class ToolCallProgress(Wire):
    """A call went on; null fields are unchanged."""

    session_update: Literal["tool_call_update"] = "tool_call_update"
    tool_call_id: str
    status: Literal["pending", "in_progress", "completed", "failed"]
    locations: list[Location] | None = None
    content: TextContent | None = None
    """What the model reads of it."""
    images: list[ImageInfo] | None = None
    """What the model looks at beside the text."""
    raw_output: JsonValue = None
    """Structured facts."""
    error: ErrorKind | None = None
    """Why it failed."""
    outcome: str | None = None
    """How it ended: ``ok``, the error, ``exit code 3``, ``killed``, ``skipped``, ``queued`` or
    ``dry run``; null until then."""
    duration_ms: int | None = None


class ToolCallDecision(Wire):
    """The guards decided whether the call may run."""

    session_update: Literal["tool_call_decision"] = "tool_call_decision"
    tool_call_id: str
    decision: Literal["allow", "ask", "deny", "defer"]
    origin: str
    reason: str


class ToolCallOutput(Wire):
    """A running call printed something."""

    session_update: Literal["tool_call_output"] = "tool_call_output"
    tool_call_id: str
    content: TextContent


class SubAgentUpdate(Wire):
    """A call started a sub-agent, or its sub-agent ended.

    ``agent/snapshot`` of its session tells what it did.
    """

    session_update: Literal["sub_agent"] = "sub_agent"
    tool_call_id: str
    agent_session_id: str
    kind: str
    task: str
    status: Literal["in_progress", "completed", "failed"]
    stop_reason: StopReason | None = None
    """Null while it runs."""
    reason: str = ""
    """Why it stopped, unless it was done."""
    steps: int = 0


class FileEdited(Wire):
    """What became of one file edit."""

    session_update: Literal["file_edited"] = "file_edited"
    tool_call_id: str
    location: Location
    status: Literal["applied", "stale", "refused", "unconfirmed"]
    reason: str
    added_lines: int
    removed_lines: int


class ReviewUpdate(Wire):
    """The user decided about the agent's changes in a file, or the edit for that ended.

    Ask for ``agent/review/list`` to see how the changes stand now.
    """

    session_update: Literal["review_update"] = "review_update"
    review_id: str
    decision: ReviewDecision | None
    """Null in the update about the end."""
    location: Location
    hunks: list[str]
    turn_id: str | None = None
    """With a decision: the turn whose changes it is about."""
    tool_call_id: str | None = None
    """With ``restore``: the call that the file goes back before; null: the turn's beginning."""
    status: Literal["in_progress", "applied", "stale", "refused", "unconfirmed"]
    reason: str


class PlanUpdate(Wire):
    """The plan, whole."""

    session_update: Literal["plan"] = "plan"
    entries: list[PlanEntry]


class UsageUpdate(Wire):
    """Tokens in the context and money spent by the session."""

    session_update: Literal["usage_update"] = "usage_update"
    used: int
    """Tokens of the last request and its answer; after a compaction an estimate of what is left."""
    size: int | None
    """The model's window; null when unknown."""
    cost: Cost
    total: TokenUsage


class PermissionRequested(Wire):
    """A call waits for a user."""

    session_update: Literal["permission_request"] = "permission_request"
    approval_id: str
    tool_call_id: str
    tool: str
    title: str
    kind: ToolKind
    reason: str
    payload: str
    """What would happen: the command, or the diff with long lines cut around their changes."""
    location: Location | None
    grant: str | None
    """The rule that ``allow_session`` adds."""
    options: list[PermissionOption]
    raw_input: JsonValue
    """The arguments that ``amend`` may change; null when they are not known."""


class PermissionResolved(Wire):
    """A permission request is settled."""

    session_update: Literal["permission_resolved"] = "permission_resolved"
    approval_id: str
    outcome: ApprovalChoice
    by: str
    note: str


class PlanStep(Wire):
    """One call of a plan that a user is asked about."""

    tool_call_id: str
    """Of the call that runs after a yes."""
    title: str
    kind: ToolKind
    payload: str
    """The command, or the diff as far as it is known yet."""
    is_asked_again: bool
    """Too long to be approved with the others: after a yes it asks by itself."""


class QuestionAsked(Wire):
    """The turn waits for a user's words."""

    session_update: Literal["question"] = "question"
    question_id: str
    origin: str
    text: str
    options: list[str]
    steps: list[PlanStep]
    """Of a plan: its steps, which ``text`` tells too; empty for any other question."""


class QuestionResolved(Wire):
    """A question is settled."""

    session_update: Literal["question_resolved"] = "question_resolved"
    question_id: str
    text: str
    by: str


class FindingsUpdate(Wire):
    """The findings in these files; they replace the earlier ones."""

    session_update: Literal["findings"] = "findings"
    paths: list[str]
    findings: list[FoundProblem]
    problems: list[str]
    """Why a checker could not run."""
    unanswered: list[str]
    """Checkers that still run."""


class GateFailedUpdate(Wire):
    """A gate did not accept the answer."""

    session_update: Literal["gate_failed"] = "gate_failed"
    origin: str
    text: str


class NoticeUpdate(Wire):
    """Something a user may want to know: a retry, a warning, a changed prefix."""

    session_update: Literal["notice"] = "notice"
    level: Literal["info", "warning", "error"]
    origin: str
    text: str
    """Empty: the notice with this id is taken back, because it is over or something else tells of
    it."""
    title: str = ""
    """The same in at most 8 words, where the text is long."""
    notice_id: str = ""
    """A later notice with the same id stands in this one's place; empty: it stands alone."""


class CompactedUpdate(Wire):
    """The conversation was shortened, with loss."""

    session_update: Literal["compacted"] = "compacted"
    origin: str
    why: str
    before_tokens: int
    after_tokens: int


class CancelUpdate(Wire):
    """Somebody asked the turn to stop."""

    session_update: Literal["cancel_requested"] = "cancel_requested"
    by: str
    returned: list[str] = []
    """What was queued and the model never got, oldest first: it is the user's again."""


class TurnEndedUpdate(Wire):
    """The turn is over."""

    session_update: Literal["turn_ended"] = "turn_ended"
    turn_id: str
    stop_reason: StopReason
    status: TurnStatus
    output: str
    failure_reason: str
    title: str = ""
    """How it ended in at most 8 words."""
    failure: ProviderFailure | None = None
    """What went wrong with the model, when that ended the turn."""
    actions: list[NextAction] = []
    """What to offer next, the most likely one first."""
    open_tasks: list[str]


Update = TypeAliasType(
    "Update",
    Annotated[
        SessionCreatedUpdate
        | SessionResumedUpdate
        | ModeUpdate
        | ModelUpdate
        | EffortUpdate
        | SilencedUpdate
        | QueuedUpdate
        | QueuedPromptChange
        | TurnStartedUpdate
        | UserMessageUpdate
        | PhaseUpdate
        | AgentMessageChunk
        | AgentThoughtChunk
        | ChunksDiscarded
        | AgentMessage
        | ToolCallUpdate
        | ToolCallProgress
        | ToolCallDecision
        | ToolCallOutput
        | SubAgentUpdate
        | FileEdited
        | ReviewUpdate
        | PlanUpdate
        | UsageUpdate
        | PermissionRequested
        | PermissionResolved
        | QuestionAsked
        | QuestionResolved
        | FindingsUpdate
        | GateFailedUpdate
        | NoticeUpdate
        | CompactedUpdate
        | CancelUpdate
        | TurnEndedUpdate,
        Field(discriminator="session_update"),
    ],
)
"""One thing that happened; tagged by ``sessionUpdate``."""


class UpdateParams(Wire):
    """What happened in a session since the last notification, in order."""

    session_id: str
    seq: int
    """Of the last stored event that is included; a snapshot with at least this seq has it."""
    updates: list[Update]


# Requests.


class EditorDiagnostic(Wire):
    """One diagnostic that the editor has, of whatever server."""

    line: int
    column: int = 0
    end_line: int
    end_column: int = 0
    message: str
    source: str = ""
    code: str = ""
    severity: Severity = Severity.ERROR


Lines = TypeVar("Lines", "AnchorParams", "RangePart")


def _in_order(lines: Lines) -> Lines:
    if lines.last_line is not None and lines.last_line < lines.line:
        raise ValueError("lastLine is before line")
    return lines


class AnchorParams(Deciding):
    """Where the prompt is asked."""

    uri: Name
    line: Line = 0
    """0-based: the cursor's, or the first that is selected."""
    last_line: Line | None = None
    """The last selected line; null: nothing is selected."""
    is_comment: StrictBool = False
    """The prompt is the text of the instruction comment nearest to the line."""
    problems: list[EditorDiagnostic] = []
    """The editor's diagnostics at the place, where it sends them with a code action."""

    @model_validator(mode="after")
    def _has_its_lines_in_order(self) -> Self:
        return _in_order(self)


class TextPart(Deciding):
    """Words of a prompt."""

    type: Literal["text"]
    text: Text


class ImagePart(Deciding):
    """An image of a prompt: its bytes, or a file of the workspace. PNG, JPEG, GIF or WebP."""

    type: Literal["image"]
    data: Text | None = None
    """The bytes in base64, of at most 20 MB."""
    uri: Name | None = None
    """The file, instead of the bytes; one that the agent may read without asking."""
    name: Text = ""
    """What the conversation calls it; by default the file's name, or a number."""
    mime_type: Text = ""
    """Not needed: the bytes decide."""

    @model_validator(mode="after")
    def _has_one_source(self) -> Self:
        if (self.data is None) == (self.uri is None):
            raise ValueError("an image needs data or uri, and not both")
        return self


class FilePart(Deciding):
    """A file of the workspace: its newest text, unsaved changes included, or the image that it is.

    An image, or one that the agent may not read without asking, is as for ``ImagePart``.
    """

    type: Literal["file"]
    uri: Name


class RangePart(Deciding):
    """Lines of a file of the workspace."""

    type: Literal["range"]
    uri: Name
    line: Line
    """0-based, the first one."""
    last_line: Line

    @model_validator(mode="after")
    def _has_its_lines_in_order(self) -> Self:
        return _in_order(self)


class SymbolPart(Deciding):
    """A definition in a file of the workspace."""

    type: Literal["symbol"]
    uri: Name
    name: Name
    """With what encloses it: ``Cart.total``."""
    line: Line
    """0-based, to choose between definitions of one name."""


class DiagnosticsPart(Deciding):
    """What the editor shows as problems of a file."""

    type: Literal["diagnostics"]
    uri: Name
    diagnostics: list[EditorDiagnostic] = []
    """Empty: those that the client told by ``agent/editorDiagnostics``."""


class FolderPart(Deciding):
    """A folder of the workspace: the names of its files, without those that git ignores."""

    type: Literal["folder"]
    uri: Name


class TerminalPart(Deciding):
    """What was selected in a terminal."""

    type: Literal["terminal"]
    text: Words
    name: Text = ""
    """The terminal's."""


class ChangesPart(Deciding):
    """What git shows as not committed; needs a trusted folder and a sandbox."""

    type: Literal["changes"]
    uri: Name | None = None
    """A folder of the workspace; null: all of them."""


class SentPart(Deciding):
    """What went with an earlier prompt, as it was then: an image, or another attachment."""

    type: Literal["sent"]
    session_id: Name
    turn_id: Name
    """The turn that the prompt began."""
    kind: Literal["image", "attachment"]
    index: Annotated[int, Field(strict=True, ge=0)]
    """0-based, among those of its kind."""


PromptPart = TypeAliasType(
    "PromptPart",
    Annotated[
        TextPart
        | ImagePart
        | FilePart
        | RangePart
        | SymbolPart
        | DiagnosticsPart
        | FolderPart
        | TerminalPart
        | ChangesPart
        | SentPart,
        Field(discriminator="type"),
    ],
)
"""A part of a prompt; tagged by ``type``."""


class PromptParams(Deciding):
    """Say something to the agent; starts a turn, or queues while one runs."""

    text: Text = ""
    parts: list[PromptPart] = []
    """What follows the text, in order. One that cannot be attached refuses the prompt, which then
    changes nothing."""
    session_id: Name | None = None
    """Null: the current session, made on first use."""
    anchor: AnchorParams | None = None
    editor_state: StrictBool = True
    """False: nothing of what the editor shows goes along: no active file, no open files, no
    problems. Not with an anchor."""
    when_busy: Literal["steer", "follow_up"] = "steer"
    output_schema: dict[str, JsonValue] | None = None
    """A JSON schema: the turn ends with an object that fits it."""
    goal: dict[str, JsonValue] | None = None
    """Makes it a goal turn: `goal`, and maybe `acceptance`, `constraints` and `tests`."""

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        is_comment = self.anchor is not None and self.anchor.is_comment
        is_said = any(not isinstance(one, TextPart) or one.text.strip() for one in self.parts)
        if self.goal is None and not is_comment and not self.text.strip() and not is_said:
            raise ValueError("the prompt is empty: say what to do")
        if self.anchor is not None and not self.editor_state:
            raise ValueError("an anchor is a part of the editor's state: leave one of them out")
        return self


class PromptResult(Wire):
    """Answered at once; what follows comes as updates."""

    session_id: str
    turn_id: str


class ChangePromptParams(Deciding):
    """Change a prompt that waits, or drop it; null: that stays."""

    prompt_id: Name
    session_id: Name | None = None
    text: Words | None = None
    when_busy: Literal["steer", "follow_up"] | None = None
    """``steer``: send it with the running turn's next request."""
    before: Text | None = None
    """The id of the prompt that it goes before; empty: it goes to the end."""
    is_dropped: StrictBool = False


class ChangePromptResult(Wire):
    """What became of a prompt that was to be changed."""

    changed: bool
    """False: it waits no more, so nothing was changed."""


class SentPromptParams(Wire):
    """Ask for the prompt that began a turn, to change it or to send it again."""

    session_id: Name
    turn_id: Name


class SentPromptPart(Wire):
    """One thing that went with a prompt, as it goes along again."""

    kind: AttachmentKind | Literal["image"]
    name: str
    """For a chip: ``prices.py:13-15``."""
    title: str
    """More about it: the whole path."""
    part: FilePart | FolderPart | RangePart | SymbolPart | SentPart
    """Files and folders are read anew; all else is sent as it was."""


class SentPromptResult(Wire):
    """A prompt that was sent."""

    text: str
    """The user's words; of a custom command what it stood for."""
    parts: list[SentPromptPart]
    """What was selected in the editor first, as lines of its file."""


class SteerParams(Deciding):
    """Say something to the running turn; starts one when none runs."""

    text: Words
    session_id: Name | None = None


class CancelParams(Deciding):
    """Stop the running turn."""

    session_id: Name | None = None
    """Null: every turn that runs."""


class CancelResult(Wire):
    """Says whether a turn ran."""

    cancelled: bool


class CompactParams(Deciding):
    """Shorten the conversation: before the running turn's next step, else now."""

    session_id: Name | None = None
    """Null: the current session."""


class CompactResult(Wire):
    """Answered at once; ``compacted`` or a notice tells what came of it."""

    session_id: str


class SnapshotParams(Wire):
    """Ask for the whole session, after a reload."""

    session_id: Name | None = None


class SessionInfo(Wire):
    """One session."""

    session_id: str
    title: str
    mode: Mode
    model: str
    status: TurnStatus | None
    """Of the last turn; null before the first."""
    turns: int
    is_interrupted: bool
    """Its last turn, or its queue, was cut off and waits to be resumed."""


class PartialAnswer(Wire):
    """What has streamed of the answer that is being written."""

    step_id: str
    text: str
    thought: str


class SnapshotResult(Wire):
    """A session as it is now: fold the updates, then add the partial answer."""

    session: SessionInfo
    seq: int
    """Updates with a seq not greater than this are included."""
    updates: list[Update]
    partial: PartialAnswer | None


class TurnsParams(Wire):
    """Ask what the turns of a session took that are over."""

    session_id: Name


class TurnTaken(Wire):
    """What a turn took, its sub-agents included."""

    turn_id: str
    duration_ms: int
    """Without the time in which it waited for the user, or its process was gone."""
    steps: int
    cost: Cost
    """0 also where the model's price is not known."""
    tokens: TokenUsage


class TurnsResult(Wire):
    """Oldest turn first."""

    turns: list[TurnTaken]


class ContextParams(Wire):
    """Ask what fills the model's window in a session."""

    session_id: Name


class ContextPart(Wire):
    """One part of what is sent to the model."""

    kind: WindowPart
    """``files``: what was read. ``results``: what other calls came to. ``history``: prompts,
    answers, and what was attached."""
    tokens: int
    """An estimate."""


class ContextResult(Wire):
    """What the next request would hold, before what is said next."""

    used_tokens: int
    """The parts together: the provider's count of the last request, and an estimate since."""
    window_tokens: int | None
    """Null: not known."""
    parts: list[ContextPart]


class SessionsListParams(Wire):
    """Ask for the sessions of this workspace; those in which nobody spoke are left out."""

    everywhere: StrictBool = False
    """Those of other folders, too."""
    with_archived: StrictBool = False
    parent_id: Text = ""
    """Not empty: only the sub-agents of this session, as they were started."""
    query: Text = ""
    """Only those with all of these words, in any case, in the title, a prompt or an answer."""


class SessionRow(Wire):
    """One row of a session list."""

    session_id: str
    title: str
    agent: str
    """The kind of sub-agent; empty for a session of the user's."""
    roots: list[str]
    """The URIs of its folders."""
    is_here: bool
    """These folders are the ones that are open."""
    updated_ms: int
    """Wall clock, milliseconds since 1970."""
    turns: int
    status: str
    """Of the last turn."""
    is_interrupted: bool
    """Its last turn was cut off and can be resumed."""
    is_open: bool
    """This server has it open."""
    forked_from: str
    """The session it branched off from; empty for one that began by itself."""
    is_dry_run: bool
    """A dry run: nothing was really done."""
    is_archived: bool
    sub_agents: int
    """How many sub-agents it has started."""
    turn_id: str
    """Of a sub-agent that was asked for by its parent: the turn that started it; else empty."""
    turn_prompt: str
    """The first line of that turn's prompt."""
    found: str
    """With a query: the newest words around it; empty when it is in the title."""
    cost: Cost


class SessionsListResult(Wire):
    """Newest first, at most 500."""

    sessions: list[SessionRow]


class SessionsNewParams(Deciding):
    """Begin another session; it becomes the current one."""

    mode: Mode | None = None
    model: ModelName | None = None


class SessionsResumeParams(Deciding):
    """Open a stored session; it becomes the current one."""

    session_id: Name | None = None
    """Null: the one that was cut off last."""
    continue_turn: StrictBool = True
    """Go on with a turn that was cut off."""


class SessionResult(Wire):
    """The session that was opened; ask for its snapshot."""

    session: SessionInfo


class SessionsForkParams(Deciding):
    """Begin a session that knows what another one knew after a turn; it becomes the current one."""

    session_id: Name | None = None
    """Null: the current session."""
    turn: Annotated[int, Field(strict=True, ge=1)] | Name | None = None
    """An id, or a number from 1; null: the newest turn that is over."""
    is_before: StrictBool = False
    """Know what it knew before that turn, which may still run."""

    @model_validator(mode="after")
    def _says_before_what(self) -> Self:
        if self.is_before and self.turn is None:
            raise ValueError("isBefore needs a turn")
        return self


class SessionsRenameParams(Deciding):
    """Give a session another title."""

    session_id: Name
    title: Words


class SessionsArchiveParams(Deciding):
    """Hide a session from lists, or show it again; a new turn shows it, too."""

    session_id: Name
    is_archived: StrictBool = True


class SessionsDeleteParams(Deciding):
    """Delete a session and its sub-agents' for good, unless it works right now."""

    session_id: Name


class SessionChanged(Wire):
    """The session that was meant."""

    session_id: str


class SessionsExportParams(Deciding):
    """Ask for a session as a text to read."""

    session_id: Name


class SessionsExportResult(Wire):
    """A session as Markdown: one chapter a turn."""

    markdown: str


class ApprovalResolveParams(Deciding):
    """Answer an approval."""

    choice: ApprovalChoice | None = None
    approval_id: Name | None = None
    """Without both nothing is decided: the error names what waits. Only ``reject_once`` needs no
    id, where one approval waits."""
    session_id: Name | None = None
    note: Text = ""
    """Words for the model, with a rejection."""
    arguments_json: Text | None = None
    """The changed arguments, with ``amend``."""
    tool: Name | None = None
    """With ``amend``: the tool to call instead; null: the same one."""
    text: Text | None = None
    """With ``amend``, instead of arguments: the changed text of ``agent/approval/text``."""


class ApprovalTextParams(Wire):
    """Ask for a waiting call as one text."""

    approval_id: Name
    session_id: Name | None = None


class ApprovalTextResult(Wire):
    """A waiting call as one text that the user may change, then run with ``amend``."""

    text: str | None
    """What a file would hold, or the command; null: it is neither, change the arguments."""
    location: Location | None
    """The file; null for a command."""
    before: str | None
    """The file's text now; null for a new file and for a command."""


class QuestionResolveParams(Deciding):
    """Answer a question."""

    text: Words
    question_id: Name | None = None
    """Null: the one that waits; an error when several do."""
    session_id: Name | None = None


class ResolveResult(Wire):
    """False: it was already settled, or nothing waits; an unknown id is an error."""

    settled: bool


class ConfigParams(Deciding):
    """Read the session's choices, and change those that are not null."""

    session_id: Name | None = None
    mode: Mode | None = None
    model: ModelName | None = None
    effort: Text | None = None
    """How much the model thinks, one of its ``efforts``; empty: what ``loop.reasoning_effort``
    says."""
    silence: Name | None = None
    """A policy to leave this session alone."""


class ReviewListParams(Wire):
    """Ask what the agent changed and how it stands."""

    session_id: Name | None = None
    """Null: all sessions that are open here."""
    with_text: StrictBool = False
    """Send the old and the new lines, too."""


class ReviewHunk(Wire):
    """One change of the agent's."""

    hunk_id: str
    kind: HunkKind
    state: HunkState
    line: int
    """0-based, its first line in the text as it is now."""
    end_line: int
    """The line after the last one; equal to ``line`` where lines were only removed."""
    added_lines: int
    removed_lines: int
    is_changed_since: bool
    """The same lines were changed since, so an undo is a conflict."""
    continues: bool
    """Only a blank line parts it from the one before, in the same state: a list may show the two as
    one change, and a decision about it names both."""
    title: str
    """A new line, else an old one; of a moved file its earlier name; of an ``opaque`` one (no text,
    or too large) kinds and sizes."""
    old: str | None
    new: str | None


class ReviewFile(Wire):
    """One file that a turn changed."""

    location: Location
    turn_id: str
    moved_from: str | None
    hunks: list[ReviewHunk]


class ReviewTurn(Wire):
    """One turn with changes."""

    session_id: str
    turn_id: str
    prompt: str
    files: list[ReviewFile]
    tool_call_ids: list[str]
    """The calls that changed files, in the model's order: files can be restored to before each."""
    left_files: int
    """How many more files its commands changed; these are not reviewed and cannot be undone."""


class ReviewListResult(Wire):
    """Oldest turn first; turns without changes are left out."""

    turns: list[ReviewTurn]


class ReviewDecideParams(Deciding):
    """Decide about changes; the more fields are given, the fewer changes are meant.

    ``restore`` needs a turn: the files it and later turns touched go back to its beginning, or to
    how they were before one of its calls.
    """

    decision: ReviewDecision
    session_id: Name | None = None
    turn_id: Name | None = None
    """Null: all turns."""
    tool_call_id: Name | None = None
    """With ``restore``: the call; what came before it in the turn stays."""
    dry_run: StrictBool = False
    """With ``restore``: only say what would become of each file."""
    path: Name | None = None
    """Null: all files."""
    hunk_ids: Annotated[list[Name], Field(min_length=1)] | None = None
    """Null: all changes."""


class ReviewConflict(Wire):
    """Both versions of a file that was left as it is; null: no file."""

    now: str | None
    wanted: str | None
    """The text that the decision asks for."""


class ReviewFileResult(Wire):
    """What became of one file."""

    location: Location
    turn_id: str
    status: Literal["done", "nothing", "conflict", "refused"]
    hunks: int
    reason: str
    edit: Literal["change", "create", "delete", "move"] | None
    """With ``restore``: what it does to the file."""
    conflict: ReviewConflict | None


class ReviewDecideResult(Wire):
    """Sent when all of it is done."""

    files: list[ReviewFileResult]


class ReviewDiffParams(Wire):
    """Ask for the text of a file before a turn's first touch, for a diff editor."""

    turn_id: Name
    path: Name
    session_id: Name | None = None


class ReviewDiffResult(Wire):
    """The two sides; null: no file. A file that is no text is shown by its kind and size."""

    before: str | None
    after: str | None
    """As the agent left it."""
    uri: str | None


class ModeInfo(Wire):
    """One permission mode."""

    id: Mode
    name: str
    description: str


class RootInfo(Wire):
    """One folder the agent works in."""

    name: str
    uri: str
    is_trusted: bool


class ConfigResult(Wire):
    """The session's choices, and what can be chosen."""

    session_id: str
    mode: Mode
    model: str
    effort: str
    """Empty: what ``loop.reasoning_effort`` says."""
    silenced: list[str]
    modes: list[ModeInfo]
    roots: list[RootInfo]
    problems: list[str]
    """What is wrong with the settings, for a user."""


class TrustParams(Deciding):
    """Trust folders, or ask what that would switch on."""

    folder: Name | None = None
    """A URI or an absolute path; null: all folders that are open."""
    is_agreed: StrictBool = False
    """The user has seen what it switches on and said yes."""


class TrustOffer(Wire):
    """What trusting one folder would switch on."""

    uri: str
    is_trusted: bool
    switches_on: list[str]
    stays_off: list[str]
    """What the folder holds but never counts, such as hooks."""


class TrustResult(Wire):
    """The folders that were asked about."""

    folders: list[TrustOffer]


class CommandsListParams(Wire):
    """Ask for the custom commands, which a prompt calls by ``/NAME``."""


class CommandRow(Wire):
    """One custom command."""

    name: str
    description: str
    argument_hint: str
    """What to write behind the name; may be empty."""


class CommandsListResult(Wire):
    """The custom commands, by name."""

    commands: list[CommandRow]
    problems: list[str]
    """The files that cannot be used, and why, for a user."""


class CompleteParams(Wire):
    """Ask what completes a prompt while it is typed: ``@`` files, ``#`` symbols, ``/`` commands.

    Cancel the request when more was typed.
    """

    text: Text
    """The prompt up to the cursor."""
    limit: Annotated[int, Field(strict=True, ge=1, le=100)] = 20


class CompletionRow(Wire):
    """One thing to choose."""

    kind: Literal["file", "folder", "symbol", "command"]
    label: str
    detail: str
    """Where it is, or what it does; may be empty."""
    insert: str
    """What to write in place of the word."""
    part: FilePart | FolderPart | SymbolPart | None
    """What to attach; null: nothing."""


class CompleteResult(Wire):
    """What fits, the likeliest first; answered within two seconds."""

    word: str
    """The end of the text that a row replaces; empty: there is nothing to complete."""
    rows: list[CompletionRow]
    is_incomplete: bool
    """Files or symbols are still being read: asking again may find more."""


class ModelsParams(Wire):
    """Ask which models can be used with the keys and sign-ins that are there."""

    is_all: StrictBool = False
    """Also list those of known providers that have no key or sign-in yet."""


class ModelRow(Wire):
    """One model to choose. Null: not known."""

    model: str
    """As `agent/config` takes it."""
    window_tokens: int | None
    max_output_tokens: int | None
    input_price: float | None
    """In USD per million tokens."""
    output_price: float | None
    """In USD per million tokens."""
    has_tools: bool | None
    """It calls tools, without which the agent can only talk."""
    takes_images: bool | None
    efforts: list[str] | None
    """What the setting `loop.reasoning_effort` may be; empty: the model does not think."""


class ProviderRow(Wire):
    """Who offers models, and what is needed to use them."""

    provider: str
    """The part of a model's name before the slash; empty: not known."""
    key_variable: str | None
    """The environment variable that holds the key; null: it takes no key."""
    sign_in: str | None
    """The account that `agent-ls login` signs in with; null: it takes a key, or nothing."""
    is_ready: bool
    """Its key or sign-in is there, or none is needed."""


class ModelsResult(Wire):
    """The models, by provider and name; a local server's are those that it lists itself."""

    models: list[ModelRow]
    providers: list[ProviderRow]
    """Who offers them."""
    problems: list[str]
    """What is wrong with a key or a server, for the user."""


class AccessParams(Wire):
    """Ask how a model is reached, and whether its key or sign-in is there."""

    model: ModelName


class AccountRow(Wire):
    """An account that a user can sign in with instead of a key."""

    name: str
    """As `agent-ls login` takes it."""
    title: str
    plan: str
    """What the user needs to have."""
    provider: str
    """The part of its models' names before the slash."""


class AccessResult(Wire):
    """What a model needs before it can be asked."""

    model: ModelRow
    provider: ProviderRow
    is_missing: bool
    """There is no key, or nobody has signed in."""
    problem: str
    """Why it cannot be asked, for the user; empty: it can."""
    accounts: list[AccountRow]


class EditorDiagnosticsParams(Wire):
    """All that the editor knows of one document, other servers' included."""

    uri: str
    diagnostics: list[EditorDiagnostic]


class SaveParams(Wire):
    """Save these documents, because something is about to read the disk."""

    uris: list[str]


class SaveResult(Wire):
    """Those that could not be saved."""

    unsaved: list[str] = []


@dataclass(frozen=True, slots=True)
class Method:
    """One ``agent/*`` method."""

    name: str
    params: type[Wire]
    result: type[Wire] | None
    """None: a notification."""


TO_CLIENT = (
    Method("agent/update", UpdateParams, None),
    Method("agent/save", SaveParams, SaveResult),
)
"""What the server says or asks; what it is asked stands in ``handlers/verbs.py``."""
