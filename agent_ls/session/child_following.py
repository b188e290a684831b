"""What holds for a session and its running sub-agents alike: mode, permissions, when to finish."""

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
from agent_ls.domain.modes import Mode
from agent_ls.loop.state.recorder import Recorder
from agent_ls.loop.state.state import SessionState

_STRICTNESS = tuple(Mode)
FINISH = f"Your time is over. Do not call tools. {REPORT_FORMAT}"
"""What a sub-agent is told when it has to come to an end."""


@dataclass(slots=True)
class Revocations:
    """A reader of a child: what it takes back does not hold for its parent either."""

    parent: Recorder
    later: Callable[[Coroutine[None, None, None]], None]

    def on_event(self, stored: StoredEvent) -> None:
        """Pass a revocation on, unless the parent knows of it."""
        event = stored.event
        if isinstance(event, GrantsRevoked) and not self.parent.state.revoked.issuperset(
            event.grants
        ):
            self.later(self.parent.emit(event))

    def on_ephemeral(self, session_id: str, piece: Ephemeral) -> None:
        """Nothing of what streams matters here."""


def for_child(event: Event, state: SessionState, most: Mode) -> Event | None:
    """Return what an event of the parent means to a running child; None: nothing, or known.

    ``most`` is the freest mode that its kind may have.
    """
    match event:
        case ModeChanged(mode=mode):
            allowed = strictest(mode, most)
            return ModeChanged(mode=allowed) if allowed is not state.mode else None
        case WrapUpRequested(by=by):
            # Before its turn began there was nothing to finish: it begins with the request.
            return WrapUpRequested(by=by, text=FINISH) if state.is_running else None
        case ApprovalResolved(grant=str() as grant, approval_id=approval_id):
            is_known = grant in state.grants or approval_id in state.approvals
            return None if is_known else event
        case GrantsRevoked(grants=grants):
            return None if state.revoked.issuperset(grants) else event
        case _:
            return None


def strictest(one: Mode, other: Mode) -> Mode:
    """Return the mode that allows less."""
    return min(one, other, key=_STRICTNESS.index)
