"""What a session has used, turn by turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agent_ls.domain.events import StoredEvent
from agent_ls.domain.sentences import counted
from agent_ls.domain.usage import Usage
from agent_ls.observers.call_summary import short
from agent_ls.observers.report.words import duration, money, tokens
from agent_ls.observers.trace import TurnTrace
from agent_ls.observers.tracing import trace_of

_PROMPT_CHARACTERS = 40


def cost_lines(journal: Sequence[StoredEvent]) -> list[str]:
    """Return a line for each turn, and one for all of them."""
    trace = trace_of(journal)
    lines = [f"{number:>3}  {_used(turn)}" for number, turn in enumerate(trace.turns, 1)]
    total = sum((turn.usage for turn in trace.turns), Usage())
    steps = sum(len(turn.steps) for turn in trace.turns)
    return [*lines, f"all  {_sum(total, steps)}  {trace.model}"]


def cost_rows(journal: Sequence[StoredEvent]) -> dict[str, Any]:
    """Return the same for programs; an unknown price is null."""
    trace = trace_of(journal)
    return {
        "session_id": trace.session_id,
        "model": trace.model,
        "usage": sum((turn.usage for turn in trace.turns), Usage()).as_dict(),
        "turns": [
            {
                "turn_id": turn.turn_id,
                "prompt": short(turn.prompt),
                "steps": len(turn.steps),
                "duration_ms": turn.duration_ms,
                "usage": turn.usage.as_dict(),
            }
            for turn in trace.turns
        ],
    }


def _used(turn: TurnTrace) -> str:
    prompt = short(turn.prompt, _PROMPT_CHARACTERS)
    return f"{_sum(turn.usage, len(turn.steps))}  {duration(turn.duration_ms)}  {prompt}"


def _sum(usage: Usage, steps: int) -> str:
    cached = f", {tokens(usage.cache_read_tokens)} cached" if usage.cache_read_tokens else ""
    return (
        f"{money(usage.cost_usd, of_tokens=usage.total_tokens):<13}  {counted(steps, 'step')}  "
        f"{tokens(usage.input_tokens)} in{cached}, {tokens(usage.output_tokens)} out"
    )
