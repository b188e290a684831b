"""Is the conversation long enough that its older part should be summarised?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.events import Compacted
from agent_ls.domain.messages import AssistantMessage
from agent_ls.domain.record import Record
from agent_ls.domain.verdicts import CheckVerdict, Compact, Proceed
from agent_ls.loop.machine.summaries import cut_before_steps, tokens_of
from agent_ls.loop.state.view import TurnView


class ContextPressureOptions(Record):
    """When a conversation is summarised of itself."""

    share: float = Field(default=0.75, ge=0, le=1)
    """Part of the model's window; where that is unknown the exchanges alone count. 0: never."""
    min_exchanges: int = Field(default=8, ge=0)
    """Only after more than so many answers with calls."""
    keep_steps: int = Field(default=4, ge=1)
    """The last answers, which are never summarised."""
    min_tokens: int = Field(default=2_000, ge=0)
    """An older part smaller than this stays."""
    cooldown_s: float = Field(default=60.0, ge=0)
    """The shortest time between two compactions that nobody forced."""


@dataclass(frozen=True, slots=True)
class ContextPressure:
    """Asks for a compaction before the window is full.

    Source: S2 level 2 (8 exchanges, 75 %), S3 trigger, S0 cool-down.
    """

    name: ClassVar[str] = "context_pressure"
    options: ContextPressureOptions = ContextPressureOptions()

    async def check(self, view: TurnView) -> CheckVerdict:
        options = self.options
        window = view.facts.window_tokens
        # The cheap test comes first: the others go through the whole conversation.
        if not options.share or (window and view.context_tokens <= window * options.share):
            return Proceed()
        exchanges = sum(
            isinstance(one, AssistantMessage) and bool(one.calls) for one in view.messages
        )
        if exchanges <= options.min_exchanges or self._is_too_soon(view):
            return Proceed()
        older = view.messages[: cut_before_steps(view.messages, options.keep_steps)]
        if tokens_of(older) < options.min_tokens:
            return Proceed()
        size = f"{view.context_tokens:,} of {window:,}" if window else f"{view.context_tokens:,}"
        return Compact(f"The conversation has {exchanges} exchanges and takes {size} tokens.")

    def _is_too_soon(self, view: TurnView) -> bool:
        if view.has_compacted_since_answer:
            return True
        ago_s = [view.elapsed_s - one.elapsed_s for one in view.each(Compacted)]
        # A resumed turn counts its time from 0, so an older compaction can lie ahead of it.
        return any(0 <= one < self.options.cooldown_s for one in ago_s)
