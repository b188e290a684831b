"""What hooks may do to a turn: add words for the model, block its prompt, object to its end.

A hook whose outcome is in the journal is not run again after a crash. Sub-agents only have hooks
at compaction.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from pydantic import JsonValue

from agent_ls.domain.errors import StoreError
from agent_ls.domain.events import HookRan, Moved
from agent_ls.domain.hooks import Hook, HookOutcome, HookPoint
from agent_ls.domain.messages import AssistantMessage
from agent_ls.domain.phases import Phase
from agent_ls.domain.stops import StopReason
from agent_ls.loop.hooks import FAILURES, HookResult, Hooks
from agent_ls.loop.state.recorder import Recorder
from agent_ls.loop.state.state import SessionState
from agent_ls.loop.turn import Move, Turn

_MAX_ADDED_CHARS = 8_000


async def ask_at_start(turn: Turn) -> Move | None:
    """Ask the hooks of a session's and a prompt's start, once a turn; a move: one blocked it."""
    if turn.session.is_child or turn.state.events.of(Moved):
        return None
    if turn.session.turns == 1:
        await _ask(turn, HookPoint.SESSION_START, {"model": turn.view.model})
    for one in await _ask(turn, HookPoint.PROMPT, {"prompt": turn.state.prompt}):
        if one.outcome is HookOutcome.BLOCKED:
            why = f"The hook {one.name} blocked this prompt: {one.text}"
            return Move(Phase.DONE, StopReason.BLOCKED, why)
    return None


async def ask_at_stop(turn: Turn, answer: AssistantMessage) -> Move | None:
    """Ask the hooks that may object to the turn's end; None: it may end."""
    if turn.session.is_child:
        return None
    texts: Mapping[Path, bytes] = {}
    if hooks := turn.services.hooks.of(HookPoint.STOP):
        texts = (await turn.services.hooks.saved(hooks)).texts
    told: dict[str, JsonValue] = {"answer": answer.text, "objections": _objections(turn)}
    for one in await _ask(turn, HookPoint.STOP, told, texts):
        if one.told:
            return Move(Phase.CHECK)
        if one.outcome is HookOutcome.BLOCKED and turn.state.final_output is None:
            why = f"The hook {one.name} still objects: {one.text}"
            return Move(Phase.DONE, StopReason.UNVERIFIED, why)
    return None


def is_sent_back(turn: Turn) -> bool:
    """Say whether a hook has objected since the last move."""
    return any(one.told for one in turn.view.each_since(HookRan, Moved))


async def ask_at_compaction(turn: Turn) -> None:
    """Tell the hooks that the conversation is shortened; what they print is added to it."""
    told: dict[str, JsonValue] = {
        "why": turn.state.why,
        "messages": len(turn.view.messages),
        "context_tokens": turn.view.context_tokens,
    }
    await _ask(turn, HookPoint.COMPACTION, told)


async def ask_at_end(hooks: Hooks, recorder: Recorder) -> None:
    """Run the hooks of a session's end, all at once."""
    state, point = recorder.state, HookPoint.SESSION_END

    async def run(hook: Hook) -> None:
        said = await hooks.ask(point, hook, {**_common(state), "turns": state.turns})
        if said.outcome is HookOutcome.BLOCKED:
            said = said.failed(f"a session's end cannot be blocked: {said.text}")
        with contextlib.suppress(StoreError):
            await recorder.emit(said.ran(point, hook))

    if not state.is_child:
        await asyncio.gather(*(run(hook) for hook in hooks.of(point)))


async def _ask(
    turn: Turn,
    point: HookPoint,
    told: dict[str, JsonValue],
    texts: Mapping[Path, bytes] | None = None,
) -> list[HookRan]:
    """Return what a point's hooks did since the last move; the first block ends the round."""
    ran = [one for one in turn.view.each_since(HookRan, Moved) if one.point is point]
    given = {**_common(turn.session), "turn_id": turn.state.turn_id, **told}
    for hook in turn.services.hooks.of(point)[len(ran) :]:
        if ran and ran[-1].outcome is HookOutcome.BLOCKED:
            break
        said = await turn.services.hooks.ask(point, hook, given, texts=texts)
        ran.append(_outcome(turn, point, hook, said))
        await turn.emit(ran[-1])
    return ran


def _outcome(turn: Turn, point: HookPoint, hook: Hook, said: HookResult) -> HookRan:
    is_blocked = said.outcome is HookOutcome.BLOCKED
    if point is HookPoint.PROMPT and said.outcome in FAILURES and hook.fail_closed:
        is_blocked = True
    elif is_blocked and point not in (HookPoint.PROMPT, HookPoint.STOP):
        said, is_blocked = said.failed(f"it cannot block: {said.text}"), False
    if is_blocked:
        event = said.ran(point, hook, outcome=HookOutcome.BLOCKED)
        return event.model_copy(update={"told": _objection(turn, hook, said)})
    added = (said.answer.context or "").strip()[:_MAX_ADDED_CHARS]
    if not added or point is HookPoint.STOP or said.outcome in FAILURES:
        return said.ran(point, hook)
    told = f"The user's hook {hook.name} says:\n{added}"
    event = replace(said, text=said.text or added).ran(point, hook, outcome=HookOutcome.CHANGED)
    return event.model_copy(update={"told": told})


def _objection(turn: Turn, hook: Hook, said: HookResult) -> str:
    """Return what a hook's objection tells the model; empty: the turn does not go on."""
    can_go_on = turn.state.phase is Phase.JUDGE and turn.state.final_output is None
    if not can_go_on or _objections(turn) >= turn.services.hooks.options.max_objections:
        return ""
    return f"The user's hook {hook.name} objects to the end of this turn: {said.text}"


def _objections(turn: Turn) -> int:
    stops = (one for one in turn.view.each(HookRan) if one.point is HookPoint.STOP)
    return sum(bool(one.told) for one in stops)


def _common(state: SessionState) -> dict[str, JsonValue]:
    return {"session_id": state.session_id, "agent": state.agent, "mode": state.mode.value}
