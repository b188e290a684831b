"""The time limit of a sub-agent: at the limit it is asked to finish, later it is stopped."""

from __future__ import annotations

import asyncio
from typing import Any

from agent_ls.domain.agents import AgentLimits
from agent_ls.domain.events import CancelRequested, WrapUpRequested
from agent_ls.loop.machine.machine import run_turn
from agent_ls.loop.ports.clock import Clock
from agent_ls.loop.shielding import settled
from agent_ls.loop.state.recorder import Recorder
from agent_ls.loop.turn import Turn
from agent_ls.session.child_faces import ChildApprover
from agent_ls.session.child_following import FINISH


async def run_in_time(turn: Turn, approver: ChildApprover, limits: AgentLimits) -> bool:
    """Run a sub-agent's turn to its end; return whether it ran out of time.

    Cancelling stops the turn first. Errors: the exception that broke the turn.
    """
    time = _Time(turn.services.clock, approver)
    task = asyncio.create_task(run_turn(turn))
    is_over = False
    try:
        if not await time.is_enough_for(task, limits.timeout_s):
            await turn.emit(WrapUpRequested(by="its time limit", text=FINISH))
            is_over = not await time.is_enough_for(task, limits.timeout_s + limits.grace_s)
    finally:
        await settled(_stopped(task, turn.recorder, "its time limit" if is_over else "its parent"))
    task.result()
    return is_over


class _Time:
    """A stopwatch that pauses while the sub-agent waits for the user."""

    def __init__(self, clock: Clock, approver: ChildApprover) -> None:
        self._clock, self._approver = clock, approver
        self._began_s = clock.monotonic_s()

    async def is_enough_for(self, task: asyncio.Task[Any], limit_s: float) -> bool:
        """Wait until the task ends (True) or has used up ``limit_s`` (False)."""
        while not task.done():
            worked_s = self._clock.monotonic_s() - self._began_s - self._approver.waited_s
            if worked_s >= limit_s:
                return False
            timer = asyncio.ensure_future(self._clock.sleep(limit_s - worked_s))
            try:
                await asyncio.wait([task, timer], return_when=asyncio.FIRST_COMPLETED)
            finally:
                timer.cancel()
        return True


async def _stopped(task: asyncio.Task[Any], recorder: Recorder, by: str) -> None:
    """Cancel a turn that still runs, and wait until it has ended in order."""
    if task.done():
        return
    await recorder.emit(CancelRequested(by=by))
    # A task that has just begun must first reach the point where it handles a cancellation.
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
