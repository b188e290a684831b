"""What to do when an answer was cut off by the output limit: let the model go on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.model_io import FinishReason
from agent_ls.domain.record import Record
from agent_ls.domain.verdicts import Accept, Continue, RecoveryVerdict
from agent_ls.loop.sockets import Attempt
from agent_ls.loop.view import TurnView


class ContinuationOptions(Record):
    """How often a cut answer is continued."""

    max_continuations: int = Field(default=3, ge=0)
    """In one step; then what there is counts as the answer."""


@dataclass(frozen=True, slots=True)
class Continuation:
    """Keeps the text so far and asks for the rest, for answers of text alone.

    Source: seed 000, max-tokens continuation.
    """

    name: ClassVar[str] = "continuation"
    options: ContinuationOptions = ContinuationOptions()

    async def judge(self, attempt: Attempt, view: TurnView) -> RecoveryVerdict:
        """Answer from the finish and how often this step was continued."""
        is_cut_text = (
            attempt.error is None
            and attempt.finish is FinishReason.LENGTH
            and not attempt.calls
            and not attempt.cut_calls
            and bool(attempt.text.strip())
        )
        if not is_cut_text or view.recoveries(self.name) >= self.options.max_continuations:
            return Accept()
        return Continue(
            "Your answer was cut off by the output limit. Go on exactly where it stopped, "
            "without repeating anything and without a word about the interruption."
        )
