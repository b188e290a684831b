"""Has the monitor outside the loop seen that the turn gets nowhere?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from agent_ls.domain.events import AdvisoryRaised, MonitorAlerted
from agent_ls.domain.stops import StopReason
from agent_ls.domain.verdicts import CheckVerdict, Escalate, Nudge, Proceed
from agent_ls.loop.view import TurnView


@dataclass(frozen=True, slots=True)
class MonitorAlert:
    """Tells the model of the monitor's first alert, and asks the person at the second.

    Source: seed 004, dual monitoring.
    """

    name: ClassVar[str] = "monitor_alert"

    async def check(self, view: TurnView) -> CheckVerdict:
        """Answer from the alerts since the person was last asked, and what was said of them."""
        if view.is_silenced(self.name):
            return Proceed()
        alerts: list[MonitorAlerted] = []
        is_told = False
        for stored in view.since_answer_to(self.name):
            match stored.event:
                case MonitorAlerted() as alert:
                    alerts.append(alert)
                case AdvisoryRaised(origin=self.name):
                    is_told = True
                case _:
                    pass
        if len(alerts) > 1:
            return Escalate(f"{alerts[-1].text} Go on?", StopReason.LOOP_DETECTED)
        if not alerts or is_told:
            return Proceed()
        return Nudge(
            f"{alerts[0].text} Step back: say what you know, what is missing, and take a "
            "different way. If there is none, say what blocks you.",
            priority=1,
        )
