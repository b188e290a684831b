"""Does the call change something although the session is in plan mode?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from agent_ls.domain.calls import Effect
from agent_ls.domain.modes import Mode
from agent_ls.domain.verdicts import Allow, Defer, Deny, GuardVerdict
from agent_ls.loop.extension_points import PlannedCall
from agent_ls.loop.ports.commands import Runner
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.loop.state.view import TurnView
from agent_ls.safety.commands import decide_call
from agent_ls.safety.sandbox.beyond import beyond

_FREE = (Effect.READ, Effect.DELEGATE)
"""A sub-agent is in plan mode too."""


@dataclass(frozen=True, slots=True)
class PlanMode:
    """Puts writes, and commands that do not merely read, into a proposed plan.

    Calls of a plan that the user decided to run are allowed. Source: S0, plan mode.
    """

    name: ClassVar[str] = "plan_mode"
    workspace: Workspace
    runner: Runner | None = None

    async def judge(self, planned: PlannedCall, view: TurnView) -> GuardVerdict:
        if view.mode is not Mode.PLAN or planned.effect in _FREE:
            return Allow()
        if planned.call.id in view.turn.allowed_calls.keys() | view.turn.released_calls:
            return Allow()
        boundary = "off" if self.runner is None else self.runner.boundary
        verdict = await decide_call(planned, self.workspace, boundary)
        if isinstance(verdict, Allow) and verdict.reads_only and not beyond(planned, boundary):
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
