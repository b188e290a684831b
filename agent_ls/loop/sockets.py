"""The shapes of the parts that plug into the loop: policies and tools.

A policy is a small frozen dataclass with one method; its fields are ``options`` and the ports
it needs, filled by name in ``assembly``. It keeps nothing: all counting is counting events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar

from pydantic import BaseModel, JsonValue

from agent_ls.domain.approvals import Preview, Question
from agent_ls.domain.calls import Effect, ErrorKind, ToolCall, ToolKind, ToolResult
from agent_ls.domain.edits import FileEdit
from agent_ls.domain.errors import ProviderError
from agent_ls.domain.events import Event
from agent_ls.domain.messages import AssistantMessage
from agent_ls.domain.model_io import FinishReason
from agent_ls.domain.stops import StopReason
from agent_ls.domain.usage import Usage
from agent_ls.domain.verdicts import (
    CheckVerdict,
    CompactorVerdict,
    GateVerdict,
    GuardVerdict,
    RecoveryVerdict,
    Slot,
)
from agent_ls.loop.ports.commands import CommandChange, CommandMark
from agent_ls.loop.state.expressions import Destination
from agent_ls.loop.state.view import TurnView

ArgumentsT = TypeVar("ArgumentsT", bound=BaseModel, contravariant=True)


class Check(Protocol):
    """Before every step: may the turn take another one?"""

    name: ClassVar[str]

    async def check(self, view: TurnView) -> CheckVerdict:
        """Answer."""
        ...


class Compactor(Protocol):
    """Shrinks the conversation; cheapest first."""

    name: ClassVar[str]

    async def compact(self, view: TurnView, target_tokens: int) -> CompactorVerdict:
        """Answer."""
        ...


class Injection(Protocol):
    """Proposes text for the next request only."""

    name: ClassVar[str]

    async def propose(self, view: TurnView) -> Slot | None:
        """Answer."""
        ...


@dataclass(frozen=True, slots=True)
class Attempt:
    """What one provider request brought."""

    text: str
    reasoning: str
    calls: tuple[ToolCall, ...]
    """Closed in the stream, in order."""
    cut_calls: tuple[ToolCall, ...]
    """Never closed."""
    finish: FinishReason | None
    """None when it failed."""
    error: ProviderError | None
    usage: Usage


class Recovery(Protocol):
    """Says what to do with an attempt that is not a good answer."""

    name: ClassVar[str]

    async def judge(self, attempt: Attempt, view: TurnView) -> RecoveryVerdict:
        """Answer."""
        ...


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A call whose arguments are valid."""

    call: ToolCall
    tool: Tool[Any]
    arguments: BaseModel
    goes_to: Destination | None = None
    """Where else than into the conversation its result goes."""
    reads_only: bool = False
    """The guards found that its command plainly only reads."""

    @property
    def effect(self) -> Effect:
        """Return what it can do."""
        return self.tool.effect

    @property
    def paths(self) -> tuple[str, ...]:
        """Return the files it names, as the model wrote them."""
        return self.tool.paths(self.arguments)

    @property
    def grant(self) -> str | None:
        """Return the rule that covers this call and those like it."""
        return self.tool.grant(self.arguments)


@dataclass(frozen=True, slots=True)
class ReferringCall:
    """A call whose arguments refer to results of other calls."""

    call: ToolCall
    tool: Tool[Any]
    paths: ClassVar[tuple[str, ...]] = ()
    """They may be among what is not known yet."""

    @property
    def effect(self) -> Effect:
        """Return what it can do."""
        return self.tool.effect


class Guard(Protocol):
    """Before every call: may it run?"""

    name: ClassVar[str]

    async def judge(self, planned: PlannedCall, view: TurnView) -> GuardVerdict:
        """Answer."""
        ...


class FollowUp(Protocol):
    """After every call: what else does the model need to know?"""

    name: ClassVar[str]

    async def follow(
        self, planned: PlannedCall, result: ToolResult, view: TurnView
    ) -> FollowUpOutcome:
        """Answer."""
        ...


@dataclass(frozen=True, slots=True)
class FollowUpOutcome:
    """The result, possibly changed, and what else became known."""

    result: ToolResult
    events: tuple[Event, ...] = ()


class Gate(Protocol):
    """Judges an answer without calls: is it acceptable?"""

    name: ClassVar[str]
    stop: ClassVar[StopReason]
    """Why the turn ends partial when the cap is reached."""

    async def judge(self, answer: AssistantMessage, view: TurnView) -> GateVerdict:
        """Answer."""
        ...

    @property
    def cap(self) -> int:
        """Return how many nudges of this gate a turn bears before it ends partial."""
        ...


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a running call is given besides its arguments."""

    call_id: str
    turn_id: str
    view: TurnView
    report: Callable[[str], None]
    """Shows live output; never kept."""
    reads_only: bool = False
    """As of ``PlannedCall``."""


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool made of its arguments.

    Tools that change files only *plan*: ACT stores the intent, applies ``edits`` in order and
    stops at the first that is not applied. ``text`` then counts only if all were applied.
    """

    text: str
    error: ErrorKind | None = None
    data: JsonValue = None
    value: str | None = None
    """What a later call that refers to this one gets, where the text says it for reading."""
    value_is_cut: bool = False
    """There is more of it than came back, so no later call may take it for the whole."""
    edits: tuple[FileEdit, ...] = ()
    events: tuple[Event, ...] = ()
    """Facts to record, such as ``PlanUpdated``; tools change no state themselves."""
    may_plan_again: bool = True
    """Whether the same arguments still mean the same on a text that changed meanwhile."""
    question: Question | None = None
    """Asked after the tool ended, without a time limit; the answer is the result."""


@dataclass(frozen=True, slots=True)
class Ran:
    """A call's result, and what it wants recorded once the result counts."""

    result: ToolResult
    events: tuple[Event, ...] = ()


class Tool(Protocol[ArgumentsT]):
    """Something the model can call. A frozen dataclass whose fields are ports and ``options``."""

    name: ClassVar[str]
    description: ClassVar[str]
    effect: ClassVar[Effect]
    kind: ClassVar[ToolKind]
    Arguments: ClassVar[type[BaseModel]]

    def paths(self, arguments: ArgumentsT) -> tuple[str, ...]:
        """Return the files the call names, for guards, scheduling and display."""
        ...

    def grant(self, arguments: ArgumentsT) -> str | None:
        """Return the rule that covers this call and those like it; None: it needs its own yes."""
        ...

    async def preview(self, arguments: ArgumentsT) -> Preview:
        """Return what exactly it would do, for a person; ``ToolError`` if it cannot work."""
        ...

    async def run(self, arguments: ArgumentsT, context: ToolContext) -> ToolOutput:
        """Do it; ``ToolError`` when there is no good result, anything else is a defect."""
        ...


class CommandWatch(Protocol):
    """Looks at the files around a command."""

    async def begin(self, planned: PlannedCall) -> CommandMark | None:
        """Look before it; None when it plainly changes nothing."""
        ...

    async def changes(self, mark: CommandMark) -> tuple[CommandChange, ...]:
        """Return what has changed since ``begin`` returned the mark."""
        ...

    def editing(self, paths: Iterable[str]) -> AbstractContextManager[None]:
        """Know that an agent edits these files: what becomes of them is no command's doing."""
        ...
