"""What to do when the conversation does not fit the model: shorten it once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.errors import ProviderFailure
from agent_ls.domain.model_io import FinishReason
from agent_ls.domain.record import Record
from agent_ls.domain.stops import StopReason
from agent_ls.domain.verdicts import Accept, Compact, Fail, RecoveryVerdict
from agent_ls.loop.extension_points import Attempt
from agent_ls.loop.state.view import TurnView


class ContextOverflowOptions(Record):
    """When an answer that was cut off means that the window is full."""

    length_share: float = Field(default=0.8, gt=0, le=1)
    """Part of the window from which a cut answer is blamed on the input, not on the output."""


@dataclass(frozen=True, slots=True)
class ContextOverflow:
    """Asks for a compaction, once between two answers, then gives up.

    Source: S3, compaction on overflow and on ``length`` with a large input.
    """

    name: ClassVar[str] = "context_overflow"
    options: ContextOverflowOptions = ContextOverflowOptions()

    async def judge(self, attempt: Attempt, view: TurnView) -> RecoveryVerdict:
        # A compaction begins another step, so count from the last answer.
        has_compacted = view.recoveries_since_answer(self.name) > 0
        if attempt.error is not None:
            if attempt.error.failure is not ProviderFailure.CONTEXT_OVERFLOW:
                return Accept()
            if has_compacted:
                return Fail(
                    StopReason.CONTEXT_FULL,
                    "The conversation does not fit the model, even after it was shortened. "
                    "Start a new session, or choose a model with a larger window.",
                )
            return Compact("The provider says that the conversation does not fit the model.")
        if not has_compacted and self._is_input_to_blame(attempt, view):
            return Compact("The answer was cut off because the input leaves no room for it.")
        return Accept()

    def _is_input_to_blame(self, attempt: Attempt, view: TurnView) -> bool:
        window = view.facts.window_tokens
        is_whole = attempt.calls and not attempt.cut_calls
        if attempt.finish is not FinishReason.LENGTH or window <= 0 or is_whole:
            return False
        return attempt.usage.input_tokens >= window * self.options.length_share
