"""Shortens the conversation without a model: the oldest part becomes a mechanical summary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.record import Record
from agent_ls.domain.verdicts import CompactorVerdict, Shortened, Unchanged
from agent_ls.loop.machine.summaries import allowed_cuts, cut, mechanical_summary, tokens_of
from agent_ls.loop.state.compaction import CHARS_PER_TOKEN
from agent_ls.loop.state.view import TurnView, message_tokens, text_tokens

_SUMMARY_TOKENS = 1_000
"""Rough size of a summary without the goal."""


class WindowOptions(Record):
    """What a mechanical summary may take."""

    goal_share: float = Field(default=0.25, gt=0, le=1)
    """Part of the target that the user's prompt, kept word for word, may take."""


@dataclass(frozen=True, slots=True)
class Window:
    """Replaces the oldest messages by a mechanical summary, until the rest fits.

    Source: S2 level 3, S0 message truncation.
    """

    name: ClassVar[str] = "window"
    options: WindowOptions = WindowOptions()

    async def compact(self, view: TurnView, target_tokens: int) -> CompactorVerdict:
        cuts = allowed_cuts(view.messages)
        if not cuts or view.estimated_tokens <= target_tokens:
            return Unchanged()
        goal = cut(view.turn.prompt, int(target_tokens * self.options.goal_share) * CHARS_PER_TOKEN)
        surplus = view.estimated_tokens - target_tokens + text_tokens(goal) + _SUMMARY_TOKENS
        sizes = [message_tokens(message) for message in view.messages]
        chosen = next((one for one in cuts if sum(sizes[:one]) >= surplus), cuts[-1])
        summary = mechanical_summary(view, view.messages[:chosen], goal)
        if text_tokens(summary) >= tokens_of(view.messages[:chosen]):
            return Unchanged()
        return Shortened(chosen, summary)
