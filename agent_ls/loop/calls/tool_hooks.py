"""What hooks may do to a call: block it, change it, approve it, replace its result.

They run after the guards and before the user, so that the user sees what would run.
Invariant: a hook never weakens the guards. Changed arguments are judged again, and a call that
always asks still asks.
"""

from __future__ import annotations

import json

from pydantic import JsonValue

from agent_ls.domain.calls import ErrorKind, ToolResult
from agent_ls.domain.events import HookRan
from agent_ls.domain.hooks import Hook, HookOutcome, HookPoint
from agent_ls.domain.verdicts import Allow, Ask, Deny, GuardVerdict
from agent_ls.loop.calls.arguments import changed_call
from agent_ls.loop.calls.guarding import Decided, decide
from agent_ls.loop.extension_points import PlannedCall
from agent_ls.loop.hooks import FAILURES, HookResult, Hooks
from agent_ls.loop.state.view import TurnView
from agent_ls.loop.turn import Turn

_BEFORE, _AFTER = HookPoint.BEFORE_TOOL, HookPoint.AFTER_TOOL


def before_tool_hooks(planned: PlannedCall, turn: Turn) -> tuple[Hook, ...]:
    """Return the hooks to run before this call."""
    return turn.services.hooks.of(_BEFORE, planned.tool.name, planned.paths)


async def ask_before_tool(
    planned: PlannedCall, decided: Decided, turn: Turn
) -> tuple[PlannedCall, Decided]:
    """Return the call and its verdict after all hooks ran; the first block ends the round."""
    allowed_by = ""
    question: tuple[str, str] | None = None
    for hook in before_tool_hooks(planned, turn):
        if not isinstance(decided[1], Allow | Ask):
            break
        origin = f"hook {hook.name}"
        said = await _asked(hook, planned, decided, turn)
        outcome = said.outcome
        changed = planned
        if said.answer.arguments is not None and outcome is HookOutcome.PASSED:
            text = json.dumps(said.answer.arguments, ensure_ascii=False)
            found = changed_call(planned, text, planned.call.tool, turn.services.tools)
            if isinstance(found, ToolResult):
                said = said.failed(found.text.partition("\n")[0].removeprefix("error: "))
                outcome = said.outcome
            elif found.arguments != planned.arguments:
                changed, outcome, allowed_by = found, HookOutcome.CHANGED, ""
        if said.answer.decision == "allow" and said.outcome is HookOutcome.PASSED:
            allowed_by = origin
            outcome = HookOutcome.ALLOWED if changed is planned else outcome
        await turn.emit(said.ran(_BEFORE, hook, planned.call.id, outcome))
        if outcome is HookOutcome.BLOCKED or (outcome in FAILURES and hook.fail_closed):
            return planned, (origin, Deny(_refusal(hook, said), rule=origin))
        if changed is not planned:
            planned = changed
            decided = await decide(planned, turn)
        if said.answer.decision == "ask":
            why = f"The hook {hook.name} asks: {said.answer.reason or 'it gave no reason'}"
            question = question or (origin, why)
    return planned, _settled(decided, allowed_by, question)


def _settled(decided: Decided, allowed_by: str, question: tuple[str, str] | None) -> Decided:
    """Return the decision after all hooks; neither a hook nor a grant answers a hook's question.

    ``question`` is the first one, with its hook.
    """
    verdict = decided[1]
    if question is not None and (isinstance(verdict, Allow) or _is_broad(verdict)):
        origin, why = question
        return origin, Ask(why, broad=False, reads_only=_only_reads(verdict))
    if allowed_by and _is_broad(verdict):
        return allowed_by, Allow(reads_only=_only_reads(verdict), consent="user")
    return decided


def _is_broad(verdict: GuardVerdict) -> bool:
    return isinstance(verdict, Ask) and verdict.broad


def _only_reads(verdict: GuardVerdict) -> bool:
    return isinstance(verdict, Allow | Ask) and verdict.reads_only


async def _asked(hook: Hook, planned: PlannedCall, decided: Decided, turn: Turn) -> HookResult:
    verdict = decided[1]
    told = _told(planned, turn.view) | {
        "decision": "ask" if isinstance(verdict, Ask) else "allow",
        "reason": verdict.reason if isinstance(verdict, Ask) else "",
    }
    return await turn.services.hooks.ask(_BEFORE, hook, told, _path(planned))


async def ask_after_tool(
    planned: PlannedCall, result: ToolResult, view: TurnView, hooks: Hooks
) -> tuple[ToolResult, tuple[HookRan, ...]]:
    """Return the result after all hooks ran, each seeing the previous hook's change."""
    events: list[HookRan] = []
    for hook in hooks.of(_AFTER, planned.tool.name, planned.paths):
        told = _told(planned, view) | {
            "result": result.text,
            "error": result.error,
            "duration_ms": result.duration_ms,
        }
        said = await hooks.ask(_AFTER, hook, told, _path(planned))
        outcome = said.outcome
        if outcome in FAILURES and hook.fail_closed:
            text = f"The result is withheld: the hook {hook.name} failed ({said.text})."
            result = result.model_copy(
                update={"text": text, "data": None, "error": ErrorKind.RUNTIME}
            )
        elif outcome is HookOutcome.BLOCKED:
            text = f"{result.text}\n\nThe hook {hook.name} objects: {said.text}"
            result = result.model_copy(update={"text": text})
        elif said.answer.result is not None and said.answer.result != result.text:
            outcome = HookOutcome.CHANGED
            # The data may contain what the hook removed from the text.
            changes = {"text": said.answer.result, "data": result.data_of_end}
            result = result.model_copy(update=changes)
        elif said.answer.context:
            outcome = HookOutcome.CHANGED
            text = f"{result.text}\n\nThe hook {hook.name} says:\n{said.answer.context}"
            result = result.model_copy(update={"text": text})
        events.append(said.ran(_AFTER, hook, planned.call.id, outcome))
    return result, tuple(events)


def changed_by(call_id: str, view: TurnView) -> str:
    """Return who changed a call's arguments last, as text for the model: a hook, else the user."""
    names = [
        one.name
        for one in view.each(HookRan)
        if one.call_id == call_id and one.outcome is HookOutcome.CHANGED and one.point is _BEFORE
    ]
    return f"The hook {names[-1]}" if names else "The user"


def _told(planned: PlannedCall, view: TurnView) -> dict[str, JsonValue]:
    return {
        "session_id": view.session.session_id,
        "turn_id": view.turn.turn_id,
        "agent": view.session.agent,
        "mode": view.mode.value,
        "call_id": planned.call.id,
        "tool": planned.tool.name,
        "effect": planned.effect.value,
        "paths": list(planned.paths),
        "arguments": planned.arguments.model_dump(mode="json", exclude_unset=True),
    }


def _path(planned: PlannedCall) -> str:
    return planned.paths[0] if planned.paths else ""


def _refusal(hook: Hook, said: HookResult) -> str:
    if said.outcome in FAILURES:
        return f"The hook {hook.name} has to agree and failed ({said.text}), so nothing was done."
    return f"The hook {hook.name} blocked this call: {said.text}"
