"""Takes one call from valid arguments to its one recorded result.

Prepare (guards, user), execute, finalize (follow-ups). Source: S0 phase 5.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from typing import Literal, assert_never

from agent_ls.domain.calls import Effect, ToolResult
from agent_ls.domain.events import CallDecided, GrantsRevoked, ToolCallFinished, ToolCallStarted
from agent_ls.domain.verdicts import Allow, Ask, Defer, Deny
from agent_ls.loop.calls.asking import ask, revoke_rules
from agent_ls.loop.calls.command_changes import run_watched
from agent_ls.loop.calls.deferred_calls import propose
from agent_ls.loop.calls.denials import denied
from agent_ls.loop.calls.guarding import Decided, decide
from agent_ls.loop.calls.keeping import keep_output
from agent_ls.loop.calls.made_files import settle_made_files
from agent_ls.loop.calls.tool_hooks import ask_before_tool, changed_by
from agent_ls.loop.evidence.retries import met_by_failure
from agent_ls.loop.extension_points import FollowUpOutcome, PlannedCall, Ran
from agent_ls.loop.state.state import CallState
from agent_ls.loop.turn import Turn

_AMENDED = "user"
"""Origin of an approval that the user gave by writing the arguments."""


async def carry_out(
    planned: PlannedCall, decided: Decided, turn: Turn, places: asyncio.Semaphore
) -> None:
    """Take a call that the guards have judged to its one result, and record it.

    It takes one of the ``places`` only after all approvals are given.
    """
    prepared = await _prepare(planned, decided, turn)
    if isinstance(prepared, ToolResult):
        met = await met_by_failure(planned, prepared, turn.services.workspace)
        await turn.emit(ToolCallFinished(result=prepared, met=met))
        return
    async with places:
        await _run(planned, prepared, turn)


async def _run(planned: PlannedCall, prepared: PlannedCall, turn: Turn) -> None:
    await turn.emit(
        ToolCallStarted(
            call_id=prepared.call.id,
            tool=prepared.tool.name,
            effect=prepared.effect,
            paths=prepared.paths,
            arguments_json=prepared.call.arguments_json,
            reads_only=prepared.reads_only,
        )
    )
    ran = await _execute(prepared, turn)
    if prepared.call != planned.call:
        ran = _told(ran, prepared, changed_by(prepared.call.id, turn.view), turn.state.calls)
    result = await _finalize(prepared, ran, turn)
    # Keyed by the model's own call, which is what it would repeat, not by the changed one.
    met = await met_by_failure(planned, ran.result, turn.services.workspace)
    await turn.emit(ToolCallFinished(result=result, effect=prepared.effect, met=met))


async def _prepare(planned: PlannedCall, decided: Decided, turn: Turn) -> PlannedCall | ToolResult:
    """Act on the guards' verdict and ask the user if needed. Amended calls are judged again.

    Returns the call to run, or the result of a call that may not run.
    """
    while True:
        planned, decided = await ask_before_tool(planned, decided, turn)
        origin, verdict = decided
        match verdict:
            case Allow():
                return await _allowed(planned, verdict, origin, turn)
            case Deny(reason=reason, whatever_tool=whatever_tool, rule=rule):
                await _decided(planned, turn, "deny", origin, reason, rule=rule)
                # ``denied`` may ask the user: ask one question at a time, and count earlier
                # denials first.
                async with turn.asking:
                    return await denied(
                        planned, reason, turn, whatever_tool=whatever_tool, is_counted=bool(rule)
                    )
            case Defer(reason=reason):
                # Serialised, so that the plan's steps keep the order of the calls.
                async with turn.asking:
                    await _decided(planned, turn, "defer", origin, reason)
                    return await propose(planned, reason, turn)
            case Ask():
                await _decided(planned, turn, "ask", origin, verdict.reason)
                outcome = await ask(planned, verdict, turn)
                if isinstance(outcome, ToolResult):
                    return outcome
                if outcome.call is planned.call:
                    # A rule that has covered it since may be about a part; nobody saw the rest.
                    consent = "user" if outcome.consent == "none" else outcome.consent
                    return replace(outcome, reads_only=verdict.reads_only, consent=consent)
                planned = outcome
                decided = await decide(planned, turn)
                if isinstance(decided[1], Ask) and decided[1].broad:
                    # The user wrote these arguments, which counts as approval.
                    decided = (_AMENDED, Allow(consent="user"))
            case _:
                assert_never(verdict)


async def _allowed(
    planned: PlannedCall, verdict: Allow, origin: str, turn: Turn
) -> PlannedCall | ToolResult:
    """Return a call that runs unasked, unless the user has to decide on what commands made."""
    if (refused := await settle_made_files(planned, turn)) is not None:
        return refused
    await _decided(planned, turn, "allow", origin)
    if verdict.after_s:
        await turn.services.clock.sleep(verdict.after_s)
    return replace(planned, reads_only=verdict.reads_only, consent=verdict.consent)


async def _decided(
    planned: PlannedCall,
    turn: Turn,
    decision: Literal["allow", "ask", "deny", "defer"],
    origin: str,
    reason: str = "",
    rule: str = "",
) -> None:
    await turn.emit(
        CallDecided(
            call_id=planned.call.id,
            decision=decision,
            origin=origin,
            reason=reason,
            rule=rule,
            effect=planned.effect,
        )
    )


def _told(ran: Ran, planned: PlannedCall, who: str, calls: Iterable[CallState]) -> Ran:
    """Tell the model that its call was changed, and who changed it."""
    changed = f"{who} changed the arguments to {planned.call.arguments_json}."
    if all(one.call.tool != planned.call.tool for one in calls if one.call.id == planned.call.id):
        changed = f"{who} replaced the call by {planned.call.tool}({planned.call.arguments_json})."
    result = ran.result.model_copy(update={"text": f"{changed}\n{ran.result.text}"})
    return Ran(result, ran.events)


async def _execute(planned: PlannedCall, turn: Turn) -> Ran:
    early = turn.early.get(planned.call)
    if early is not None and planned.effect is Effect.READ:
        ran = await early
        if ran is not None:
            return ran
    return await run_watched(planned, turn)


async def _finalize(planned: PlannedCall, ran: Ran, turn: Turn) -> ToolResult:
    result = ran.result
    for event in ran.events:
        await turn.emit(event)
    for one in turn.services.follow_ups:
        as_it_is = FollowUpOutcome(result)
        outcome = await turn.consult(one.name, one.follow(planned, result, turn.view), as_it_is)
        result = outcome.result
        for event in outcome.events:
            if isinstance(event, GrantsRevoked) and event.for_good:
                await revoke_rules(event, turn.services)
            await turn.emit(event)
    return await keep_output(planned, result, turn)
