"""Shortens the conversation as far as it goes: cuts results, and logs the older part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.record import Record
from agent_ls.domain.verdicts import CompactorVerdict, Shortened
from agent_ls.loop.machine.summaries import allowed_cuts, cut, mechanical_summary
from agent_ls.loop.state.view import TurnView


class WorkLogOptions(Record):
    """What stays when a turn makes the most of the rest of its budget."""

    keep_messages: int = Field(default=10, ge=1)
    """The newest messages, which stay."""
    max_result_chars: int = Field(default=800, ge=100)
    """What stays of each result among them."""
    goal_chars: int = Field(default=16_000, ge=400)
    """The user's prompt is kept word for word up to this size."""


@dataclass(frozen=True, slots=True)
class WorkLog:
    """Keeps the prompt, the newest messages with cut results, and a log of the work before.

    Used only when tokens or money run out; needs no model. Source: S0, budget recovery.
    """

    name: ClassVar[str] = "work_log"
    options: WorkLogOptions = WorkLogOptions()

    async def compact(self, view: TurnView, target_tokens: int) -> CompactorVerdict:
        options = self.options
        newest = len(view.messages) - options.keep_messages
        at = max((one for one in allowed_cuts(view.messages) if one <= newest), default=0)
        goal = cut(view.turn.prompt, options.goal_chars)
        summary = mechanical_summary(view, view.messages[:at], goal) if at else ""
        return Shortened(at, summary, options.max_result_chars)
