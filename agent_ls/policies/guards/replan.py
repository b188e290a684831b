"""Has exactly this call failed before, with nothing changed since?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.calls import ErrorKind
from agent_ls.domain.plans import PlanStatus
from agent_ls.domain.record import Record
from agent_ls.domain.sentences import one_line, sentence
from agent_ls.domain.verdicts import Allow, Deny, GuardVerdict
from agent_ls.loop.evidence.progress_signals import is_transient
from agent_ls.loop.evidence.retries import failures_in_vain, met_by
from agent_ls.loop.extension_points import PlannedCall
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.loop.state.view import TurnView

_SHOWN_CHARS = 300


class ReplanOptions(Record):
    """How failed calls may be repeated."""

    enabled: bool = True
    """Refuse to repeat a call that failed while nothing has changed since."""
    max_attempts: int = Field(default=3, ge=1)
    """Of one call whose failures look transient, before it counts as failed for good."""
    wait_s: float = Field(default=2.0, ge=0)
    """Before the first such repetition; doubles for each further one."""


@dataclass(frozen=True, slots=True)
class Replan:
    """Denies an identical retry of a failed call; after a transient failure, delays it instead.

    Source: S4, each retry uses a different approach; back-off 2 s, then 4 s.
    """

    name: ClassVar[str] = "replan"
    workspace: Workspace
    options: ReplanOptions = ReplanOptions()

    async def judge(self, planned: PlannedCall, view: TurnView) -> GuardVerdict:
        if not self.options.enabled:
            return Allow()
        call = planned.call
        failures = failures_in_vain(call.tool, call.arguments_json, view)
        if not failures:
            return Allow()
        last = failures[-1].result
        if last.error is ErrorKind.DENIED:
            asks = ", or ask with ask_user" if _is_offered("ask_user", view) else ""
            return Deny(
                "The user has rejected exactly this call and said nothing since, so they are not "
                f"asked again. Do it another way{asks}."
            )
        if (met := failures[-1].met) and met != await met_by(planned, self.workspace):
            # Others changed the files that the call is about, which no event records.
            return Allow()
        if len(failures) >= self.options.max_attempts:
            return Deny(f"Attempt {len(failures)} of just this call failed too. {_given_up(view)}")
        if is_transient(last):
            return Allow(after_s=self.options.wait_s * 2 ** (len(failures) - 1))
        return Deny(
            "Exactly this call has just failed and nothing has changed since, so it was not "
            f"repeated. It said: {sentence(one_line(last.text, _SHOWN_CHARS))} "
            "Try another way: other arguments, another tool, or change first what made it fail."
        )


def _given_up(view: TurnView) -> str:
    current = [one.text for one in view.session.plan if one.status is PlanStatus.IN_PROGRESS]
    item = f"The plan item “{current[0]}” has failed" if current else "This way has failed"
    if not _is_offered("update_plan", view):
        return f"{item}: go on with what does not depend on it, or take a different approach."
    return (
        f"{item}: mark it blocked with update_plan and say why, then go on with what does not "
        "depend on it, or take a different approach."
    )


def _is_offered(tool: str, view: TurnView) -> bool:
    prefix = view.session.prefix
    return prefix is None or tool in prefix.tools
