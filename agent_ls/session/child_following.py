"""What a session shares with its running sub-agents: mode, grants, requests to finish."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass

from agent_ls.domain.agents import REPORT_FORMAT
from agent_ls.domain.events import (
    ApprovalResolved,
    Ephemeral,
    Event,
    GrantsRevoked,
    ModeChanged,
    StoredEvent,
    WrapUpRequested,
)
from agent_ls.domain.modes import Mode, strictest
from agent_ls.loop.state.recorder import Recorder
from agent_ls.loop.state.state import SessionState

FINISH = f"Your time is over. Do not call tools. {REPORT_FORMAT}"
"""Sent to a sub-agent that has to finish."""


@dataclass(slots=True)
class Revocations:
    """An EventListener of a child that revokes the child's revoked grants in the parent too."""

    parent: Recorder
    later: Callable[[Coroutine[None, None, None]], None]

    def on_event(self, stored: StoredEvent) -> None:
        """Pass a revocation on, unless the parent has it."""
        event = stored.event
        if isinstance(event, GrantsRevoked) and not self.parent.state.revoked.issuperset(
            event.grants
        ):
            self.later(self.parent.emit(event))

    def on_ephemeral(self, session_id: str, piece: Ephemeral) -> None:
        """Ignore streamed pieces."""


def for_child(event: Event, state: SessionState, most: Mode) -> Event | None:
    """Return the event to emit in a running child after a parent's event; None: no change.

    ``most`` is the freest mode that the child's kind allows.
    """
    match event:
        case ModeChanged(mode=mode):
            allowed = strictest(mode, most)
            return ModeChanged(mode=allowed) if allowed is not state.mode else None
        case WrapUpRequested(by=by):
            # A child whose turn has not begun gets the request when it begins.
            return WrapUpRequested(by=by, text=FINISH) if state.is_running else None
        case ApprovalResolved(grant=str() as grant, approval_id=approval_id):
            is_known = grant in state.grants or approval_id in state.approvals
            return None if is_known else event
        case GrantsRevoked(grants=grants):
            return None if state.revoked.issuperset(grants) else event
        case _:
            return None
