"""Readers of a session's events."""

from __future__ import annotations

from typing import Protocol

from agent_ls.domain.events import Ephemeral, StoredEvent


class EventListener(Protocol):
    """Follows a session; its exceptions are logged and never reach the loop."""

    def on_event(self, stored: StoredEvent) -> None:
        """Receive a stored event, in order, after it was folded."""

    def on_ephemeral(self, session_id: str, piece: Ephemeral) -> None:
        """Receive a live update that is not stored."""
