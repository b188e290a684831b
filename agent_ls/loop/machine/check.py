"""CHECK: may the turn take another step?

Source: S0 phase 1, S2 safety nets, S3 counters, S4 termination.
"""

from __future__ import annotations

from typing import assert_never

from agent_ls.domain.events import AdvisoryRaised, Moved
from agent_ls.domain.phases import Phase
from agent_ls.domain.verdicts import (
    CheckVerdict,
    CloseOut,
    Compact,
    Escalate,
    Halt,
    Nudge,
    Proceed,
    Recover,
    TextOnly,
)
from agent_ls.loop.evidence.findings import reported
from agent_ls.loop.extension_points import Check
from agent_ls.loop.machine.escalating import escalate, follow_earlier_answers
from agent_ls.loop.machine.opening_calls import take_opening_calls
from agent_ls.loop.machine.turn_hooks import ask_at_start
from agent_ls.loop.turn import Move, Turn


async def check(turn: Turn) -> Move:
    """Ask the checks in order. Advisories accumulate; the first check that decides wins."""
    if (blocked := await ask_at_start(turn)) is not None:
        return blocked
    if await take_opening_calls(turn):
        return Move(Phase.ACT)
    if (answered := await follow_earlier_answers(turn)) is not None:
        return answered
    text_only = False
    for one in turn.services.checks:
        verdict = await turn.consult(one.name, one.check(turn.view), Proceed())
        text_only = text_only or isinstance(verdict, TextOnly)
        if (move := await _done(one, verdict, turn)) is not None:
            return move
    return Move(Phase.PREPARE, text_only=text_only)


async def _done(one: Check, verdict: CheckVerdict, turn: Turn) -> Move | None:
    match verdict:
        case Proceed():
            await _show(verdict, turn)
            return None
        case Nudge(text=text, priority=priority):
            await turn.emit(AdvisoryRaised(origin=one.name, text=text, priority=priority))
            await _show(verdict, turn)
            return None
        case TextOnly(why=why):
            # A restarted CHECK may have raised it already.
            said = turn.view.each_since(AdvisoryRaised, Moved)
            if not any(one.name == each.origin for each in said):
                await turn.emit(AdvisoryRaised(origin=one.name, text=why, priority=0))
            return None
        case Compact(why=why):
            return Move(Phase.COMPACT, why=why)
        case Recover(why=why):
            return Move(Phase.COMPACT, why=why, recovers=True)
        case CloseOut(stop=stop, why=why):
            return Move(Phase.CLOSE, stop, why)
        case Halt(stop=stop, why=why):
            return Move(Phase.DONE, stop, why)
        case Escalate():
            return await escalate(turn, one.name, verdict)
        case _:
            assert_never(verdict)


async def _show(verdict: Proceed | Nudge, turn: Turn) -> None:
    if verdict.report is not None:
        for event in reported(verdict.report, verdict.paths, turn.view):
            await turn.emit(event)
