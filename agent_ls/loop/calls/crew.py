"""The calls of one answer: which run now, which wait for what, and what becomes of those that
wait in vain.

Reactive: whenever a call finishes, every unblocked one goes on. Unblocked means that its
references are resolved and that no call before it conflicts. Source: seed 001, inner loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from agent_ls.domain.calls import Effect, ToolCall, ToolResult
from agent_ls.domain.events import CallDecided, ToolCallFinished
from agent_ls.domain.modes import Mode
from agent_ls.domain.verdicts import Allow
from agent_ls.loop.calls.arguments import plan_call, structural
from agent_ls.loop.calls.carrying_out import carry_out
from agent_ls.loop.calls.conflicts import conflicts
from agent_ls.loop.calls.guarding import decide
from agent_ls.loop.calls.references import (
    Later,
    Never,
    NotTaken,
    Present,
    Results,
    expressions_in,
    resolved,
    skipped,
)
from agent_ls.loop.settling import finished
from agent_ls.loop.sockets import PlannedCall, Tool
from agent_ls.loop.turn import Turn


@dataclass(frozen=True, slots=True)
class Referring:
    """A call whose arguments refer to results of other calls."""

    call: ToolCall
    tool: Tool[Any]

    @property
    def effect(self) -> Effect:
        """Return what it can do."""
        return self.tool.effect

    @property
    def paths(self) -> tuple[str, ...]:
        """Return none: they may be among what is not known yet."""
        return ()


class Crew:
    """The calls of one answer, waiting in their order or running."""

    def __init__(self, turn: Turn, waiting: list[PlannedCall | Referring]) -> None:
        """Take the calls that can be looked at; the others have their result already."""
        self._turn = turn
        self._waiting = waiting
        self._running: dict[asyncio.Task[None], PlannedCall] = {}
        options = turn.kit.options
        self._one_by_one = not options.parallel or turn.session.mode is Mode.ASK_ALL
        self._most = 1 if self._one_by_one else options.max_parallel_calls
        self._places = asyncio.Semaphore(self._most)
        self._asking: set[str] = set()
        """Calls that had to wait for a person first."""

    async def work(self) -> None:
        """Run everything; a cancellation ends what runs before it goes on."""
        try:
            while self._waiting or self._running:
                await self._resolve()
                await self._start_unblocked()
                if not self._running:
                    await self._unblock()
                    continue
                done, _ = await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    del self._running[task]
                    task.result()
        finally:
            self._turn.discard_early()
            # Who stops the turn twice gets its end no sooner, but in order.
            await finished(self._stop())

    async def _resolve(self) -> None:
        """Put values in the place of references, where all of a call's are there."""
        results = self._results()
        for index, one in enumerate(list(self._waiting)):
            if not isinstance(one, Referring):
                continue
            found = {
                expression.text: results.find(expression, one.call)
                for expression in expressions_in(one.call)
            }
            not_taken = [value for value in found.values() if isinstance(value, NotTaken)]
            values = {t: value.value for t, value in found.items() if isinstance(value, Present)}
            if len(values) == len(found):
                self._waiting[index] = await self._planned(resolved(one.call, values)) or one
            elif not_taken and not any(isinstance(value, Later) for value in found.values()):
                result = skipped(one.call, not_taken[0].path)
                await self._turn.emit(
                    CallDecided(
                        call_id=one.call.id,
                        decision="defer",
                        origin="references",
                        reason=result.text,
                    )
                )
                await self._finish(result)
        finished = {state.call.id for state in self._turn.state.calls if state.result is not None}
        self._waiting = [one for one in self._waiting if one.call.id not in finished]

    async def _planned(self, call: ToolCall) -> PlannedCall | None:
        """Return the call that can run; None after its structural result was recorded."""
        outcome = plan_call(call, self._turn.kit.tools, self._turn.specs)
        if isinstance(outcome, PlannedCall):
            return outcome
        await self._finish(outcome)
        return None

    async def _start_unblocked(self, *, past_referring: bool = False) -> bool:
        """Start every call that nothing before it blocks, in order, while there is room.

        The guards are asked one call after the other, so that the person is asked in the order
        of the calls too.
        """
        earlier: list[PlannedCall | Referring] = list(self._running.values())
        has_started = False
        for one in list(self._waiting):
            if self._taken() >= self._most:
                break
            if isinstance(one, PlannedCall) and not self._is_blocked(one, earlier, past_referring):
                decided = await decide(one, self._turn)
                self._waiting.remove(one)
                if not isinstance(decided[1], Allow):
                    self._asking.add(one.call.id)
                task = asyncio.create_task(carry_out(one, decided, self._turn, self._places))
                self._running[task] = one
                has_started = True
            earlier.append(one)
        return has_started

    def _taken(self) -> int:
        """Return how many places are taken: what waits for a person holds up nothing beside it."""
        if self._one_by_one:
            return len(self._running)
        started = {one.call.id for one in self._turn.state.calls if one.effect is not None}
        waiting = self._asking - started
        return sum(one.call.id not in waiting for one in self._running.values())

    def _is_blocked(
        self, one: PlannedCall, earlier: list[PlannedCall | Referring], past_referring: bool
    ) -> bool:
        """Say whether the call must wait for one before it.

        One that refers to this call's own result cannot hold it up.
        """
        referring = [other.call for other in earlier if isinstance(other, Referring)]
        is_needed = bool(referring) and one.call.id in self._results().producers(referring)
        passes = past_referring or is_needed
        return any(
            conflicts(one, other, self._turn.name)
            for other in earlier
            if isinstance(other, PlannedCall) or not passes
        )

    async def _unblock(self) -> None:
        """Get on although nothing runs: past calls that wait, else by ending those in vain."""
        if not self._waiting or await self._start_unblocked(past_referring=True):
            return
        results = self._results()
        stuck = [one for one in self._waiting if isinstance(one, Referring)]
        hopeless: dict[str, str] = {}
        for one in stuck:
            for expression in expressions_in(one.call):
                found = results.find(expression, one.call)
                if isinstance(found, Never):
                    why = f"{expression.text} never gets a value: {found.why}"
                    hopeless.setdefault(one.call.id, why)
        circle = "its references wait for calls that wait for it"
        for one in stuck:
            if not hopeless or one.call.id in hopeless:
                why = hopeless.get(one.call.id, circle)
                await self._finish(structural(one.call, f"{why}."))
                self._waiting.remove(one)

    async def _finish(self, result: ToolResult) -> None:
        await self._turn.emit(ToolCallFinished(result=result))

    def _results(self) -> Results:
        calls = [(state.call, state.result) for state in self._turn.state.calls]
        return Results(calls, self._turn.session.outputs)

    async def _stop(self) -> None:
        """Cancel what still runs and give it time to end."""
        for task in self._running:
            task.cancel()
        options = self._turn.kit.options
        await _over(self._running, options.cancel_grace_s)
        # Edits on their way, what a command changed, the end of a sub-agent, which waits for the
        # same in turn: their outcome belongs into this turn.
        running = self._running.items()
        await _over(
            (t for t, one in running if one.effect is not Effect.READ), options.edit_grace_s
        )
        await _over(
            (t for t, one in running if one.effect is Effect.DELEGATE), options.cancel_grace_s
        )


async def _over(tasks: Iterable[asyncio.Task[None]], limit_s: float) -> None:
    """Wait until all of these are over, or the time is."""
    if open_tasks := [task for task in tasks if not task.done()]:
        await asyncio.wait(open_tasks, timeout=limit_s)
