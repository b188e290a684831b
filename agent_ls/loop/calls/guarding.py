"""Combines the guards' verdicts on one call: deny before defer before ask before allow."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from agent_ls.domain.verdicts import Allow, Ask, Consent, Defer, Deny, GuardVerdict
from agent_ls.loop.extension_points import PlannedCall
from agent_ls.loop.turn import Turn

NO_OBJECTION = "guards"
"""Origin of the verdict when no guard objected."""


NOT_CHECKED = Ask(
    "agent-ls could not check this call, as its log says. Allow it only if you know it is safe.",
    broad=False,
)
"""The verdict in place of a guard that failed."""

Decided = tuple[str, GuardVerdict]
"""The deciding guard's name and its verdict."""


async def decide(planned: PlannedCall, turn: Turn) -> Decided:
    """Return the strictest verdict and the guard it came from.

    The first Deny ends the round. Among several Asks a non-broad one wins, because no earlier grant
    may answer it. A guard that fails asks.
    """
    origin = NO_OBJECTION
    decided: Allow | Ask | Defer = Allow()
    reads_only = False
    consent: Consent = "none"
    for guard in turn.services.guards:
        verdict = await turn.consult(guard.name, guard.judge(planned, turn.view), NOT_CHECKED)
        if isinstance(verdict, Deny):
            return guard.name, verdict
        if isinstance(verdict, Allow):
            reads_only = reads_only or verdict.reads_only
            consent = verdict.consent if verdict.consent != "none" else consent
        if _rank(verdict) > _rank(decided):
            origin, decided = guard.name, verdict
    # Decided once and carried along: checking again later could give another answer.
    if isinstance(decided, Allow):
        decided = replace(decided, reads_only=reads_only, consent=consent)
    elif isinstance(decided, Ask):
        decided = replace(decided, reads_only=reads_only)
    return origin, decided


def _rank(verdict: Allow | Ask | Defer) -> int:
    match verdict:
        case Allow(after_s=after_s):
            return 1 if after_s else 0
        case Ask(broad=True):
            return 2
        case Ask():
            return 3
        case Defer():
            return 4
        case _:
            assert_never(verdict)
