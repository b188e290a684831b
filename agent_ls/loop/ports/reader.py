"""Who follows a session."""

from __future__ import annotations

from typing import Protocol

from agent_ls.domain.events import Ephemeral, StoredEvent


class Reader(Protocol):
    """Follows a session; an exception in it is logged and never reaches the loop."""

    def on_event(self, stored: StoredEvent) -> None:
        """See a stored event, in order, after it was folded."""
        ...

    def on_ephemeral(self, session_id: str, piece: Ephemeral) -> None:
        """See something that is not stored."""
        ...
