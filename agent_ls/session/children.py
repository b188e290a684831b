"""The sub-agents of one session; each has its own session, journal and turn.

Owns their start and end. ``child_time`` limits their time, their services what they may do, and
``AgentLimits`` what they may spend. Source: S0 sub-agents, budget pool, blackboard.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field

from agent_ls.domain.agents import AgentKind, AgentLimits, Allowance, ChildResult
from agent_ls.domain.commands import TurnLimits
from agent_ls.domain.errors import ToolError, bug
from agent_ls.domain.events import (
    AdvisoryRaised,
    ChildEnded,
    ChildStarted,
    Ephemeral,
    PolicySilenced,
    SessionCreated,
    StoredEvent,
    TurnStarted,
    WrapUpRequested,
)
from agent_ls.domain.ids import Ids
from agent_ls.domain.model_families import model_meant
from agent_ls.domain.modes import Mode, strictest
from agent_ls.domain.stops import StopReason
from agent_ls.loop.ports.agents import Claims
from agent_ls.loop.ports.approval import Approver, Rules
from agent_ls.loop.ports.clock import Clock
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.loop.services import Services
from agent_ls.loop.shielding import settled
from agent_ls.loop.state.recorder import Recorder
from agent_ls.loop.state.state import SessionState, TurnState
from agent_ls.loop.turn import Turn
from agent_ls.safety.stale_grants import stale_grants
from agent_ls.session.child_ends import ended_of
from agent_ls.session.child_faces import ChildApprover, ChildLines
from agent_ls.session.child_following import FINISH, Revocations, for_child
from agent_ls.session.child_time import run_in_time

_MAX_BOARD_CHARS = 2_000
"""Of findings that sub-agents of one turn tell each other."""


@dataclass(frozen=True, slots=True)
class ChildOrder:
    """What a child's services are built from."""

    kind: AgentKind
    mode: Mode
    allowance: Allowance
    approver: Approver
    recorder: Recorder


@dataclass(frozen=True, slots=True)
class ChildPorts:
    """What children need besides their services."""

    clock: Clock
    ids: Ids
    claims: Claims
    workspace: Workspace
    rules: Rules


@dataclass(slots=True)
class _Child:
    """One running sub-agent."""

    call_id: str
    task: str
    kind: AgentKind
    mode: Mode
    allowance: Allowance
    recorder: Recorder
    approver: ChildApprover
    is_out_of_time: bool = False


@dataclass(slots=True)
class Children:
    """The ``ChildTurns`` of one session, and its EventListener: children follow its mode."""

    recorder: Recorder
    """The parent's."""
    approver: Approver
    """The parent's."""
    ports: ChildPorts
    kinds: Mapping[str, AgentKind]
    limits: AgentLimits
    turn_limit: Allowance
    """What a turn of the parent may spend."""
    build_kit: Callable[[ChildOrder], Services]
    named_models: Mapping[str, str] = field(default_factory=dict[str, str])
    """What kinds mean by the name of a model."""
    _running: dict[str, _Child] = field(default_factory=dict[str, _Child])
    _tasks: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])

    def __post_init__(self) -> None:
        self.recorder.follow(self)

    async def run(
        self, call_id: str, kind: str, task: str, show: Callable[[str], None]
    ) -> ChildResult:
        """Run a sub-agent with a task and return its report.

        Cancelling ends the sub-agent first.
        Errors: ``ToolError`` for an unknown kind, or when too little budget is left.
        """
        child = self._planned(call_id, kind, task)
        child.recorder.follow(ChildLines(kind, show))
        child.recorder.follow(Revocations(self.recorder, self._later))
        try:
            await self._begin(child)
            await self._walk(child)
        finally:
            result = await settled(self._end(child))
        return result

    def on_event(self, stored: StoredEvent) -> None:
        """Pass changes of mode and grants, and requests to finish, to running children."""
        for child in list(self._running.values()):
            if not child.recorder.state.seq:
                # Not created yet: it will be created from the parent's state at that time.
                continue
            event = for_child(stored.event, child.recorder.state, child.kind.mode)
            if event is not None:
                self._later(child.recorder.emit(event))

    def on_ephemeral(self, session_id: str, piece: Ephemeral) -> None:
        """Ignore streamed pieces."""

    def _planned(self, call_id: str, name: str, task: str) -> _Child:
        kind = self.kinds.get(name)
        if kind is None:
            raise ToolError(
                f"There is no sub-agent {name!r}. The kinds are: {', '.join(self.kinds)}."
            )
        state = self.recorder.state
        turn = _turn_of(state)
        # Those that run may have no event yet.
        started = {one.child_id for one in turn.events.of(ChildStarted)} | set(self._running)
        if 0 < self.limits.max_per_turn <= len(started):
            raise ToolError(
                f"This turn has started {len(started)} sub-agents, which is all it may: "
                "do the rest yourself."
            )
        reserved = Allowance(
            sum(one.allowance.tokens for one in self._running.values()),
            sum(one.allowance.cost_usd for one in self._running.values()),
        )
        allowance = self.limits.share(self.turn_limit, turn.usage, reserved)
        if allowance is None:
            raise ToolError("What is left of the budget is too little to share: do it yourself.")
        recorder = self.recorder.child(self.ports.ids.new("ses"))
        return _Child(
            call_id=call_id,
            task=task,
            kind=kind,
            mode=strictest(state.mode_of_turn, kind.mode),
            allowance=allowance,
            recorder=recorder,
            approver=ChildApprover(self.approver, recorder, name, turn.turn_id, self.ports.clock),
        )

    async def _begin(self, child: _Child) -> None:
        recorder = child.recorder
        # Before any await, so that its share counts as reserved.
        self._running[recorder.session_id] = child
        await self.recorder.emit(
            ChildStarted(
                call_id=child.call_id,
                child_id=recorder.session_id,
                kind=child.kind.name,
                task=child.task,
                mode=child.mode,
                max_tokens=child.allowance.tokens,
                max_cost_usd=child.allowance.cost_usd,
            )
        )
        await self._revoke_stale()
        # Read the parent's state only now: from this event on, the child follows its changes.
        await recorder.emit(self._created(child))
        for origin in sorted(self.recorder.state.silenced):
            await recorder.emit(PolicySilenced(origin=origin))
        turn = _turn_of(self.recorder.state)
        asked = turn.events.of(WrapUpRequested)[-1:]
        prompt = child.task + _found_so_far(turn)
        limits = turn.limits.of_sub_agents(child.kind.rules)
        await recorder.emit(
            TurnStarted(
                turn_id=self.ports.ids.new("trn"),
                prompt=prompt,
                limits=None if limits == TurnLimits() else limits,
            )
        )
        for one in asked:
            await recorder.emit(WrapUpRequested(by=one.by, text=FINISH))

    async def _revoke_stale(self) -> None:
        """Revoke stale grants, so that the child does not inherit them."""
        roots = self.ports.workspace.roots
        state = self.recorder.state
        stale = await asyncio.to_thread(stale_grants, state, roots, self.ports.rules)
        if stale is not None:
            await self.recorder.emit(stale)

    def _created(self, child: _Child) -> SessionCreated:
        state = self.recorder.state
        return SessionCreated(
            session_id=child.recorder.session_id,
            roots=state.roots,
            mode=strictest(state.mode_of_turn, child.kind.mode),
            model=model_meant(child.kind.model, state.model, self.named_models) or state.model,
            agent=child.kind.name,
            parent_id=state.session_id,
            parent_call_id=child.call_id,
            grants=tuple(sorted(state.grants.keys() - state.always)),
            revoked=tuple(sorted(state.revoked)),
            dry_run=state.is_dry_run,
        )

    async def _walk(self, child: _Child) -> None:
        order = ChildOrder(
            child.kind, child.recorder.state.mode, child.allowance, child.approver, child.recorder
        )
        turn = Turn(self.build_kit(order), child.recorder)
        child.is_out_of_time = await run_in_time(turn, child.approver, self.limits)

    async def _end(self, child: _Child) -> ChildResult:
        """Release what the child held, and record its end."""
        child_id = child.recorder.session_id
        self._running.pop(child_id, None)
        self.ports.claims.release(child_id)
        ended = ended_of(child.recorder.state, child.call_id, child_id, child.kind.name)
        if child.is_out_of_time:
            ended = ended.model_copy(update={"stop": StopReason.TIMEOUT})
        await self.recorder.emit(ended)
        await self._post(ended)
        return ChildResult(
            session_id=child_id,
            kind=ended.kind,
            stop=ended.stop,
            why=ended.why,
            report=ended.report,
            usage=ended.usage,
            steps=ended.steps,
            files=tuple(file.path for file in ended.files),
        )

    async def _post(self, ended: ChildEnded) -> None:
        """Tell running children what this one found."""
        if (news := _news_of(ended)) is None:
            return
        for child in list(self._running.values()):
            if child.recorder.state.is_running:
                await child.recorder.emit(news)

    def _later(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _turn_of(state: SessionState) -> TurnState:
    if state.turn is None:
        raise bug("a sub-agent was started outside of a turn")
    return state.turn


def _found_so_far(turn: TurnState) -> str:
    """Return the findings to append to the next sub-agent's task; empty when there are none."""
    found = [
        f"- {ended.kind}: {finding}"
        for ended in turn.events.of(ChildEnded)
        for finding in ended.report.findings
    ]
    if not found:
        return ""
    return f"\n\nOther sub-agents have found:\n{chr(10).join(found)}"[:_MAX_BOARD_CHARS]


def _news_of(ended: ChildEnded) -> AdvisoryRaised | None:
    """Return the message to running sub-agents when one has ended; None when it found nothing."""
    if not ended.report.findings:
        return None
    found = "\n".join(f"- {one}" for one in ended.report.findings)[:_MAX_BOARD_CHARS]
    text = f"Another sub-agent ({ended.kind}) has found:\n{found}"
    return AdvisoryRaised(origin="board", text=text, priority=3)
