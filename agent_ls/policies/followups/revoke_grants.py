"""Did the call change what commands run? Then what was allowed of them is asked about again."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import ClassVar

from agent_ls.domain.calls import Effect, ToolResult
from agent_ls.domain.errors import WorkspaceError
from agent_ls.domain.events import EditApplied, GrantsRevoked
from agent_ls.loop.ports import Rules, Workspace
from agent_ls.loop.sockets import FollowUpOutcome, PlannedCall
from agent_ls.loop.view import TurnView
from agent_ls.safety.control_files import is_executed_later

_COMMANDS = "run_command"


@dataclass(frozen=True, slots=True)
class RevokeGrants:
    """Takes back the yes to commands once a file was changed that builds, tests or tools run.

    It held for what the command did then; which file a command runs cannot be told from outside.
    """

    name: ClassVar[str] = "revoke_grants"
    workspace: Workspace
    rules: Rules | None = None

    async def follow(
        self, planned: PlannedCall, result: ToolResult, view: TurnView
    ) -> FollowUpOutcome:
        """Answer from the files that the call changed, or may have changed."""
        if planned.effect is not Effect.WRITE:
            return FollowUpOutcome(result)
        touched = [
            one.path
            for one in view.each(EditApplied)
            if one.call_id == planned.call.id and one.status in ("applied", "unconfirmed")
        ]
        # What a move makes is among the paths that the call names.
        named = dict.fromkeys((*planned.paths, *touched)) if touched else ()
        changed = [path for path in named if await asyncio.to_thread(self._steers, path)]
        held = await asyncio.to_thread(self._held, view) if changed else ()
        if not held:
            return FollowUpOutcome(result)
        why = f"{', '.join(changed)} was changed, and commands may run it."
        return FollowUpOutcome(result, (GrantsRevoked(grants=held, why=why),))

    def _steers(self, path: str) -> bool:
        try:
            return is_executed_later(path, self.workspace.roots)
        except WorkspaceError:
            return False

    def _held(self, view: TurnView) -> tuple[str, ...]:
        """Return the grants for commands that hold now."""
        folders = [root.path for root in self.workspace.roots]
        saved = self.rules.granted(folders) if self.rules is not None else ()
        held = view.session.grants | (set(saved) - view.session.revoked)
        return tuple(sorted(one for one in held if one.startswith(_COMMANDS)))
