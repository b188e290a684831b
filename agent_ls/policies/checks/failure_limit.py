"""Have too many steps in a row brought no usable answer?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.events import RecoveryChosen
from agent_ls.domain.record import Record
from agent_ls.domain.stops import StopReason
from agent_ls.domain.verdicts import CheckVerdict, Halt, Proceed
from agent_ls.loop.state.view import TurnView


class FailureLimitOptions(Record):
    """How many steps may fail."""

    max_failed_steps: int = Field(default=3, ge=1)
    """Steps in a row that brought no usable answer, such as one whose calls are all cut off."""


@dataclass(frozen=True, slots=True)
class FailureLimit:
    """Stops the turn after too many steps in a row without a usable answer.

    Source: S3 ``MAX_ERROR_COUNT``; here an answer resets the count.
    """

    name: ClassVar[str] = "failure_limit"
    options: FailureLimitOptions = FailureLimitOptions()

    async def check(self, view: TurnView) -> CheckVerdict:
        if view.failed_steps < self.options.max_failed_steps:
            return Proceed()
        return Halt(
            StopReason.ERROR,
            f"{view.failed_steps} steps in a row brought no usable answer from the model. "
            f"{_last_reason(view)}What was done stays. Prompt again later, or with another model.",
        )


def _last_reason(view: TurnView) -> str:
    """Return the recorded reason why the last step failed; empty without one."""
    reasons = [one.text for one in view.each(RecoveryChosen) if one.action == "fail_step"]
    return f"Last: {reasons[-1].strip()} " if reasons and reasons[-1].strip() else ""
