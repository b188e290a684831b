"""What to do when the output limit cut an answer off: let the model continue it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.model_io import FinishReason
from agent_ls.domain.record import Record
from agent_ls.domain.verdicts import Accept, AcceptAsPartial, Compact, Continue, RecoveryVerdict
from agent_ls.loop.extension_points import Attempt
from agent_ls.loop.state.view import TurnView

_GO_ON = (
    "Your answer was cut off by the output limit. Go on exactly where it stopped, "
    "without repeating anything and without a word about the interruption."
)


class ContinuationOptions(Record):
    """How often a cut answer is continued."""

    max_continuations: int = Field(default=3, ge=0)
    """Of one answer; then the conversation is shortened once, then the text so far is the answer.

    0: a cut answer is taken as it is.
    """
    compact_share: float = Field(default=0.5, ge=0, le=1)
    """Part of the window from which shortening the conversation may make room for the answer."""


@dataclass(frozen=True, slots=True)
class Continuation:
    """Keeps the text so far and asks for the rest; only for answers without calls.

    Source: S0, max-tokens continuation; S3, forced compaction on ``length``.
    """

    name: ClassVar[str] = "continuation"
    options: ContinuationOptions = ContinuationOptions()

    async def judge(self, attempt: Attempt, view: TurnView) -> RecoveryVerdict:
        is_cut_text = (
            attempt.error is None
            and attempt.finish is FinishReason.LENGTH
            and not attempt.calls
            and not attempt.cut_calls
            and bool(attempt.text.strip())
        )
        if not is_cut_text or not self.options.max_continuations:
            return Accept()
        # A compaction begins another step, so count from the last answer.
        if view.recoveries_since_answer(self.name) < self.options.max_continuations:
            return Continue(_GO_ON)
        if not view.has_compacted_since_answer and self._may_room_help(view):
            return Compact("The answer is longer than it can be continued.", carry_on=_GO_ON)
        return AcceptAsPartial(
            "The answer was cut off by the output limit again and again; what there is of it "
            "stands. Ask for less at once, or raise loop.max_output_tokens."
        )

    def _may_room_help(self, view: TurnView) -> bool:
        """Say whether a shorter conversation could make room for the answer."""
        window = view.facts.window_tokens
        return window <= 0 or view.context_tokens >= window * self.options.compact_share
