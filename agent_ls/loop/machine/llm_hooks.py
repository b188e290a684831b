"""What hooks may do to a model request: remove tools and change the system prompt.

A change is recorded as a new prefix, because it invalidates the provider's cache. Each step starts
again from the unhooked prefix. Source: S3, ``beforeLLMCall`` and ``afterLLMCall``.
"""

from __future__ import annotations

from pydantic import JsonValue

from agent_ls.domain.events import AttemptFinished
from agent_ls.domain.hooks import HookOutcome, HookPoint
from agent_ls.loop.extension_points import Attempt
from agent_ls.loop.turn import Turn

_BEFORE, _AFTER = HookPoint.BEFORE_LLM_CALL, HookPoint.AFTER_LLM_CALL


async def ask_before_llm_call(turn: Turn) -> None:
    """Let the hooks change system prompt and tools of the next request; record any change."""
    prefix, hooks = turn.session.prefix, turn.services.hooks.of(_BEFORE)
    offered = tuple(spec.name for spec in turn.specs)
    if prefix is None or (not hooks and prefix.unhooked is None and prefix.tools == offered):
        return
    plain = prefix.system if prefix.unhooked is None else prefix.unhooked
    system, tools = plain, offered
    changed_by: list[str] = []
    for hook in hooks:
        said = await turn.services.hooks.ask(_BEFORE, hook, _told(turn, system, tools))
        wanted = system if said.answer.system is None else said.answer.system
        allowed = tools if said.answer.tools is None else said.answer.tools
        left = tuple(one for one in tools if one in allowed)
        if said.outcome is HookOutcome.BLOCKED:
            said = said.failed(f"a model request cannot be blocked: {said.text}")
        elif not left:
            # Providers reject a conversation that contains calls when no tools are offered.
            said = said.failed("none of the tools would be left")
        outcome = said.outcome
        if outcome is HookOutcome.PASSED and (wanted, left) != (system, tools):
            system, tools, outcome = wanted, left, HookOutcome.CHANGED
            changed_by.append(hook.name)
        await turn.emit(said.ran(_BEFORE, hook, outcome=outcome))
    if (system, tools) == (prefix.system, prefix.tools):
        return
    by = "the tools on offer changed" if prefix.unhooked is None else "no hook changes it now"
    if changed_by:
        by = f"changed by the hooks {', '.join(changed_by)}"
    is_plain = (system, tools) == (plain, offered)
    changed = {"system": system, "tools": tools, "reason": by}
    await turn.emit(prefix.model_copy(update=changed | {"unhooked": None if is_plain else plain}))


async def ask_after_llm_call(turn: Turn, attempt: Attempt, finished: AttemptFinished) -> None:
    """Show the hooks how a request ended, including failures."""
    for hook in turn.services.hooks.of(_AFTER):
        said = await turn.services.hooks.ask(_AFTER, hook, _ended(turn, attempt, finished))
        if said.outcome is HookOutcome.BLOCKED:
            said = said.failed(f"it comes too late to block: {said.text}")
        await turn.emit(said.ran(_AFTER, hook))


def _told(turn: Turn, system: str, tools: tuple[str, ...]) -> dict[str, JsonValue]:
    view = turn.view
    return {
        "session_id": view.session.session_id,
        "turn_id": view.turn.turn_id,
        "agent": view.session.agent,
        "mode": view.mode.value,
        "step": view.steps + 1,
        "model": view.model,
        "system": system,
        "tools": list(tools),
        "messages": len(view.messages),
        "context_tokens": view.context_tokens,
    }


def _ended(turn: Turn, attempt: Attempt, finished: AttemptFinished) -> dict[str, JsonValue]:
    return {
        "session_id": turn.session.session_id,
        "turn_id": turn.state.turn_id,
        "agent": turn.session.agent,
        "mode": turn.view.mode.value,
        "step": turn.state.step_number,
        "model": finished.model,
        "finish": finished.finish,
        "failure": finished.failure,
        "message": finished.message,
        "text": attempt.text,
        "calls": [call.tool for call in attempt.calls],
        "usage": finished.usage.model_dump(mode="json"),
        "duration_ms": finished.duration_ms,
    }
