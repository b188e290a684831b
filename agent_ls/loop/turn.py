"""One running turn: its kit, its recorder, and the view of now. Holds no counters."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass

from agent_ls.domain.calls import ToolCall
from agent_ls.domain.errors import bug
from agent_ls.domain.events import Event
from agent_ls.domain.model_io import ToolSpec
from agent_ls.domain.phases import Phase
from agent_ls.domain.stops import StopReason
from agent_ls.loop.kit import Kit
from agent_ls.loop.offering import offered
from agent_ls.loop.ports.models import ModelFacts
from agent_ls.loop.sockets import Ran
from agent_ls.loop.state.recorder import Recorder
from agent_ls.loop.state.spelling import canonical
from agent_ls.loop.state.state import SessionState, TurnState
from agent_ls.loop.state.view import TurnView, spec_tokens

_OVERTIME_S = (1.0, 3.0)
"""What something may take when the turn's time is as good as over: closing words, above all."""
_OVERTIME_SHARE = 0.05
_BREATH_S = 0.001
"""The longest that policies may compute without a pause between them."""


@dataclass(frozen=True, slots=True)
class Move:
    """Where a phase wants to go."""

    to: Phase
    stop: StopReason | None = None
    why: str = ""
    text_only: bool = False
    recovers: bool = False


class Turn:
    """What every phase is given."""

    def __init__(self, kit: Kit, recorder: Recorder) -> None:
        """Take the parts; the state is the recorder's."""
        self.kit = kit
        self.recorder = recorder
        self.facts = ModelFacts(window_tokens=0, max_output_tokens=0)
        """What is known of the model; the machine asks before each phase."""
        self._known: str = ""
        self._tools_tokens = sum(map(spec_tokens, kit.specs))
        self.early: dict[ToolCall, asyncio.Task[Ran | None]] = {}
        """By the call: reads that were started while the answer streamed; None: did not run."""
        self.is_left = False
        """The process ends: a cancellation leaves the turn open, for the next process."""
        self.asking = asyncio.Lock()
        """Held while one call's question to the person is prepared and answered."""
        now_s = self._breathed_s = kit.clock.monotonic_s()
        self._started_s = now_s if kit.begun_s is None else kit.begun_s

    @property
    def session(self) -> SessionState:
        """Return the session's state now."""
        return self.recorder.state

    @property
    def state(self) -> TurnState:
        """Return the turn's state now."""
        turn = self.recorder.state.turn
        if turn is None:
            raise bug("a phase ran without a turn")
        return turn

    @property
    def view(self) -> TurnView:
        """Return what policies see now."""
        return TurnView(
            session=self.session,
            turn=self.state,
            facts=self.facts,
            elapsed_s=self.kit.clock.monotonic_s() - self._started_s,
            tools_tokens=self._tools_tokens,
        )

    def within(self, limit_s: float | None) -> float | None:
        """Return how long something may take that has a limit of its own, in this turn's time."""
        if not self.kit.turn_limit_s:
            return limit_s
        limit_of_turn_s = self.kit.turn_limit_s
        shortest_s, longest_s = _OVERTIME_S
        overtime_s = min(max(limit_of_turn_s * _OVERTIME_SHARE, shortest_s), longest_s)
        left_s = max(limit_of_turn_s - self.view.elapsed_s, overtime_s)
        return left_s if limit_s is None else min(limit_s, left_s)

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """Return the tools that this turn's requests offer, in order."""
        return offered(self.kit, self.view)

    def name(self, path: str) -> str:
        """Return the workspace's own name of a file, however a call spells it."""
        return canonical(path, self.kit.workspace)

    def discard_early(self) -> None:
        """Forget what was read early; what still runs is cancelled."""
        for task in self.early.values():
            task.cancel()
        self.early.clear()

    async def learn_facts(self) -> None:
        """Ask what is known of the model that is asked from now on, unless that is known."""
        model = self.view.model
        if model == self._known:
            return
        self._known = model
        # The model host may still load; the turn's time goes on meanwhile.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.within(None)):
                self.facts = await self.kit.provider.facts(model)

    async def breathe(self) -> None:
        """Let the editor's requests through, unless the loop was just free.

        Policies only compute; asked one after the other they would hold everybody up.
        """
        now_s = self.kit.clock.monotonic_s()
        if now_s - self._breathed_s >= _BREATH_S:
            await asyncio.sleep(0)
            self._breathed_s = self.kit.clock.monotonic_s()

    async def emit(self, event: Event) -> None:
        """Make an event happen."""
        await self.recorder.emit(event)
