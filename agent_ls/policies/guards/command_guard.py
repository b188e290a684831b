"""Must the command never run, or must a user see it in every mode?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from agent_ls.domain.verdicts import Allow, Ask, Deny, GuardVerdict
from agent_ls.loop.extension_points import PlannedCall
from agent_ls.loop.ports.commands import Runner
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.loop.state.view import TurnView
from agent_ls.safety.commands import decide_call


@dataclass(frozen=True, slots=True)
class CommandGuard:
    """Denies catastrophic commands, and asks for those that a user must see each time.

    Applies in every mode, whatever was granted; ``approval`` decides on ordinary commands. Source:
    S2 blocked commands, S0 danger levels.
    """

    name: ClassVar[str] = "command_guard"
    workspace: Workspace
    runner: Runner | None = None

    async def judge(self, planned: PlannedCall, view: TurnView) -> GuardVerdict:
        boundary = "off" if self.runner is None else self.runner.boundary
        verdict = await decide_call(planned, self.workspace, boundary)
        match verdict:
            case Deny():
                return verdict
            case Ask(broad=False) | Allow():
                return verdict
            case _:
                return Allow()
