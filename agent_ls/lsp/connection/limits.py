"""The requests to the client: how long each waits, and what happens without an answer.

No request is sent that is not in this table. `docs/protocol.md` shows it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from lsprotocol import types


@dataclass(frozen=True)
class Limit:
    """How long a request to the client may wait."""

    limit_s: float
    fallback: str
    """What happens when the client refuses, is late or never answers."""
    longest_s: float | None = None
    """The limit where the user has to do something first."""


TO_CLIENT: Final[Mapping[str, Limit]] = {
    types.WORKSPACE_APPLY_EDIT: Limit(
        10,
        "the text that comes back decides; if it shows nothing, the edit is unconfirmed and the "
        "model is told to look. Moving or deleting happens on disk",
        longest_s=300,
    ),
    types.WORKSPACE_CONFIGURATION: Limit(1, "the settings of `initializationOptions` count"),
    types.CLIENT_REGISTER_CAPABILITY: Limit(30, "nothing is completed in the conversation"),
    types.WORKSPACE_CODE_LENS_REFRESH: Limit(30, "lenses change when the client next asks"),
    types.WORKSPACE_DIAGNOSTIC_REFRESH: Limit(30, "diagnostics change when the client next asks"),
    types.WINDOW_WORK_DONE_PROGRESS_CREATE: Limit(30, "no progress is shown for the turn"),
    types.WINDOW_SHOW_MESSAGE_REQUEST: Limit(
        600, "nothing is decided; what it asks stays a code action or a command"
    ),
    types.WORKSPACE_TEXT_DOCUMENT_CONTENT_REFRESH: Limit(
        10, "a document that is open already shows its older text"
    ),
    types.WINDOW_SHOW_DOCUMENT: Limit(10, "a message names the file"),
    "agent/save": Limit(15, "the file counts as unsaved"),
}
