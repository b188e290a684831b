"""Did the call change a file that commands run? Then their grants end."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from agent_ls.domain.calls import ToolResult
from agent_ls.domain.events import ToolCallStarted
from agent_ls.loop.extension_points import FollowUpOutcome, PlannedCall
from agent_ls.loop.ports.approval import Rules
from agent_ls.loop.ports.workspace import Root, Workspace
from agent_ls.loop.state.view import TurnView
from agent_ls.safety.stale_grants import is_for_outside, stale_grants, steers_commands


@dataclass(frozen=True, slots=True)
class RevokeGrants:
    """Tells the user and other agents which grants ended, and which changed file ended them.

    The ``approval`` guard looks for ended grants itself and does not wait for this.
    """

    name: ClassVar[str] = "revoke_grants"
    workspace: Workspace
    rules: Rules | None = None

    async def follow(
        self, planned: PlannedCall, result: ToolResult, view: TurnView
    ) -> FollowUpOutcome:
        if not view.session.changed_at:
            return FollowUpOutcome(result)
        roots = self.workspace.roots
        revoked = await asyncio.to_thread(stale_grants, view.session, roots, self.rules)
        if revoked is None:
            return FollowUpOutcome(result)
        # Saved rules end only by this call: they may be younger than an earlier change.
        own = _is_changed_by(planned.call.id, view, roots)
        outside = tuple(one for one in revoked.grants if is_for_outside(one))
        inside = tuple(one for one in revoked.grants if one not in outside)
        # Those for outside the sandbox end with any change, and only for this session.
        ended = ((inside, own), (outside, False))
        return FollowUpOutcome(
            result,
            tuple(
                revoked.model_copy(update={"grants": grants, "for_good": for_good})
                for grants, for_good in ended
                if grants
            ),
        )


def _is_changed_by(call_id: str, view: TurnView, roots: Sequence[Root]) -> bool:
    """Say whether a file that commands run has changed since this call started."""
    started = (
        one.seq
        for one in reversed(view.turn.events)
        if isinstance(one.event, ToolCallStarted) and one.event.call_id == call_id
    )
    since = next(started, view.session.seq)
    changed = (path for path, seq in view.session.changed_at.items() if seq > since)
    return any(steers_commands(path, roots) for path in changed)
