"""Does the call change something although the session is in plan mode?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from agent_ls.domain.calls import Effect
from agent_ls.domain.modes import Mode
from agent_ls.domain.verdicts import Allow, Defer, Deny, GuardVerdict
from agent_ls.loop.sockets import PlannedCall
from agent_ls.loop.state.view import TurnView

_FREE = (Effect.READ, Effect.DELEGATE)
"""A sub-agent is in plan mode too."""


@dataclass(frozen=True, slots=True)
class PlanMode:
    """Puts writes and commands into a proposed plan instead of running them.

    Calls of a plan that the person decided to run are allowed. Source: seed 000, plan mode.
    """

    name: ClassVar[str] = "plan_mode"

    async def judge(self, planned: PlannedCall, view: TurnView) -> GuardVerdict:
        if view.mode is not Mode.PLAN or planned.effect in _FREE:
            return Allow()
        if planned.call.id in view.turn.allowed_calls.keys() | view.turn.released_calls:
            return Allow()
        if view.session.is_child:
            return Deny(
                f"The session is in plan mode, so {planned.tool.name} does not run. Only read, and "
                "describe in your answer what you would do."
            )
        return Defer(
            "Go on planning; when the plan is complete, describe it in your answer. The user then "
            "decides which steps run."
        )
