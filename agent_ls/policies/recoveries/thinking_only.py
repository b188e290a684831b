"""What to do about reasoning without an answer: ask again, then answer with the reasoning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.record import Record
from agent_ls.domain.verdicts import Accept, Promote, Reask, RecoveryVerdict
from agent_ls.loop.extension_points import Attempt
from agent_ls.loop.printed.reading import without_calls
from agent_ls.loop.state.view import TurnView

_NOTHING = "(The model only thought, and gave no answer.)"


class ThinkingOnlyOptions(Record):
    """How often a visible answer is asked for."""

    max_reasks: int = Field(default=1, ge=0)
    """In one step, before the reasoning itself becomes the answer."""


@dataclass(frozen=True, slots=True)
class ThinkingOnly:
    """Handles reasoning without visible text and without calls.

    Source: S0, thinking-only nudge and promotion.
    """

    name: ClassVar[str] = "thinking_only"
    options: ThinkingOnlyOptions = ThinkingOnlyOptions()

    async def judge(self, attempt: Attempt, view: TurnView) -> RecoveryVerdict:
        # In a text-only step calls do not count, because they are discarded.
        calls = not view.turn.text_only and (attempt.calls or attempt.cut_calls)
        is_thinking_only = (
            attempt.error is None
            and attempt.reasoning.strip()
            and not attempt.text.strip()
            and not calls
        )
        # A continued answer may end with nothing more to say: the earlier text is the answer.
        if not is_thinking_only or view.turn.partial_text:
            return Accept()
        if view.recoveries(self.name) >= self.options.max_reasks:
            # A call that was only thought of does not run.
            return Promote(without_calls(attempt.reasoning).strip() or _NOTHING)
        return Reask(
            "You produced reasoning but no visible answer. "
            "Answer now: call a tool, or write what the user should read."
        )
