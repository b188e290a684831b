"""What to do when an answer is empty: ask again, then accept it and say so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.record import Record
from agent_ls.domain.verdicts import Accept, Promote, Reask, RecoveryVerdict
from agent_ls.loop.extension_points import Attempt
from agent_ls.loop.state.view import TurnView


class EmptyOptions(Record):
    """How often an answer is asked for again."""

    max_reasks: int = Field(default=2, ge=0)
    """In one step, before the empty answer is accepted, with words that say so."""


@dataclass(frozen=True, slots=True)
class Empty:
    """Handles answers without text, reasoning and calls. Source: S0, empty response retry."""

    name: ClassVar[str] = "empty"
    options: EmptyOptions = EmptyOptions()

    async def judge(self, attempt: Attempt, view: TurnView) -> RecoveryVerdict:
        # In a text-only step calls do not count, because they are discarded.
        calls = not view.turn.text_only and (attempt.calls or attempt.cut_calls)
        has_something = attempt.text.strip() or attempt.reasoning.strip() or calls
        # A continued answer may end with nothing more to say: the earlier text is the answer.
        if attempt.error is not None or has_something or view.turn.partial_text:
            return Accept()
        asked = view.recoveries(self.name)
        if asked >= self.options.max_reasks:
            times = "once" if asked == 0 else f"{asked + 1} times in a row"
            return Promote(f"(The model gave an empty answer {times}.)")
        if view.turn.text_only:
            return Reask(
                "Your answer had no words, and calls do not run in this step. "
                "Say in words what is done and what is not."
            )
        return Reask(
            "Your answer was empty. Go on with the task: call a tool, "
            "or tell the user the result if there is nothing left to do."
        )
