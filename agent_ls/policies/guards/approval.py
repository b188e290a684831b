"""Does the mode let the call run without asking, or has a person allowed it before?"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import ClassVar, assert_never

from agent_ls.domain.calls import Effect
from agent_ls.domain.modes import Mode
from agent_ls.domain.verdicts import Allow, Ask, Deny, GuardVerdict
from agent_ls.loop.calls.plans import is_as_approved
from agent_ls.loop.ports.people import Rules
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.loop.sockets import PlannedCall
from agent_ls.loop.state.view import TurnView
from agent_ls.safety.command_places import decide_call
from agent_ls.safety.stale_grants import stale_grants

_JUDGED_LATER = frozenset({Effect.DELEGATE})
"""A sub-agent has no more rights than who starts it, and each of its calls is judged."""
_WORDS = {
    Effect.READ: "reads",
    Effect.WRITE: "changes files",
    Effect.EXECUTE: "runs a command",
    Effect.DELEGATE: "starts another agent",
}


@dataclass(frozen=True, slots=True)
class Approval:
    """Decides by permission mode, effect and what was granted for the session.

    Source: seed 002 confirmation modes, seed 000 permission check, seed 004 autonomy levels.
    """

    name: ClassVar[str] = "approval"
    workspace: Workspace
    rules: Rules | None = None

    async def judge(self, planned: PlannedCall, view: TurnView) -> GuardVerdict:
        grant = planned.grant
        rule = await self._rule(grant)
        if rule == "reject":
            return Deny(f"A rule of the user rejects this always ({grant}); do it another way.")
        match view.mode:
            case Mode.PLAN:
                # What is not part of a plan that was decided on comes no further than that guard.
                return await self._unless_free(planned, view, free=_JUDGED_LATER | {Effect.READ})
            case Mode.ASK_ALL:
                # Whoever chose this mode wants to see each call: no grant answers for them.
                return Ask(f"Mode ask-all: {_what(planned)}.", broad=False)
            case Mode.ASK:
                return await self._unless_free(planned, view, free=_JUDGED_LATER | {Effect.READ})
            case Mode.ACCEPT_EDITS:
                free = _JUDGED_LATER | {Effect.READ, Effect.WRITE}
                return await self._unless_free(planned, view, free=free)
            case Mode.AUTO:
                return Allow()
            case _:
                assert_never(view.mode)

    async def _holds(self, grant: str, view: TurnView) -> bool:
        """Say whether the person allowed this before, and nothing that it may run changed since.

        What was allowed for good holds for as long as the rule is there, whoever takes it back.
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
        """Ask for what is not free in this mode, does more than read, and was not granted."""
        if planned.effect in free:
            return Allow()
        verdict = await decide_call(planned, self.workspace) or Ask("")
        if not isinstance(verdict, Ask):
            return verdict
        grant = planned.grant
        if grant is not None and view.mode is not Mode.PLAN and await self._holds(grant, view):
            return Allow()
        if await is_as_approved(planned, view):
            return Allow()
        why = f" {verdict.reason}" if verdict.reason else ""
        return Ask(f"Mode {view.mode}: {_what(planned)}.{why}", broad=grant is not None)


def _what(planned: PlannedCall) -> str:
    return f"{planned.tool.name} {_WORDS[planned.effect]}"
