"""The protocols of parts that plug into the loop: policies and tools.

A policy is a small frozen dataclass with one method. Its fields are ``options`` and ports, filled
by type in ``wiring``. It keeps no state: it counts events instead.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

from pydantic import BaseModel, JsonValue

from agent_ls.domain.approvals import Preview, Question, QuestionAnswer
from agent_ls.domain.calls import Effect, ErrorKind, ToolCall, ToolKind, ToolResult
from agent_ls.domain.edits import FileEdit
from agent_ls.domain.errors import ProviderError
from agent_ls.domain.events import Event
from agent_ls.domain.messages import AssistantMessage, ProviderData
from agent_ls.domain.model_io import FinishReason
from agent_ls.domain.pictures import PictureData
from agent_ls.domain.stops import StopReason
from agent_ls.domain.usage import Usage
from agent_ls.domain.verdicts import (
    CheckVerdict,
    CompactorVerdict,
    Consent,
    GateVerdict,
    GuardVerdict,
    RecoveryVerdict,
    Slot,
)
from agent_ls.loop.ports.commands import CommandChange, CommandMark
from agent_ls.loop.state.expressions import Destination
from agent_ls.loop.state.view import TurnView

ArgumentsT = TypeVar("ArgumentsT", bound=BaseModel, contravariant=True)


class Part(Protocol):
    """A policy, tool or checker: its settings stand under its name."""

    name: ClassVar[str]


class Check(Protocol):
    """Before every step: may the turn take another step?"""

    name: ClassVar[str]

    async def check(self, view: TurnView) -> CheckVerdict:
        """Return the verdict on taking another step."""
        ...


class Compactor(Protocol):
    """Shrinks the conversation; the cheapest compactor is asked first."""

    name: ClassVar[str]

    async def compact(self, view: TurnView, target_tokens: int) -> CompactorVerdict:
        """Return how to shrink the conversation to about ``target_tokens``."""
        ...


class Injection(Protocol):
    """Proposes text for the next request only."""

    name: ClassVar[str]

    async def propose(self, view: TurnView) -> Slot | None:
        """Return the text for the next request; None: nothing to add."""
        ...


@dataclass(frozen=True, slots=True)
class Attempt:
    """The outcome of one provider request."""

    text: str
    reasoning: str
    calls: tuple[ToolCall, ...]
    """Calls whose arguments were complete, in stream order."""
    cut_calls: tuple[ToolCall, ...]
    """Calls whose arguments were cut off."""
    finish: FinishReason | None
    """None when the request failed."""
    error: ProviderError | None
    usage: Usage
    provider_data: ProviderData | None = None


class Recovery(Protocol):
    """Decides what to do with an attempt that is not a good answer."""

    name: ClassVar[str]

    async def judge(self, attempt: Attempt, view: TurnView) -> RecoveryVerdict:
        """Return the verdict; ``Accept`` when this recovery finds no problem."""
        ...


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A call whose arguments are valid."""

    call: ToolCall
    tool: Tool[Any]
    arguments: BaseModel
    goes_to: Destination | None = None
    """Where the result is stored besides the conversation."""
    reads_only: bool = False
    """The guards found that the call's command plainly only reads."""
    consent: Consent = "none"
    """Who allowed the call."""
    approved: str = ""
    """Digest of the preview that the user approved; empty: no approval, or a broader one."""
    plan: ToolOutput | None = None
    """The edits as they were planned last; planned again only if a file has changed since."""

    @property
    def effect(self) -> Effect:
        """Return the tool's effect class."""
        return self.tool.effect

    @property
    def paths(self) -> tuple[str, ...]:
        """Return the files the call names, as the model wrote them."""
        return self.tool.paths(self.arguments)

    @property
    def grant(self) -> str | None:
        """Return the rule that covers this call and similar ones; None: always ask."""
        return self.tool.grant(self.arguments)

    @property
    def left_out(self) -> str:
        """Return which arguments were given in vain and why, for the model; empty for none."""
        found: object = getattr(self.arguments, "left_out", "")
        return f"(Left out: {found}.)" if isinstance(found, str) and found else ""


@dataclass(frozen=True, slots=True)
class ReferringCall:
    """A call whose arguments refer to results of other calls."""

    call: ToolCall
    tool: Tool[Any]
    paths: ClassVar[tuple[str, ...]] = ()
    """Unknown: paths may come from a reference that is not resolved yet."""

    @property
    def effect(self) -> Effect:
        """Return the tool's effect class."""
        return self.tool.effect


class Guard(Protocol):
    """Before every call: may it run?"""

    name: ClassVar[str]

    async def judge(self, planned: PlannedCall, view: TurnView) -> GuardVerdict:
        """Return whether the call may run."""
        ...


class FollowUp(Protocol):
    """After every call: what else does the model need to know?"""

    name: ClassVar[str]

    async def follow(
        self, planned: PlannedCall, result: ToolResult, view: TurnView
    ) -> FollowUpOutcome:
        """Return the result, possibly changed, and further events."""
        ...


@dataclass(frozen=True, slots=True)
class FollowUpOutcome:
    """The result, possibly changed, and events to record."""

    result: ToolResult
    events: tuple[Event, ...] = ()


class Gate(Protocol):
    """Judges an answer without calls: is it acceptable?"""

    name: ClassVar[str]
    stop: ClassVar[StopReason]
    """Stop reason of a turn that reaches the cap."""

    async def judge(self, answer: AssistantMessage, view: TurnView) -> GateVerdict:
        """Return whether the answer is acceptable."""
        ...

    @property
    def cap(self) -> int:
        """Return how many nudges this gate may give before the turn ends partial."""
        ...


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a running call receives besides its arguments."""

    call_id: str
    turn_id: str
    view: TurnView
    report: Callable[[str], None]
    """Shows live output, which is not stored."""
    reads_only: bool = False
    """Copied from ``PlannedCall.reads_only``."""
    is_approved: bool = False
    """The user said yes to this call, as its preview shows it now."""
    consent: Consent = "none"
    """Copied from ``PlannedCall.consent``."""
    ask: Callable[[str, tuple[str, ...], str], Awaitable[QuestionAnswer]] | None = None
    """Asks the user a question with answers to choose from, as ``ask_user`` does, while the call
    waits and its time does not pass. None: nobody can answer."""


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """The result of running a tool.

    Tools that change files only *plan*: ACT stores the intent, applies ``edits`` in order and stops
    at the first that fails. ``text`` counts only if all were applied.
    """

    text: str
    error: ErrorKind | None = None
    data: JsonValue = None
    value: str | None = None
    """Exact value for later calls that refer to this one; ``text`` is formatted for reading."""
    value_is_cut: bool = False
    """The value is incomplete, so no later call may use it."""
    edits: tuple[FileEdit, ...] = ()
    events: tuple[Event, ...] = ()
    """Events to record, such as ``PlanUpdated``; tools change no state themselves."""
    may_plan_again: bool = True
    """Whether the same arguments still mean the same after the file changed."""
    question: Question | None = None
    """Asked after the tool ended, without a timeout; the answer becomes the result."""
    preview: Callable[[], Preview] | None = None
    """Of planned edits: makes what a user is shown of them."""
    images: tuple[PictureData, ...] = ()
    """For the model to look at, beside the text."""


@dataclass(frozen=True, slots=True)
class Ran:
    """A call's result and the events to record once the result counts."""

    result: ToolResult
    events: tuple[Event, ...] = ()


class Tool(Protocol[ArgumentsT]):
    """Something the model can call: a frozen dataclass whose fields are ports and ``options``."""

    name: ClassVar[str]
    description: ClassVar[str]
    effect: ClassVar[Effect]
    kind: ClassVar[ToolKind]
    group: ClassVar[str]
    """Sub-agents get tools by name or by group: look, change, run; "" is only ever named."""
    Arguments: ClassVar[type[Any]]
    """A pydantic model; ``Any``, because each tool has its own."""

    def paths(self, arguments: ArgumentsT) -> tuple[str, ...]:
        """Return the files the call names, for guards, scheduling and display."""
        ...

    def grant(self, arguments: ArgumentsT) -> str | None:
        """Return the rule that covers this call and similar ones; None: always ask."""
        ...

    async def preview(self, arguments: ArgumentsT) -> Preview:
        """Return what the call would do, for a user; ``ToolError`` if it cannot work."""
        ...

    async def run(self, arguments: ArgumentsT, context: ToolContext) -> ToolOutput:
        """Run the call; ``ToolError`` when there is no good result, any other is a defect."""
        ...


@runtime_checkable
class EditPlanner(Protocol):
    """A tool that changes files: it only plans, so its plan can be shown before it is applied."""

    async def plan(self, arguments: Any) -> ToolOutput:
        """Return the edits of the newest texts, and their preview; ``ToolError`` if none work."""
        ...


class CommandWatch(Protocol):
    """Finds the files that a command changes."""

    async def begin(self, planned: PlannedCall) -> CommandMark | None:
        """Record the files before a command runs; None when it plainly changes nothing."""
        ...

    async def changes(self, mark: CommandMark) -> tuple[CommandChange, ...]:
        """Return the changes since ``begin`` returned the mark."""
        ...

    def editing(self, paths: Iterable[str]) -> AbstractContextManager[None]:
        """While this is held, changes to these files are an agent's edits, not a command's."""
        ...
