"""The machine: a walk over the phases that ends with exactly one stop reason.

It asks no policy's name and knows no tool; what a phase wants is data, checked against the
transition table.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from agent_ls.domain.calls import Effect, ErrorKind, ToolResult
from agent_ls.domain.errors import AgentLsError, StoreError, bug
from agent_ls.domain.events import Moved, ToolCallFinished, TurnEnded
from agent_ls.domain.phases import SUCCESSORS, Phase
from agent_ls.domain.plans import PlanStatus
from agent_ls.domain.stops import STATUS, StopReason, TurnStatus
from agent_ls.loop.phase_act import act
from agent_ls.loop.phase_call import call
from agent_ls.loop.phase_check import check
from agent_ls.loop.phase_close import close
from agent_ls.loop.phase_compact import compact
from agent_ls.loop.phase_judge import judge
from agent_ls.loop.phase_prepare import prepare
from agent_ls.loop.turn import Move, Turn

_log = logging.getLogger(__name__)

PHASES: dict[Phase, Callable[[Turn], Awaitable[Move]]] = {
    Phase.CHECK: check,
    Phase.COMPACT: compact,
    Phase.PREPARE: prepare,
    Phase.CALL: call,
    Phase.ACT: act,
    Phase.JUDGE: judge,
    Phase.CLOSE: close,
}


async def run_turn(turn: Turn) -> TurnEnded:
    """Walk from the phase the state gives to DONE and return how it ended.

    Cancelling the task ends the turn as ``cancelled``: open calls get a result, and the
    cancellation is not raised again, for the end is the answer to it.

    Errors: ``StoreError`` when the end itself cannot be stored.
    """
    try:
        while turn.state.phase is not Phase.DONE:
            await _step(turn)
    except asyncio.CancelledError:
        await _finish_open(turn, StopReason.CANCELLED, "Stopped.", ErrorKind.CANCELLED)
    except StoreError:
        raise
    except AgentLsError as error:
        await _finish_open(turn, StopReason.ERROR, str(error), ErrorKind.INTERRUPTED)
    except Exception as error:
        _log.exception("the turn broke off")
        why = str(bug(f"{type(error).__name__}: {error}"))
        await _finish_open(turn, StopReason.ERROR, why, ErrorKind.INTERRUPTED)
    return await _end(turn)


async def _step(turn: Turn) -> None:
    """Run the current phase and make the move it asks for."""
    phase = turn.state.phase
    move = await PHASES[phase](turn)
    if move.to not in SUCCESSORS[phase]:
        raise bug(f"{phase} may not go to {move.to}")
    await turn.emit(Moved(to=move.to, stop=move.stop, why=move.why, text_only=move.text_only))


async def _finish_open(turn: Turn, stop: StopReason, why: str, kind: ErrorKind) -> None:
    """Give every open call its result, then move to DONE."""
    if turn.state.phase is Phase.DONE:
        return
    for state in turn.state.open_calls:
        text = "Cancelled before it started; it had no effect."
        if state.effect is not None:
            text = "Cancelled while it ran; its effect is unknown. Verify before repeating it."
        await turn.emit(
            ToolCallFinished(
                result=ToolResult(call_id=state.call.id, text=text, error=kind),
                effect=state.effect or Effect.READ,
            )
        )
    await turn.emit(Moved(to=Phase.DONE, stop=stop, why=why))


async def _end(turn: Turn) -> TurnEnded:
    """Record the end, with what a person needs to know of it."""
    state = turn.state
    stop = state.stop or StopReason.COMPLETED
    status = STATUS[stop]
    open_tasks = tuple(
        item.text
        for item in turn.session.plan
        if item.status in (PlanStatus.PENDING, PlanStatus.IN_PROGRESS)
    )
    ended = TurnEnded(
        turn_id=state.turn_id,
        stop=stop,
        status=status,
        output=state.partial_text + state.answer.text if state.answer else state.partial_text,
        failure_reason="" if status is TurnStatus.SUCCESS else state.why,
        is_authentication=turn.view.is_authentication_failure,
        open_tasks=open_tasks,
    )
    await turn.emit(ended)
    return ended
