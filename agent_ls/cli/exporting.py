"""Writes a session as Markdown, as editors do."""

from __future__ import annotations

from collections.abc import Sequence

from agent_ls import catalogue
from agent_ls.domain.errors import StoreError
from agent_ls.domain.events import StoredEvent
from agent_ls.lsp.conversation.transcript import Transcript
from agent_ls.lsp.updates import Translation


def markdown_of(session_id: str, journal: Sequence[StoredEvent]) -> str:
    """Return a session as Markdown. Errors: ``StoreError`` when nobody has said anything."""
    translation = Translation(
        {tool.name: tool.kind for tool in catalogue.TOOLS}, lambda _path: None
    )
    transcript = Transcript(session_id)
    for stored in journal:
        for update in translation.feed(stored.event):
            transcript.feed(update)
    text = transcript.turns().text
    if not text:
        raise StoreError(f"nobody has said anything in session {session_id} yet")
    return text
