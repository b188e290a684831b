"""PREPARE: what exactly do we send after the conversation?

Slots are ranked into a budget and never kept, so each request starts with the whole previous one
minus its slots. Source: S0 phase 2.
"""

from __future__ import annotations

from agent_ls.domain.events import AdvisoryRaised, PrefixSet, RequestPrepared
from agent_ls.domain.phases import Phase
from agent_ls.domain.stops import StopReason
from agent_ls.domain.verdicts import Slot
from agent_ls.loop.machine.llm_hooks import ask_before_llm_call
from agent_ls.loop.machine.prefix import made_from, project_rules, system_prompt
from agent_ls.loop.state.view import TurnView, text_tokens
from agent_ls.loop.turn import Move, Turn

_MIN_TRUNCATED_TOKENS = 100
"""A slot that would be cut below this size is dropped."""
_CUT = "\n[cut to fit]"
_MAX_PREFIX_SHARE = 0.75
"""Share of the window for the prefix. The rest is for the conversation, a result and an answer."""
_MAX_SENT_SHARE = 0.95
"""Share of the window for the whole request; the answer needs room too."""


async def prepare(turn: Turn) -> Move:
    """Set the prefix once a turn, collect the slots, and record the next request."""
    await _set_prefix(turn)
    await ask_before_llm_call(turn)
    view = turn.view
    if (too_small := _without_room(view)) is not None:
        return too_small
    proposed = _advisories(view)
    for one in turn.services.injections:
        slot = await turn.consult(one.name, one.propose(view), None)
        if slot is not None:
            proposed.append(slot)
    # Steers enter the conversation with this request.
    session = turn.session
    steers = [one for one in session.queue if one.kind == "steer"]
    slots = fit(proposed, _slot_tokens(turn, view))
    await turn.emit(
        RequestPrepared(
            step_id=turn.services.ids.new("stp"),
            number=view.steps + 1,
            slots=slots,
            text_only=view.turn.text_only,
            estimated_tokens=view.context_tokens + sum(map(text_tokens, slots)),
            messages=len(session.messages) + len(steers),
            window_tokens=turn.facts.window_tokens,
        )
    )
    return Move(Phase.CALL)


def _without_room(view: TurnView) -> Move | None:
    """Return the end of the turn if the model has no room for the request; None: it has."""
    window, prefix = view.facts.window_tokens, view.prefix_tokens
    if not window:
        return None
    of_window = f"the {window:,} tokens that {view.model} takes"
    if prefix > window * _MAX_PREFIX_SHARE:
        return Move(
            Phase.DONE,
            StopReason.ERROR,
            f"Instructions and tools take about {prefix:,} of {of_window}, which leaves too little "
            "for the work. Choose a model with a larger window, or fewer tools with the setting "
            "allowed_tools.",
        )
    if not view.steps and view.context_tokens > window * _MAX_SENT_SHARE:
        rest = view.context_tokens - prefix
        return Move(
            Phase.DONE,
            StopReason.CONTEXT_FULL,
            f"The conversation takes about {rest:,} tokens, instructions and tools {prefix:,}: "
            f"together more than {of_window}. Put long texts into a file, which the agent can read "
            "in parts, begin a new session, or choose a model with a larger window.",
        )
    return None


def _slot_tokens(turn: Turn, view: TurnView) -> int:
    budget, window = turn.services.options.injection_budget_tokens, view.facts.window_tokens
    if not window:
        return budget
    return max(min(budget, int(window * _MAX_SENT_SHARE) - view.context_tokens), 0)


def fit(proposed: list[Slot], budget_tokens: int) -> tuple[str, ...]:
    """Return the slots' texts by priority, each cut to its limit and to what is left of the budget.

    One of which too little would be left is dropped.
    """
    taken: list[str] = []
    left = budget_tokens
    for slot in sorted(proposed, key=lambda slot: slot.priority):
        text = _cut(slot.text, min(slot.max_tokens, left))
        if text:
            taken.append(text)
            left -= text_tokens(text)
    return tuple(taken)


def _cut(text: str, limit_tokens: int) -> str:
    """Return the text cut to the limit; empty when too little would be left."""
    if text_tokens(text) <= limit_tokens:
        return text
    if limit_tokens < _MIN_TRUNCATED_TOKENS:
        return ""
    return text[: limit_tokens * 4 - len(_CUT) - 16] + _CUT


def _advisories(view: TurnView) -> list[Slot]:
    return [
        Slot(one.origin, one.priority, text_tokens(one.text), one.text)
        for one in view.each_since(AdvisoryRaised, RequestPrepared)
    ]


async def _set_prefix(turn: Turn) -> None:
    """Record the request's fixed prefix if it is new or had to change.

    The provider's cache is keyed by it. Rules, mode, model, folders and tools change it; new files
    in the project tree do not.
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
