"""Does the mode let the call run without asking, or has a user allowed it before?"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import ClassVar, assert_never

from agent_ls.domain.calls import Effect, is_server_tool
from agent_ls.domain.modes import Mode
from agent_ls.domain.rules import granted_rule
from agent_ls.domain.verdicts import Allow, Ask, Deny, GuardVerdict
from agent_ls.loop.calls.plans import is_as_approved
from agent_ls.loop.extension_points import PlannedCall
from agent_ls.loop.ports.approval import Rules
from agent_ls.loop.ports.commands import Boundary, Runner
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.loop.state.view import TurnView
from agent_ls.safety.commands import decide_call
from agent_ls.safety.rule_matching import allowing, granted_hosts
from agent_ls.safety.sandbox.beyond import beyond
from agent_ls.safety.sandbox.surroundings import REGISTRIES
from agent_ls.safety.stale_grants import stale_grants

_JUDGED_LATER = frozenset({Effect.DELEGATE})
"""A sub-agent has no more rights than its parent, and each of its calls is judged."""


@dataclass(frozen=True, slots=True)
class Approval:
    """Decides by permission mode, the call's effect, and earlier grants.

    Source: S2 confirmation modes, S0 permission check, S4 autonomy levels.
    """

    name: ClassVar[str] = "approval"
    workspace: Workspace
    rules: Rules | None = None
    runner: Runner | None = None

    async def judge(self, planned: PlannedCall, view: TurnView) -> GuardVerdict:
        grant = planned.grant
        rule = await self._rule(grant)
        if rule == "reject":
            why = f"A rule of the user rejects this always ({grant}); do it another way."
            return Deny(why, rule=f"reject {grant}")
        match view.mode:
            case Mode.PLAN:
                # The guard ``plan_mode`` has stopped calls that are not part of an approved plan.
                return await self._unless_free(planned, view, free=_JUDGED_LATER | {Effect.READ})
            case Mode.ASK_ALL:
                # In this mode the user wants to see each call, so no grant counts.
                return Ask("Mode ask-all: each call asks first.", broad=False)
            case Mode.ASK:
                return await self._unless_free(planned, view, free=_JUDGED_LATER | {Effect.READ})
            case Mode.ACCEPT_EDITS:
                free = _JUDGED_LATER | {Effect.READ, Effect.WRITE}
                return await self._unless_free(planned, view, free=free)
            case Mode.AUTO:
                needs = await self._beyond(planned, granted=REGISTRIES)
                return await self._unless_granted(planned, view, needs)
            case _:
                assert_never(view.mode)

    async def _permitted(self, planned: PlannedCall, view: TurnView) -> str:
        """Return what the user has allowed that covers this call; empty for nothing."""
        grant, roots = planned.grant, self.workspace.roots
        if grant is not None and await self._holds(grant, view):
            return grant
        if await self._beyond(planned):
            # A pattern is about the command's words alone.
            return ""
        rules = [rule for one in view.session.grants if (rule := granted_rule(one))]
        if self.rules is not None:
            found = await asyncio.to_thread(self.rules.patterns, [root.path for root in roots])
            rules += [one for one in found if one.decision == "allow"]
        held = [one for one in rules if await self._holds(one.grant, view)]
        if not held:
            return ""
        is_held = self._boundary == "sandbox"
        return await asyncio.to_thread(allowing, planned, self.workspace, held, is_held=is_held)

    async def _holds(self, grant: str, view: TurnView) -> bool:
        """Say whether the user allowed this before, and no file that it may run changed since.

        A grant for good holds only while its rule exists; another server may remove the rule.
        """
        session = view.session
        is_written = self.rules is not None and grant in session.always
        if is_written or grant not in session.grants:
            is_ruled = grant not in session.revoked and await self._rule(grant) == "allow"
            if not is_ruled:
                return False
        roots = self.workspace.roots
        stale = await asyncio.to_thread(stale_grants, view.session, roots, self.rules)
        return stale is None or grant not in stale.grants

    async def _rule(self, grant: str | None) -> str | None:
        if self.rules is None or grant is None:
            return None
        folders = [root.path for root in self.workspace.roots]
        return await asyncio.to_thread(self.rules.decision, grant, folders)

    async def _unless_free(
        self, planned: PlannedCall, view: TurnView, *, free: frozenset[Effect]
    ) -> GuardVerdict:
        """Ask, unless the effect is free in this mode, it only reads, or it was granted."""
        if planned.effect is Effect.READ and _reaches_out(planned):
            return await self._unless_granted(planned, view, await self._beyond(planned))
        if planned.effect in free:
            return Allow()
        needs = await self._beyond(planned)
        edits = Effect.WRITE in free
        verdict = await decide_call(planned, self.workspace, self._boundary, edits=edits)
        verdict = verdict or Ask("")
        if isinstance(verdict, Ask):
            needs = needs or verdict.reason or _rule_of_mode(planned)
        elif isinstance(verdict, Deny) or not needs:
            return verdict
        return await self._unless_granted(planned, view, needs)

    async def _beyond(self, planned: PlannedCall, granted: frozenset[str] = frozenset()) -> str:
        """Return what the call wants beyond the sandbox, and beyond the hosts that rules allow."""
        if self.rules is not None and getattr(planned.arguments, "network", ()):
            folders = [root.path for root in self.workspace.roots]
            rules = await asyncio.to_thread(self.rules.patterns, folders)
            granted |= granted_hosts(planned, rules)
        # A page is read by agent-ls itself, which no sandbox holds.
        boundary = self._boundary if planned.effect is Effect.EXECUTE else "sandbox"
        return beyond(planned, boundary, granted=granted)

    @property
    def _boundary(self) -> Boundary:
        return "off" if self.runner is None else self.runner.boundary

    async def _unless_granted(
        self, planned: PlannedCall, view: TurnView, needs: str
    ) -> GuardVerdict:
        """Ask for what the call needs, unless the user allowed it before."""
        if not needs:
            return Allow(consent="mode")
        grant = planned.grant
        is_free_to_plan = view.mode is not Mode.PLAN or planned.effect is Effect.READ
        if is_free_to_plan and (rule := await self._permitted(planned, view)):
            # A rule by pattern is about some of a command's programs; nobody has seen the rest.
            return Allow(rule=rule, consent="user" if rule == grant else "mode")
        if await is_as_approved(planned, view):
            return Allow(consent="user")
        return Ask(f"Mode {view.mode}: {needs}", broad=grant is not None)


def _reaches_out(planned: PlannedCall) -> bool:
    """Say whether the call asks something of another host."""
    return bool(getattr(planned.arguments, "network", ()))


def _rule_of_mode(planned: PlannedCall) -> str:
    if is_server_tool(planned.tool.name):
        return "tools of servers ask first."
    is_edit = planned.effect is Effect.WRITE
    return "changes to files ask first." if is_edit else "commands ask first."
