"""The machine: walks the phases until a turn ends with exactly one stop reason.

It knows no policy and no tool by name. A phase returns its move as data, which is checked against
the transition table.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from agent_ls.domain.calls import ErrorKind
from agent_ls.domain.errors import AgentLsError, StoreError, bug
from agent_ls.domain.events import Answered, CancelRequested, GateFailed, Moved, TurnEnded
from agent_ls.domain.phases import SUCCESSORS, Phase
from agent_ls.domain.sentences import seconds
from agent_ls.domain.stops import STATUS, StopReason, TurnStatus
from agent_ls.loop.machine.abort import results_of_open_calls
from agent_ls.loop.machine.act import act
from agent_ls.loop.machine.call import call
from agent_ls.loop.machine.check import check
from agent_ls.loop.machine.close import close
from agent_ls.loop.machine.compact import compact
from agent_ls.loop.machine.final_output import output_text
from agent_ls.loop.machine.judge import judge
from agent_ls.loop.machine.prepare import prepare
from agent_ls.loop.machine.results import lack_of
from agent_ls.loop.shielding import finished
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

_KEEPS_TIME = frozenset({Phase.CALL, Phase.ACT, Phase.CLOSE})


async def run_turn(turn: Turn) -> TurnEnded | None:
    """Walk from the current phase to DONE and return how the turn ended.

    Cancelling the task ends the turn as ``cancelled``: open calls get a result, and the
    cancellation is not raised again.
    None: the turn was left open for the next process (``Turn.is_left``).
    Errors: ``StoreError`` when the end itself cannot be stored.
    """
    break_off = None
    try:
        await _walk(turn)
    except asyncio.CancelledError:
        if turn.is_left and turn.state.phase is not Phase.DONE:
            await finished(turn.services.compile_checks.cancel_all(turn.state.turn_id))
            return None
        break_off = _BreakOff(StopReason.CANCELLED, "Stopped.", ErrorKind.CANCELLED)
    except AgentLsError as error:
        break_off = _BreakOff(StopReason.ERROR, str(error), ErrorKind.INTERRUPTED)
    except Exception as error:
        _log.exception("the turn broke off")
        why = str(bug(f"{type(error).__name__}: {error}"))
        break_off = _BreakOff(StopReason.ERROR, why, ErrorKind.INTERRUPTED)
    finally:
        turn.discard_early()
    return await finished(_conclude(turn, break_off))


@dataclass(frozen=True, slots=True)
class _BreakOff:
    stop: StopReason
    why: str
    kind: ErrorKind
    """The error kind that its open calls get."""


async def _walk(turn: Turn) -> None:
    if any(True for _ in turn.view.each(CancelRequested)):
        # The process died between the cancel request and the end; the request still counts.
        raise asyncio.CancelledError
    await turn.settle_tools()
    while turn.state.phase is not Phase.DONE:
        # The user or a recovery may have switched the model.
        await turn.learn_facts()
        await _step(turn)


async def _conclude(turn: Turn, break_off: _BreakOff | None) -> TurnEnded:
    """Give open calls their results and record the end.

    Errors: ``StoreError`` when the end cannot be stored; it was shown to the readers by then.
    """
    # Nobody would see the results of checks that still run.
    await turn.services.compile_checks.cancel_all(turn.state.turn_id)
    if turn.state.phase is Phase.DONE:
        # The turn reached DONE by itself.
        break_off = None
    if break_off is not None:
        await _finish_open(turn, break_off.stop, break_off.why, break_off.kind)
    return await _end(turn, break_off)


async def _step(turn: Turn) -> None:
    phase = turn.state.phase
    move = await _walked(turn, phase)
    if move.to not in SUCCESSORS[phase]:
        raise bug(f"{phase} may not go to {move.to}")
    await turn.emit(
        Moved(
            to=move.to,
            stop=move.stop,
            why=move.why,
            text_only=move.text_only,
            recovers=move.recovers,
        )
    )


async def _walked(turn: Turn, phase: Phase) -> Move:
    """Run a phase within the turn's time; phases in ``_KEEPS_TIME`` limit themselves."""
    limit_s = None if phase in _KEEPS_TIME else turn.within(None)
    limit = asyncio.timeout(limit_s)
    try:
        async with limit:
            return await PHASES[phase](turn)
    except TimeoutError:
        if not limit.expired():
            raise
    to = Phase.CLOSE if Phase.CLOSE in SUCCESSORS[phase] else Phase.DONE
    why = (
        f"The turn's time of {seconds(turn.services.turn_limit_s)} is over: raise "
        "policies.wall_clock.limit_s, or --timeout of `agent-ls run`."
    )
    return Move(to, StopReason.TIMEOUT, why)


async def _finish_open(turn: Turn, stop: StopReason, why: str, kind: ErrorKind) -> None:
    how = "Cancelled" if kind is ErrorKind.CANCELLED else "Broken off"
    for finished_call in results_of_open_calls(
        turn.state,
        kind,
        not_begun=f"{how} before it started; it had no effect.",
        begun=f"{how} while it ran; its effect is unknown. Verify before repeating it.",
    ):
        # If the store fails, storing the end afterwards raises the error.
        with contextlib.suppress(StoreError):
            await turn.emit(finished_call)
    with contextlib.suppress(StoreError):
        await turn.emit(Moved(to=Phase.DONE, stop=stop, why=why))


def _output(turn: Turn) -> str:
    """Return the turn's output: the final output, a gate's replacement, or the last answer."""
    if (output := output_text(turn)) is not None:
        return output
    failed = turn.view.each_since(GateFailed, Answered)
    if failed and failed[-1].instead:
        return failed[-1].instead
    state = turn.state
    return state.partial_text + (state.answer.text if state.answer else "")


async def _end(turn: Turn, break_off: _BreakOff | None) -> TurnEnded:
    state = turn.state
    stop = break_off.stop if break_off else state.stop or StopReason.COMPLETED
    why = break_off.why if break_off else state.why
    status = STATUS[stop]
    if status is TurnStatus.SUCCESS:
        why = lack_of(state)
        status = TurnStatus.PARTIAL if why else status
    ended = TurnEnded(
        turn_id=state.turn_id,
        stop=stop,
        status=status,
        output=_output(turn),
        failure_reason=why,
        is_authentication=turn.view.is_authentication_failure,
        open_tasks=tuple(item.text for item in turn.view.open_tasks),
    )
    await turn.emit(ended)
    return ended
