"""Is the call among those that the turn's custom command and the sub-agent's kind allow?"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from agent_ls.domain.calls import Effect, is_server_tool
from agent_ls.domain.errors import WorkspaceError
from agent_ls.domain.rules import PatternRule, parse_rule
from agent_ls.domain.verdicts import Allow, Ask, Deny, GuardVerdict
from agent_ls.loop.extension_points import PlannedCall
from agent_ls.loop.ports.commands import Runner
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.loop.state.view import TurnView
from agent_ls.safety.commands import COMMAND_TOOL, decide_call
from agent_ls.safety.rule_matching import allowing


@dataclass(frozen=True, slots=True)
class CommandRules:
    """Asks about a call whose tool the list of allowed tools grants only in part, without it.

    With ``Bash(git add:*)`` other commands ask, except for those that only read. A sub-agent's
    call has to fit the list of the command, and that of its kind.
    """

    name: ClassVar[str] = "command_rules"
    workspace: Workspace
    runner: Runner | None = None

    async def judge(self, planned: PlannedCall, view: TurnView) -> GuardVerdict:
        limits = view.turn.limits
        of_command, of_kind = _about(limits.rules, planned), _about(limits.kind_rules, planned)
        if not (of_command or of_kind) or await self._only_reads(planned):
            return Allow()
        for whose, rules in (("turn's command", of_command), ("sub-agent's kind", of_kind)):
            try:
                if not rules or await asyncio.to_thread(allowing, planned, self.workspace, rules):
                    continue
            except WorkspaceError as error:
                return Deny(str(error), whatever_tool=True)
            return Ask(f"The {whose} allows only {_patterns(rules)}.", broad=False)
        return Allow()

    async def _only_reads(self, planned: PlannedCall) -> bool:
        boundary = "off" if self.runner is None else self.runner.boundary
        match await decide_call(planned, self.workspace, boundary):
            case Allow(reads_only=True):
                return True
            case _:
                return False


def _about(rules: Iterable[str], planned: PlannedCall) -> list[PatternRule]:
    subject = _subject(planned)
    return [rule for rule in map(parse_rule, rules) if rule.subject == subject]


def _subject(planned: PlannedCall) -> str:
    """Return what kind of rule is about a call; empty: none, as for our tools that only look."""
    if planned.tool.name == COMMAND_TOOL:
        return "run_command"
    if is_server_tool(planned.tool.name):
        return "tool"
    return "edit" if planned.effect is Effect.WRITE else ""


def _patterns(rules: Iterable[PatternRule]) -> str:
    return ", ".join(rule.pattern for rule in rules)
