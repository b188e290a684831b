"""Does the conversation still fit the model's window?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.record import Record
from agent_ls.domain.stops import StopReason
from agent_ls.domain.verdicts import CheckVerdict, CloseOut, Compact, Proceed
from agent_ls.loop.state.view import TurnView


class ContextFullOptions(Record):
    """When the window counts as full."""

    share: float = Field(default=0.95, gt=0, le=1)
    """Part of the model's window; nothing is checked for a model whose window is unknown."""


@dataclass(frozen=True, slots=True)
class ContextFull:
    """Asks for a compaction, and closes the turn if that did not help.

    Source: S2 ``is_critically_full``, S0 ``hard_context_limit``.
    """

    name: ClassVar[str] = "context_full"
    options: ContextFullOptions = ContextFullOptions()

    async def check(self, view: TurnView) -> CheckVerdict:
        window = view.facts.window_tokens
        used = view.context_tokens
        if window <= 0 or used < window * self.options.share:
            return Proceed()
        why = f"The conversation takes {used:,} of the model's {window:,} tokens"
        if not view.has_compacted_since_answer:
            return Compact(f"{why}.")
        return CloseOut(
            StopReason.CONTEXT_FULL,
            f"{why} even after it was shortened. "
            "Start a new session, or choose a model with a larger window.",
        )
