"""One running turn: its services, its recorder and the current view. Holds no counters."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import TypeVar

from agent_ls.domain.calls import ToolCall
from agent_ls.domain.errors import StoreError, bug
from agent_ls.domain.events import Event
from agent_ls.domain.model_io import ToolSpec
from agent_ls.domain.phases import Phase
from agent_ls.domain.stops import StopReason
from agent_ls.loop.extension_points import Ran, ToolOutput
from agent_ls.loop.offering import offered
from agent_ls.loop.ports.models import ModelFacts
from agent_ls.loop.services import Services
from agent_ls.loop.state.recorder import Recorder
from agent_ls.loop.state.spelling import canonical
from agent_ls.loop.state.state import SessionState, TurnState
from agent_ls.loop.state.view import TurnView, spec_tokens

_log = logging.getLogger(__name__)

T = TypeVar("T")

_OVERTIME_S = (1.0, 3.0)
"""Minimum and maximum time granted when the turn's time is nearly over, for closing words."""
_OVERTIME_SHARE = 0.05
_BREATH_S = 0.001
"""How long policies may compute before the event loop gets control."""


@dataclass(frozen=True, slots=True)
class Move:
    """The phase a phase wants to go to next."""

    to: Phase
    stop: StopReason | None = None
    why: str = ""
    text_only: bool = False
    recovers: bool = False


class Turn:
    """The context that every phase receives."""

    def __init__(self, services: Services, recorder: Recorder) -> None:
        self.services = services
        self.recorder = recorder
        self.facts = ModelFacts(window_tokens=0, max_output_tokens=0)
        """Limits and prices of the current model; the machine refreshes them before each phase."""
        self._known: str = ""
        self._tools_tokens = sum(map(spec_tokens, services.specs))
        self.early: dict[ToolCall, asyncio.Task[Ran | None]] = {}
        """By call: reads started while the answer streamed; a None result means not run."""
        self.edits_shown: dict[str, ToolOutput] = {}
        """By call: edits as they were planned to be shown together with others."""
        self.is_left = False
        """The process ends: a cancellation leaves the turn open for the next process."""
        self.asking = asyncio.Lock()
        """Held while the user is asked, so that one question is open at a time."""
        now_s = self._breathed_s = services.clock.monotonic_s()
        self._started_s = now_s if services.begun_s is None else services.begun_s

    @property
    def session(self) -> SessionState:
        """Return the current session state."""
        return self.recorder.state

    @property
    def state(self) -> TurnState:
        """Return the current turn state."""
        turn = self.recorder.state.turn
        if turn is None:
            raise bug("a phase ran without a turn")
        return turn

    @property
    def view(self) -> TurnView:
        """Return the current view for policies."""
        return TurnView(
            session=self.session,
            turn=self.state,
            facts=self.facts,
            elapsed_s=self.services.clock.monotonic_s() - self._started_s,
            tools_tokens=self._tools_tokens,
        )

    def within(self, limit_s: float | None) -> float | None:
        """Return ``limit_s`` capped by the turn's remaining time (at least ``_OVERTIME_S``)."""
        if not self.services.turn_limit_s:
            return limit_s
        limit_of_turn_s = self.services.turn_limit_s
        shortest_s, longest_s = _OVERTIME_S
        overtime_s = min(max(limit_of_turn_s * _OVERTIME_SHARE, shortest_s), longest_s)
        left_s = max(limit_of_turn_s - self.view.elapsed_s, overtime_s)
        return left_s if limit_s is None else min(limit_s, left_s)

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """Return the tools that this turn's requests offer, in order."""
        return offered(self.services, self.view)

    def name(self, path: str) -> str:
        """Return the workspace's own name of a file, whatever spelling the call used."""
        return canonical(path, self.services.workspace)

    def discard_early(self) -> None:
        """Cancel and forget all early reads."""
        for task in self.early.values():
            task.cancel()
        self.early.clear()

    async def settle_tools(self) -> None:
        """Learn which tools of servers there are, before the turn's first request."""
        if self.services.source is not None:
            await self.services.source.settle()
            self._tools_tokens = sum(map(spec_tokens, self.specs))

    async def learn_facts(self) -> None:
        """Fetch the current model's limits and prices, unless they are already known."""
        model = self.view.model
        if model == self._known:
            return
        self._known = model
        # Bounded, because the model host may still be loading while the turn's time runs.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.within(None)):
                self.facts = await self.services.provider.facts(model)

    async def yield_if_due(self) -> None:
        """Yield to the event loop if it has been blocked for too long.

        Policies only compute. Asked one after the other, they would block the editor's requests.
        """
        now_s = self.services.clock.monotonic_s()
        if now_s - self._breathed_s >= _BREATH_S:
            await asyncio.sleep(0)
            self._breathed_s = self.services.clock.monotonic_s()

    async def consult(self, name: str, verdict: Awaitable[T], instead: T) -> T:
        """Return a policy's verdict, or ``instead`` when the policy fails; yield afterwards.

        Errors: ``StoreError``.
        """
        try:
            found = await verdict
        except StoreError:
            raise
        except Exception:
            _log.exception("policy %s failed", name)
            found = instead
        await self.yield_if_due()
        return found

    async def emit(self, event: Event) -> None:
        """Record an event and fold it into the state."""
        await self.recorder.emit(event)
