"""ACT: which calls may run, and what came of them?

Reactive: whenever a call finishes, every unblocked one goes on. Each call gets exactly one
result. Source: seed 000 phase 5, seed 001 inner loop.
"""

from __future__ import annotations

import asyncio

from agent_ls.domain.calls import ToolResult
from agent_ls.domain.events import ToolCallFinished
from agent_ls.domain.modes import Mode
from agent_ls.domain.phases import Phase
from agent_ls.loop.arguments import plan_call, structural
from agent_ls.loop.carrying_out import carry_out
from agent_ls.loop.conflicts import conflicts
from agent_ls.loop.guarding import decide
from agent_ls.loop.sockets import PlannedCall
from agent_ls.loop.turn import Move, Turn


async def act(turn: Turn) -> Move:
    """Carry out the open calls of the answer."""
    planned = await _plan(turn)
    await _Crew(turn, planned).work()
    return Move(Phase.CHECK)


async def _plan(turn: Turn) -> list[PlannedCall]:
    """Return the calls that can run; the others get their structural result now."""
    limit = turn.kit.options.max_calls_per_answer
    allowed = {one.call.id for one in turn.state.calls[:limit]}
    planned: list[PlannedCall] = []
    for state in turn.state.open_calls:
        outcome = plan_call(state.call, turn.kit.tools, turn.kit.specs)
        if state.call.id not in allowed:
            outcome = structural(state.call, f"At most {limit} calls fit into one answer.")
        if isinstance(outcome, ToolResult):
            await turn.emit(ToolCallFinished(result=outcome))
        else:
            planned.append(outcome)
    return planned


class _Crew:
    """The calls of one answer, waiting in their order or running."""

    def __init__(self, turn: Turn, planned: list[PlannedCall]) -> None:
        self._turn = turn
        self._waiting = planned
        self._running: dict[asyncio.Task[None], PlannedCall] = {}
        options = turn.kit.options
        one_by_one = not options.parallel or turn.session.mode is Mode.ASK_ALL
        self._places = 1 if one_by_one else options.max_parallel_calls

    async def work(self) -> None:
        """Run everything; a cancellation ends what runs before it goes on."""
        try:
            while self._waiting or self._running:
                await self._start_unblocked()
                done, _ = await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    del self._running[task]
                    task.result()
        finally:
            self._turn.discard_early()
            await self._stop()

    async def _start_unblocked(self) -> None:
        """Start every call that no unfinished earlier one blocks, in order, while there is room.

        The guards are asked one call after the other, so that the person is asked in the order
        of the calls too.
        """
        earlier = list(self._running.values())
        for planned in list(self._waiting):
            if len(self._running) >= self._places:
                return
            if not any(conflicts(planned, one) for one in earlier):
                decided = await decide(planned, self._turn)
                self._waiting.remove(planned)
                task = asyncio.create_task(carry_out(planned, decided, self._turn))
                self._running[task] = planned
            earlier.append(planned)

    async def _stop(self) -> None:
        """Cancel what still runs and give it time to end."""
        if not self._running:
            return
        for task in self._running:
            task.cancel()
        options = self._turn.kit.options
        await asyncio.wait(self._running, timeout=options.cancel_grace_s)
        if self._turn.state.intents:
            # An edit is on its way to the editor: its outcome belongs into this turn.
            await asyncio.wait(self._running, timeout=options.edit_grace_s)
