"""Does a rule by pattern deny the call, or want it to be asked for?"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import ClassVar

from agent_ls.domain.errors import WorkspaceError
from agent_ls.domain.rules import PatternRule
from agent_ls.domain.verdicts import Allow, Deny, GuardVerdict
from agent_ls.loop.extension_points import PlannedCall
from agent_ls.loop.ports.approval import Rules
from agent_ls.loop.ports.commands import Runner
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.loop.state.view import TurnView
from agent_ls.safety.rule_matching import objection


@dataclass(frozen=True, slots=True)
class StandingRules:
    """Applies the rules that deny or ask, in every mode; ``approval`` applies those that allow.

    Source: S0 permission rules.
    """

    name: ClassVar[str] = "standing_rules"
    workspace: Workspace
    rules: Rules | None = None
    runner: Runner | None = None

    async def judge(self, planned: PlannedCall, view: TurnView) -> GuardVerdict:
        if self.rules is None:
            return Allow()
        folders = [root.path for root in self.workspace.roots]
        rules = await asyncio.to_thread(self.rules.patterns, folders)
        strict: list[PatternRule] = [one for one in rules if one.decision != "allow"]
        if not strict:
            return Allow()
        is_held = self.runner is not None and self.runner.boundary == "sandbox"
        is_held &= not getattr(planned.arguments, "outside_sandbox", False)
        try:
            found = await asyncio.to_thread(
                objection, planned, self.workspace, strict, is_held=is_held
            )
        except WorkspaceError as error:
            return Deny(str(error), whatever_tool=True)
        return found or Allow()
