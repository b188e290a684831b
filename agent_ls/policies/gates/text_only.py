"""Was this answer given without tools?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from agent_ls.domain.messages import AssistantMessage
from agent_ls.domain.stops import StopReason
from agent_ls.domain.verdicts import GateVerdict, Nudge, Pass
from agent_ls.loop.state.view import TurnView


@dataclass(frozen=True, slots=True)
class TextOnlyAnswer:
    """Lets the turn go on after a step without tools, which was only for thinking.

    Source: S0, circuit breaker; the check ``failure_circuit`` takes the tools away.
    """

    name: ClassVar[str] = "text_only"
    stop: ClassVar[StopReason] = StopReason.LOOP_DETECTED

    @property
    def cap(self) -> int:
        return 1

    async def judge(self, answer: AssistantMessage, view: TurnView) -> GateVerdict:
        request = view.turn.request
        if request is None or not request.text_only or view.nudges(self.name):
            return Pass()
        return Nudge(
            "You can call tools again. Carry on in the other way you described; if there is "
            "none, say what blocks you and what the user can do about it.",
            shown="The agent has thought without tools and can use them again.",
        )
