"""JUDGE: is the answer acceptable?

Gates run cheapest first and the first failing gate decides; it reports all its findings in one
nudge. Source: S0 phase 6, S2 and S4.
"""

from __future__ import annotations

from typing import assert_never

from agent_ls.domain.events import GateFailed, GoalChecked, Moved, NudgeAdded
from agent_ls.domain.phases import Phase
from agent_ls.domain.stops import StopReason
from agent_ls.domain.verdicts import Escalate, GateVerdict, Nudge, Pass
from agent_ls.loop.calls.deferred_calls import decide_on_plan
from agent_ls.loop.evidence.findings import reported
from agent_ls.loop.extension_points import Gate
from agent_ls.loop.machine.escalating import escalate
from agent_ls.loop.machine.turn_hooks import ask_at_stop, is_sent_back
from agent_ls.loop.turn import Move, Turn

_AT_THE_CAP: dict[StopReason, str] = {
    StopReason.INCOMPLETE_ACTION: "The agent kept announcing what it would do and did not do it.",
    StopReason.UNVERIFIED: "The agent could not make the checks pass:",
    StopReason.OPEN_TASKS: "The agent stopped although its plan still has open items.",
}
"""Text for the user when a gate has reached its cap."""
_SAYS_WHAT = frozenset({StopReason.UNVERIFIED})
"""Stop reasons for which the gate's own text is appended."""


async def judge(turn: Turn) -> Move:
    """Ask the gates; a failed gate nudges and returns to CHECK, until its cap."""
    if turn.state.due_calls:
        # The process died right after the decision on a plan.
        return Move(Phase.ACT)
    answer = turn.state.answer
    is_nudged = bool(turn.view.each_since(NudgeAdded, Moved)) or is_sent_back(turn)
    if answer is None or is_nudged or turn.view.has_new_steer:
        return Move(Phase.CHECK)
    for gate in turn.services.gates:
        verdict = await turn.consult(gate.name, gate.judge(answer, turn.view), Pass())
        if (move := await _after(turn, gate, verdict)) is not None:
            return move
    if (move := await decide_on_plan(turn)) is not None:
        # Approved calls run, whatever else the user said meanwhile.
        return move
    if (move := await ask_at_stop(turn, answer)) is not None:
        return move
    # The user may have steered while the gates ran, or instead of deciding on the plan.
    if turn.view.has_new_steer:
        return Move(Phase.CHECK)
    if turn.state.final_output is not None:
        return Move(Phase.DONE, StopReason.FINAL_OUTPUT)
    return Move(Phase.DONE, turn.state.stop or StopReason.COMPLETED)


async def _after(turn: Turn, gate: Gate, verdict: GateVerdict) -> Move | None:
    match verdict:
        case Pass():
            await _report(turn, gate, verdict)
            return None
        case Nudge():
            await _report(turn, gate, verdict)
            if turn.state.final_output is None:
                return await _fail(turn, gate, verdict)
            # The final output stands: a failed gate is reported, but does not go back to CHECK.
            await turn.emit(GateFailed(origin=gate.name, text=verdict.shown or verdict.text))
            return None
        case Escalate():
            move = await escalate(turn, gate.name, verdict)
            return move or Move(Phase.CHECK)
        case _:
            assert_never(verdict)


async def _fail(turn: Turn, gate: Gate, nudge: Nudge) -> Move:
    shown = nudge.shown or nudge.text
    await turn.emit(GateFailed(origin=gate.name, text=shown, instead=nudge.instead))
    if turn.view.nudges(gate.name) >= gate.cap:
        why = _AT_THE_CAP.get(gate.stop, "The answer was not accepted.")
        return Move(Phase.DONE, gate.stop, f"{why} {shown}" if gate.stop in _SAYS_WHAT else why)
    await turn.emit(NudgeAdded(origin=gate.name, text=nudge.text))
    return Move(Phase.CHECK)


async def _report(turn: Turn, gate: Gate, verdict: Pass | Nudge) -> None:
    if verdict.proofs:
        await turn.emit(GoalChecked(origin=gate.name, proofs=verdict.proofs))
    if verdict.report is not None:
        for event in reported(verdict.report, verdict.paths, turn.view):
            await turn.emit(event)
