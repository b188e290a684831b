"""Shortens the newest results when they leave no room in the model's window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.messages import ToolMessage
from agent_ls.domain.record import Record
from agent_ls.domain.verdicts import CompactorVerdict, Shortened, Unchanged
from agent_ls.loop.machine.summaries import tokens_of
from agent_ls.loop.state.compaction import CHARS_PER_TOKEN, MAX_SENT_SHARE, result_chars_for
from agent_ls.loop.state.view import TurnView


class NewestResultsOptions(Record):
    """When the newest results are shortened, and how far."""

    from_share: float = Field(default=0.95, gt=0, le=1)
    """Part of the window that has to be full, unless the provider refused the request."""
    min_share: float = Field(default=0.5, gt=0, le=1)
    """Part of the target that the newest results get, however much the rest takes."""


@dataclass(frozen=True, slots=True)
class NewestResults:
    """Cuts the largest results since the last answer until they fit; says how to read the rest.

    Runs last, because the model has not seen these results yet: the older part goes first.
    """

    name: ClassVar[str] = "newest_results"
    options: NewestResultsOptions = NewestResultsOptions()

    async def compact(self, view: TurnView, target_tokens: int) -> CompactorVerdict:
        window = view.facts.window_tokens
        is_full = window and view.context_tokens >= window * self.options.from_share
        if not (is_full or view.is_compaction_forced):
            return Unchanged()
        messages = view.messages
        first = max((at for at, one in enumerate(messages) if one.role == "assistant"), default=0)
        results = [one for one in messages[first:] if isinstance(one, ToolMessage)]
        rest = view.estimated_tokens - tokens_of(results)
        room = max(target_tokens - rest, int(target_tokens * self.options.min_share))
        if window:
            room = min(room, int(window * MAX_SENT_SHARE) - rest)
        chars = result_chars_for([len(one.text) for one in results], room * CHARS_PER_TOKEN)
        if chars >= max((len(one.text) for one in results), default=0):
            return Unchanged()
        return Shortened(0, "", chars, first)
