"""Does the custom command that began the turn leave this call?"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import ClassVar

from agent_ls.domain.calls import Effect
from agent_ls.domain.errors import WorkspaceError
from agent_ls.domain.rules import PatternRule, parse_rule
from agent_ls.domain.verdicts import Allow, Ask, Deny, GuardVerdict
from agent_ls.loop.ports.commands import Runner
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.loop.sockets import PlannedCall
from agent_ls.loop.state.view import TurnView
from agent_ls.safety.commands import COMMAND_TOOL, decide_call
from agent_ls.safety.rule_matching import allowing


@dataclass(frozen=True, slots=True)
class CommandRules:
    """Asks for what a command's ``allowed-tools`` does not name, where it names a part of a tool.

    With ``Bash(git add:*)`` other commands ask, except for those that only read.
    """

    name: ClassVar[str] = "command_rules"
    workspace: Workspace
    runner: Runner | None = None

    async def judge(self, planned: PlannedCall, view: TurnView) -> GuardVerdict:
        rules = [
            rule
            for rule in map(parse_rule, view.turn.limits.rules)
            if rule.subject == _subject(planned)
        ]
        if not rules or await self._only_reads(planned):
            return Allow()
        try:
            if await asyncio.to_thread(allowing, planned, self.workspace, rules):
                return Allow()
        except WorkspaceError as error:
            return Deny(str(error), whatever_tool=True)
        return Ask(f"The command of this turn names only {_said(rules)}.", broad=False)

    async def _only_reads(self, planned: PlannedCall) -> bool:
        boundary = "off" if self.runner is None else self.runner.boundary
        match await decide_call(planned, self.workspace, boundary):
            case Allow(reads_only=True):
                return True
            case _:
                return False


def _subject(planned: PlannedCall) -> str:
    if planned.tool.name == COMMAND_TOOL:
        return "run_command"
    return "edit" if planned.effect is Effect.WRITE else "tool"


def _said(rules: list[PatternRule]) -> str:
    return ", ".join(rule.pattern for rule in rules)
