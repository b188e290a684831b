"""CHECK: may we take another step?

Source: seed 000 phase 1, seed 002 safety nets, seed 003 counters, seed 004 termination.
"""

from __future__ import annotations

import logging
from typing import assert_never

from agent_ls.domain.approvals import Question
from agent_ls.domain.errors import StoreError
from agent_ls.domain.events import AdvisoryRaised, PromptQueued
from agent_ls.domain.phases import Phase
from agent_ls.domain.verdicts import (
    CheckVerdict,
    CloseOut,
    Compact,
    Escalate,
    Halt,
    Nudge,
    Proceed,
    TextOnly,
)
from agent_ls.loop.sockets import Check
from agent_ls.loop.turn import Move, Turn

_log = logging.getLogger(__name__)


async def check(turn: Turn) -> Move:
    """Ask the checks in order; advisories gather, the first that decides wins."""
    text_only = False
    for one in turn.kit.checks:
        verdict = await _checked(one, turn)
        match verdict:
            case Proceed():
                continue
            case Nudge(text=text, priority=priority):
                await turn.emit(AdvisoryRaised(origin=one.name, text=text, priority=priority))
            case TextOnly():
                text_only = True
            case Compact(why=why):
                return Move(Phase.COMPACT, why=why)
            case CloseOut(stop=stop, why=why):
                return Move(Phase.CLOSE, stop, why)
            case Halt(stop=stop, why=why):
                return Move(Phase.DONE, stop, why)
            case Escalate():
                if (move := await escalate(turn, one.name, verdict)) is not None:
                    return move
            case _:
                assert_never(verdict)
    return Move(Phase.PREPARE, text_only=text_only)


async def _checked(one: Check, turn: Turn) -> CheckVerdict:
    """Return the check's verdict; one that fails holds nobody up."""
    try:
        return await one.check(turn.view)
    except StoreError:
        raise
    except Exception:
        _log.exception("check %s failed; the turn goes on without it", one.name)
        return Proceed()


async def escalate(turn: Turn, origin: str, verdict: Escalate) -> Move | None:
    """Ask the person whether to go on; words become a steer; None when the turn goes on."""
    question = Question(
        id=turn.kit.ids.new("qst"),
        turn_id=turn.state.turn_id,
        origin=origin,
        text=verdict.question,
        options=("continue", "stop"),
    )
    answer = await turn.kit.approver.ask(question)
    if not answer.is_answered or answer.text.strip().lower() == "stop":
        return Move(Phase.DONE, verdict.stop, verdict.question)
    if answer.text.strip().lower() != "continue":
        await turn.emit(PromptQueued(text=answer.text, kind="steer"))
    return None
