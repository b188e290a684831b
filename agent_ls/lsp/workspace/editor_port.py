"""The port through which the workspace asks the editor for things."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from lsprotocol import types

from agent_ls.lsp.connection.clients import StaleEdit
from agent_ls.lsp.connection.documents import Snapshot

Level = Literal["error", "warning", "info", "log"]
"""``log`` goes to the client's log; the others are shown."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The editor's answer to ``workspace/applyEdit``."""

    said: Literal["yes", "no", "nothing", "now"]
    """``nothing``: no answer in time, or an invalid one. ``now``: the user lets an edit that waits
    be applied; never the answer to a request.
    """
    reason: str = ""


class Editor(Protocol):
    """The editor; every request to it ends within a time limit."""

    @property
    def stale_edit(self) -> StaleEdit:
        """What the editor does with an edit for an older text."""
        ...

    @property
    def saves(self) -> bool:
        """Whether the editor can be asked to save."""
        ...

    @property
    def follows_disk(self) -> bool:
        """Whether the editor itself shows that an open document's file changed or was deleted."""
        ...

    async def apply_text(
        self, snapshot: Snapshot, edits: list[types.TextEdit], label: str
    ) -> Reply:
        """Edit a document; the edits were computed on ``snapshot``."""
        ...

    async def apply_cells(self, uri: str, expected: str, label: str) -> Reply:
        """Edit the cells of an open notebook so that its text is as expected."""
        ...

    async def take_away(self, uri: str, new_uri: str | None) -> Reply:
        """Delete a document's file, or move it; ``nothing`` when the editor cannot."""
        ...

    async def save(self, uris: list[str]) -> bool:
        """Save documents; False when the editor cannot be asked."""
        ...

    def say(self, level: Level, text: str) -> None:
        """Show a message to the user."""
        ...
