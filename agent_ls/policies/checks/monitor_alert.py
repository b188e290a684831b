"""Has the monitor outside the loop reported that the turn makes no progress?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from agent_ls.domain.events import (
    AdvisoryRaised,
    Event,
    MonitorAlerted,
    QuestionAsked,
    QuestionResolved,
)
from agent_ls.domain.stops import StopReason
from agent_ls.domain.verdicts import CheckVerdict, Escalate, Nudge, Proceed
from agent_ls.loop.state.view import TurnView


@dataclass(frozen=True, slots=True)
class MonitorAlert:
    """Nudges the model at the monitor's first alert, and asks the user at the second.

    Source: S4, dual monitoring.
    """

    name: ClassVar[str] = "monitor_alert"

    async def check(self, view: TurnView) -> CheckVerdict:
        heard = view.turn.events.tallied(_Heard)
        if not heard.alerts or view.is_silenced(self.name):
            return Proceed()
        newest = heard.alerts[-1]
        if len(heard.alerts) > 1:
            return Escalate(f"{newest.text} Go on?", StopReason.LOOP_DETECTED)
        if heard.is_told:
            return Proceed()
        return Nudge(
            f"{newest.text} Step back: say what you know, what is missing, and take a "
            "different way. If there is none, say what blocks you.",
            priority=1,
        )


class _Heard:
    def __init__(self) -> None:
        self.alerts: list[MonitorAlerted] = []
        self.is_told = False
        self._asked: set[str] = set()

    def see(self, event: Event) -> None:
        match event:
            case MonitorAlerted():
                self.alerts.append(event)
            case AdvisoryRaised(origin=MonitorAlert.name):
                self.is_told = True
            case QuestionAsked(question=question) if question.origin == MonitorAlert.name:
                self._asked.add(question.id)
            case QuestionResolved(question_id=name, answer=answer) if name in self._asked:
                # Without an answer, as after a restart, the question is still open.
                if answer.is_answered:
                    self.alerts, self.is_told = [], False
            case _:
                pass
