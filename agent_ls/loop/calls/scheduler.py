"""Schedules the calls of one answer: which run now, which wait, which can never run.

Whenever a call finishes, every unblocked call starts. A call is unblocked when its references are
resolved and no earlier call conflicts. A command that may only look is judged when nothing but that
blocks it. Source: S1, inner loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import replace

from agent_ls.domain.calls import Effect, ToolResult
from agent_ls.domain.events import CallDecided, ToolCallFinished
from agent_ls.domain.modes import Mode
from agent_ls.domain.verdicts import Allow, GuardVerdict
from agent_ls.loop.calls.arguments import error_result, plan_call
from agent_ls.loop.calls.conflicts import conflicts
from agent_ls.loop.calls.execute import carry_out
from agent_ls.loop.calls.guarding import decide
from agent_ls.loop.calls.references import Results, expressions_in, resolved, skipped
from agent_ls.loop.calls.tool_hooks import before_tool_hooks
from agent_ls.loop.extension_points import PlannedCall, ReferringCall
from agent_ls.loop.shielding import finished
from agent_ls.loop.turn import Turn

_CIRCLE = "its references wait for calls that wait for it"


class CallScheduler:
    """The calls of one answer: waiting in the order written, or running."""

    def __init__(self, turn: Turn, waiting: list[PlannedCall | ReferringCall]) -> None:
        """Take the calls to schedule; calls that already have a result are left out."""
        self._turn = turn
        self._waiting = waiting
        self._running: dict[asyncio.Task[None], PlannedCall] = {}
        options = turn.services.options
        self._one_by_one = not options.parallel or turn.view.mode is Mode.ASK_ALL
        self._most = 1 if self._one_by_one else options.max_parallel_calls
        self._places = asyncio.Semaphore(self._most)
        self._asking: set[str] = set()
        """Ids of calls that are not plainly allowed; a user may be asked, so they take no place
        until they begin."""
        self._alone: set[str] = set()
        """Ids of commands that were judged and do more than look."""

    async def work(self) -> None:
        """Run all calls; on cancellation stop the running ones before raising it."""
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
            # Completes even if the turn is cancelled again.
            await finished(self._stop())

    async def _resolve(self) -> None:
        """Replace references by values in calls whose references are all resolved."""
        results = self._results()
        for index, one in enumerate(list(self._waiting)):
            if isinstance(one, ReferringCall):
                self._waiting[index] = await self._resolved(one, results)
        done = {state.call.id for state in self._turn.state.calls if state.result is not None}
        self._waiting = [one for one in self._waiting if one.call.id not in done]

    async def _resolved(self, one: ReferringCall, results: Results) -> PlannedCall | ReferringCall:
        """Return the call with its values, or unchanged while it waits or once it has a result."""
        call = one.call
        found = {each.text: results.find(each, call) for each in expressions_in(call)}
        states = {value.state for value in found.values()}
        if states == {"present"}:
            values = {text: value.value for text, value in found.items()}
            planned = plan_call(resolved(call, values), self._turn.services.tools, self._turn.specs)
            if isinstance(planned, PlannedCall):
                return planned
            await self._finish(planned)
        elif "not_taken" in states and "later" not in states:
            why = next(value.why for value in found.values() if value.state == "not_taken")
            result = skipped(call, why)
            await self._turn.emit(
                CallDecided(
                    call_id=call.id, decision="defer", origin="references", reason=result.text
                )
            )
            await self._finish(result)
        return one

    async def _start_unblocked(self, *, past_referring: bool = False) -> bool:
        """Start every call that no earlier call blocks, in order, while there is room.

        The guards run one call at a time, so that approvals are asked in call order.
        ``past_referring`` ignores earlier calls that still wait for references.
        """
        earlier: list[PlannedCall | ReferringCall] = list(self._running.values())
        has_started = False
        for one in list(self._waiting):
            if self._taken() >= self._most:
                break
            if isinstance(one, PlannedCall) and self._may_start(one, earlier, past_referring):
                decided = await decide(one, self._turn)
                judged = self._judged(one, decided[1])
                if self._is_blocked(judged, earlier, past_referring):
                    self._alone.add(one.call.id)
                else:
                    self._waiting.remove(one)
                    if not isinstance(decided[1], Allow):
                        self._asking.add(one.call.id)
                    task = asyncio.create_task(carry_out(one, decided, self._turn, self._places))
                    self._running[task] = judged
                    has_started = True
                earlier.append(judged)
            else:
                earlier.append(one)
        return has_started

    def _judged(self, one: PlannedCall, verdict: GuardVerdict) -> PlannedCall:
        """Return the call, marked if its command only looks."""
        only_looks = isinstance(verdict, Allow) and verdict.reads_only
        # A hook may still make another command of it.
        only_looks = only_looks and not before_tool_hooks(one, self._turn)
        return replace(one, reads_only=only_looks)

    def _may_start(
        self, one: PlannedCall, earlier: list[PlannedCall | ReferringCall], past_referring: bool
    ) -> bool:
        """Say whether no earlier call blocks this one, as it is or if it only looks."""
        if not self._is_blocked(one, earlier, past_referring):
            return True
        if one.effect is not Effect.EXECUTE or one.call.id in self._alone or self._one_by_one:
            return False
        return not self._is_blocked(replace(one, reads_only=True), earlier, past_referring)

    def _taken(self) -> int:
        """Return how many places are taken; a call that waits for a user takes none.

        Where calls run one by one, it takes its place.
        """
        if self._one_by_one:
            return len(self._running)
        started = {one.call.id for one in self._turn.state.calls if one.effect is not None}
        waiting = self._asking - started
        return sum(one.call.id not in waiting for one in self._running.values())

    def _is_blocked(
        self, one: PlannedCall, earlier: list[PlannedCall | ReferringCall], past_referring: bool
    ) -> bool:
        """Say whether an earlier call blocks this one.

        If an earlier call waits for this one's result, directly or not, no call that waits for a
        result blocks it.
        """
        referring = [other.call for other in earlier if isinstance(other, ReferringCall)]
        is_needed = bool(referring) and one.call.id in self._results().producers(referring)
        passes = past_referring or is_needed
        return any(
            conflicts(one, other, self._turn.name)
            for other in earlier
            if isinstance(other, PlannedCall) or not passes
        )

    async def _unblock(self) -> None:
        """Break a deadlock: start calls blocked only by references, else fail hopeless ones."""
        if not self._waiting or await self._start_unblocked(past_referring=True):
            return
        results = self._results()
        stuck = [one for one in self._waiting if isinstance(one, ReferringCall)]
        whys = {one.call.id: _why_never(one, results) for one in stuck}
        for one in stuck:
            if whys[one.call.id] or not any(whys.values()):
                await self._finish(error_result(one.call, f"{whys[one.call.id] or _CIRCLE}."))
                self._waiting.remove(one)

    async def _finish(self, result: ToolResult) -> None:
        await self._turn.emit(ToolCallFinished(result=result))

    def _results(self) -> Results:
        calls = [(state.call, state.result) for state in self._turn.state.calls]
        return Results(calls, self._turn.session.outputs)

    async def _stop(self) -> None:
        for task in self._running:
            task.cancel()
        options = self._turn.services.options
        await _wait(self._running, options.cancel_grace_s)
        # Edits, commands and sub-agents get longer: their outcome belongs to this turn.
        slow = [task for task, one in self._running.items() if one.effect is not Effect.READ]
        await _wait(slow, options.edit_grace_s + options.cancel_grace_s)


def _why_never(one: ReferringCall, results: Results) -> str:
    """Return why a reference of the call can never resolve; empty while all still can."""
    for expression in expressions_in(one.call):
        found = results.find(expression, one.call)
        if found.state == "never":
            return f"{expression.text} never gets a value: {found.why}"
    return ""


async def _wait(tasks: Collection[asyncio.Task[None]], limit_s: float) -> None:
    if open_tasks := [task for task in tasks if not task.done()]:
        await asyncio.wait(open_tasks, timeout=limit_s)
