"""What other programs see of a turn: a small closed union, tagged by ``type``.

``run --json-stream`` prints one a line, ``agent_ls.run`` yields the same values. The page and the
JSON schema in ``docs`` are generated from here. Counts are whole numbers. Fields and types may be
added; no field changes its meaning without a new ``VERSION``.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, JsonValue, TypeAdapter

from agent_ls.domain.plans import PlanStatus
from agent_ls.domain.record import Record
from agent_ls.domain.results import TurnResult

VERSION = 1


class SessionOpened(Record):
    """The first event, unless nothing could begin."""

    type: Literal["session_opened"] = "session_opened"
    version: int = VERSION
    """Of this format."""
    session_id: str
    """Go on with it: `agent-ls run --resume ID`."""
    folder: str
    model: str
    mode: str
    is_new: bool
    """False for a session that goes on."""


class TurnStarted(Record):
    """The turn began, or one that was cut off goes on."""

    type: Literal["turn_started"] = "turn_started"
    turn_id: str
    prompt: str
    is_resumed: bool = False


class StepStarted(Record):
    """The model is asked; its text and tool calls follow."""

    type: Literal["step_started"] = "step_started"
    number: int
    """From 1."""


class Text(Record):
    """A piece of the answer."""

    type: Literal["text"] = "text"
    text: str


class Reasoning(Record):
    """A piece of what the model lets see of its thinking."""

    type: Literal["reasoning"] = "reasoning"
    text: str


class TextDiscarded(Record):
    """The pieces of this step so far do not count: the request is repeated."""

    type: Literal["text_discarded"] = "text_discarded"


class Message(Record):
    """The whole text of a step, after its pieces. Steps with tool calls alone have none."""

    type: Literal["message"] = "message"
    text: str


class ToolCall(Record):
    """The model calls a tool. Exactly one `tool_result` with the same `call_id` follows."""

    type: Literal["tool_call"] = "tool_call"
    call_id: str
    tool: str
    """A tool of a tool server is named `server/tool`."""
    title: str
    """What the call is about, in one line; may be empty."""
    arguments: JsonValue
    """An object; the model's own text where that is no JSON."""


class ToolOutput(Record):
    """A piece of what a running command prints."""

    type: Literal["tool_output"] = "tool_output"
    call_id: str
    text: str


class ToolResult(Record):
    """The one result of a call, also of one that was refused or never ran."""

    type: Literal["tool_result"] = "tool_result"
    call_id: str
    tool: str
    outcome: str
    """`ok`, `exit code N`, `killed`, `skipped`, `queued`, `dry run`, or why it failed:
    `structural`, `denied`, `runtime`, `timeout`, `cancelled`, `interrupted`."""
    text: str
    """What the model reads."""
    duration_ms: int


class FileEdited(Record):
    """An edit of a file by a call, whether it was made or not."""

    type: Literal["file_edited"] = "file_edited"
    call_id: str
    path: str
    status: Literal["applied", "stale", "refused", "unconfirmed"]
    reason: str = ""
    added_lines: int = 0
    removed_lines: int = 0


class FileChanged(Record):
    """A command changed a file of the project."""

    type: Literal["file_changed"] = "file_changed"
    call_id: str
    path: str
    change: Literal["created", "changed", "deleted"]


class ApprovalRequested(Record):
    """A call needs a yes. Where nobody can give one, `approval_resolved` follows at once."""

    type: Literal["approval_requested"] = "approval_requested"
    approval_id: str
    call_id: str
    tool: str
    title: str
    reason: str
    payload: str
    """The whole command, or the diff."""


class ApprovalResolved(Record):
    """What was answered, and by whom."""

    type: Literal["approval_resolved"] = "approval_resolved"
    approval_id: str
    choice: str
    """`allow_once`, `allow_session`, `allow_prefix`, `allow_always`, `reject_once`,
    `reject_always`, `amend` or `cancelled`."""
    by: str
    """`nobody` where nobody could be asked."""
    note: str = ""


class QuestionAsked(Record):
    """The agent has a question. Where nobody is there, `question_resolved` follows at once."""

    type: Literal["question_asked"] = "question_asked"
    question_id: str
    text: str
    options: tuple[str, ...]


class QuestionResolved(Record):
    """The answer to a question."""

    type: Literal["question_resolved"] = "question_resolved"
    question_id: str
    text: str
    by: str
    """`nobody` where nobody could be asked."""


class Problem(Record):
    """What a checker found, such as an error of a type checker."""

    path: str
    line: int
    """From 1, as compilers count."""
    column: int
    """From 1."""
    severity: str
    """`error`, `warning`, `information` or `hint`."""
    checker: str
    code: str
    message: str


class ProblemsFound(Record):
    """The problems in these files now. It replaces what was said of them before."""

    type: Literal["problems_found"] = "problems_found"
    paths: tuple[str, ...]
    """The files that were checked; one without a problem is clean."""
    problems: tuple[Problem, ...]


class PlanItem(Record):
    """One line of the agent's plan."""

    text: str
    status: PlanStatus


class PlanUpdated(Record):
    """The agent's plan, as a whole."""

    type: Literal["plan_updated"] = "plan_updated"
    items: tuple[PlanItem, ...]


class Notice(Record):
    """What happened beside: a retry, a rejected answer, a shortened conversation."""

    type: Literal["notice"] = "notice"
    origin: str
    """The part that says it."""
    text: str


class UsageChanged(Record):
    """What the turn has used so far, sub-agents and side models included."""

    type: Literal["usage"] = "usage"
    input_tokens: int
    """With those read from and written to the provider's cache."""
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    reasoning_tokens: int
    cost_usd: float | None
    """Null where no price is known."""


class Result(TurnResult):
    """The last event of a turn: the object that `run --json` prints, and the exit code."""

    type: Literal["result"] = "result"
    exit_code: int
    """With which `agent-ls run` exits."""


class Failed(Record):
    """Instead of a result: nothing could begin, or the turn could not be stored."""

    type: Literal["error"] = "error"
    message: str
    exit_code: int


RunEvent = Annotated[
    SessionOpened
    | TurnStarted
    | StepStarted
    | Text
    | Reasoning
    | TextDiscarded
    | Message
    | ToolCall
    | ToolOutput
    | ToolResult
    | FileEdited
    | FileChanged
    | ApprovalRequested
    | ApprovalResolved
    | QuestionAsked
    | QuestionResolved
    | ProblemsFound
    | PlanUpdated
    | Notice
    | UsageChanged
    | Result
    | Failed,
    Field(discriminator="type"),
]

RUN_EVENT: TypeAdapter[RunEvent] = TypeAdapter(RunEvent, config=ConfigDict(defer_build=True))
"""Reads a line of the stream; built when it is first used, as most runs never do."""
