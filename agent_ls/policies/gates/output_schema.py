"""Did the model give its result in the shape that the user asked for?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.messages import AssistantMessage
from agent_ls.domain.record import Record
from agent_ls.domain.stops import StopReason
from agent_ls.domain.verdicts import GateVerdict, Nudge, Pass
from agent_ls.loop.state.view import TurnView


class OutputSchemaOptions(Record):
    """How often the model is asked for its output."""

    max_nudges: int = Field(default=3, ge=0)
    """In one turn, before it ends as ``unverified``."""


@dataclass(frozen=True, slots=True)
class OutputSchema:
    """Asks the model for its final output if the user gave a schema for it.

    Source: S1, termination and continuation.
    """

    name: ClassVar[str] = "output_schema"
    stop: ClassVar[StopReason] = StopReason.UNVERIFIED
    options: OutputSchemaOptions = OutputSchemaOptions()

    @property
    def cap(self) -> int:
        return self.options.max_nudges

    async def judge(self, answer: AssistantMessage, view: TurnView) -> GateVerdict:
        if view.turn.output_schema is None or view.turn.final_output is not None:
            return Pass()
        if view.turn.text_only:
            return Pass()
        return Nudge(
            "The user wants the result as an object of a given shape. Call final_output with it.",
            shown="The answer came without the result in the shape that was asked for.",
        )
