"""What to do when a tool call's arguments were cut off: ask for a smaller call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.model_io import FinishReason
from agent_ls.domain.record import Record
from agent_ls.domain.verdicts import Accept, Reask, RecoveryVerdict, StepFailed
from agent_ls.loop.extension_points import Attempt
from agent_ls.loop.state.view import TurnView


class TruncatedCallOptions(Record):
    """How often a smaller call is asked for."""

    max_reasks: int = Field(default=2, ge=0)
    """In one step, before the step counts as failed."""


@dataclass(frozen=True, slots=True)
class TruncatedCall:
    """Drops an answer with cut calls; its complete calls do not run either.

    Source: S0, truncated tool call recovery.
    """

    name: ClassVar[str] = "truncated_call"
    options: TruncatedCallOptions = TruncatedCallOptions()

    async def judge(self, attempt: Attempt, view: TurnView) -> RecoveryVerdict:
        if attempt.error is not None or not attempt.cut_calls:
            return Accept()
        tools = ", ".join(dict.fromkeys(call.tool or "(no name)" for call in attempt.cut_calls))
        is_cut = attempt.finish is FinishReason.LENGTH
        if is_cut:
            advice = "Use smaller arguments: split the work into several calls, one per answer."
        else:
            advice = "Write the whole JSON object; keep it small."
        if view.recoveries(self.name) >= self.options.max_reasks:
            what = _what_happened("the model's", tools, is_cut=is_cut)
            return StepFailed(f"{what} Asking for smaller ones did not help.")
        what = _what_happened("your", tools, is_cut=is_cut)
        return Reask(f"{what} Nothing of that answer was run. {advice}")


def _what_happened(whose: str, tools: str, *, is_cut: bool) -> str:
    if is_cut:
        return f"The output limit cut off the arguments of {whose} call to {tools}."
    return f"The arguments of {whose} call to {tools} ended before their JSON was complete."
