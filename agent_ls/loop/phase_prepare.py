"""PREPARE: what exactly do we send behind the conversation?

Slots are ranked into a budget and never kept, so that each request begins with the whole
previous one minus its slots. Source: seed 000 phase 2.
"""

from __future__ import annotations

import logging

from agent_ls.domain.errors import StoreError
from agent_ls.domain.events import AdvisoryRaised, PrefixSet, RequestPrepared
from agent_ls.domain.phases import Phase
from agent_ls.domain.verdicts import Slot
from agent_ls.loop.llm_hooks import ask_before_llm_call
from agent_ls.loop.prefix import made_from, project_rules, system_prompt
from agent_ls.loop.turn import Move, Turn
from agent_ls.loop.view import TurnView, text_tokens

_log = logging.getLogger(__name__)

_MIN_TRUNCATED_TOKENS = 100
"""Less than this of a slot says nothing; then it is dropped."""
_CUT = "\n[cut to fit]"


async def prepare(turn: Turn) -> Move:
    """Set the prefix once a turn, gather the slots, and record what the next request carries."""
    await _set_prefix(turn)
    await ask_before_llm_call(turn)
    view = turn.view
    proposed = _advisories(view)
    for one in turn.kit.injections:
        try:
            await turn.breathe()
            slot = await one.propose(view)
        except StoreError:
            raise
        except Exception:
            _log.exception("injection %s failed; the request goes without it", one.name)
            continue
        if slot is not None:
            proposed.append(slot)
    # What the user said meanwhile goes into the conversation with this request.
    session = turn.session
    steers = [one for one in session.queue if one.kind == "steer"]
    slots = fit(proposed, turn.kit.options.injection_budget_tokens)
    await turn.emit(
        RequestPrepared(
            step_id=turn.kit.ids.new("stp"),
            number=view.steps + 1,
            slots=slots,
            text_only=view.turn.text_only,
            estimated_tokens=view.context_tokens + sum(map(text_tokens, slots)),
            messages=len(session.messages) + len(steers),
        )
    )
    return Move(Phase.CALL)


def fit(proposed: list[Slot], budget_tokens: int) -> tuple[str, ...]:
    """Return the slots' texts that fit, by priority; the last may be cut."""
    taken: list[str] = []
    left = budget_tokens
    for slot in sorted(proposed, key=lambda slot: slot.priority):
        text = _cut(slot.text, min(slot.max_tokens, left))
        if text:
            taken.append(text)
            left -= text_tokens(text)
    return tuple(taken)


def _cut(text: str, limit_tokens: int) -> str:
    """Return the text, shortened to the limit; empty when too little would be left."""
    if text_tokens(text) <= limit_tokens:
        return text
    if limit_tokens < _MIN_TRUNCATED_TOKENS:
        return ""
    return text[: limit_tokens * 4 - len(_CUT) - 16] + _CUT


def _advisories(view: TurnView) -> list[Slot]:
    """Return what the checks said since the last request as slots."""
    return [
        Slot(one.origin, one.priority, text_tokens(one.text), one.text)
        for one in view.each_since(AdvisoryRaised, RequestPrepared)
    ]


async def _set_prefix(turn: Turn) -> None:
    """Announce the request's unchanging front when it is new or had to change.

    The provider's cache is keyed by it, so a file more or less in the project's tree does not
    change it; rules, mode, model, folders and tools do.
    """
    if any(True for _ in turn.view.each(PrefixSet)):
        return
    before = turn.session.prefix
    if before is not None:
        known = await project_rules(turn, before.nested_rules)
        if before.made_of == made_from(turn, known.text):
            return
    rules = await project_rules(turn)
    await turn.emit(
        PrefixSet(
            system=await system_prompt(turn, rules.text),
            tools=tuple(spec.name for spec in turn.specs),
            made_of=made_from(turn, rules.text),
            nested_rules=rules.nested,
            reason="first" if before is None else "rules, mode, model, folders or tools changed",
        )
    )
