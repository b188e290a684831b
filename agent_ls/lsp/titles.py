"""What a person reads of a call and of the answers to it, in one line each."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pydantic import JsonValue

from agent_ls.domain.approvals import ApprovalChoice

_TITLE_ARGUMENTS = ("command", "path", "file", "pattern", "query", "symbol", "url", "question")
"""What a person wants to know of a call first, in this order."""
_MAX_TITLE_CHARACTERS = 120

CHOICE_NAMES: Mapping[ApprovalChoice, str] = {
    ApprovalChoice.ALLOW_ONCE: "Allow once",
    ApprovalChoice.ALLOW_SESSION: "Allow for this session",
    ApprovalChoice.ALLOW_ALWAYS: "Allow always",
    ApprovalChoice.REJECT_ONCE: "Reject",
    ApprovalChoice.REJECT_ALWAYS: "Reject always",
    ApprovalChoice.AMEND: "Change the arguments",
    ApprovalChoice.CANCELLED: "Cancelled",
}
"""What buttons and code actions say."""


def call_title(tool: str, arguments_json: str) -> str:
    """Return one line that tells a person which call this is."""
    arguments = parsed(arguments_json)
    found = ""
    if isinstance(arguments, dict):
        found = next(
            (
                value
                for name in _TITLE_ARGUMENTS
                if isinstance(value := arguments.get(name), str) and value.strip()
            ),
            "",
        )
    title = f"{tool} {found}".strip().partition("\n")[0]
    if len(title) > _MAX_TITLE_CHARACTERS:
        title = title[: _MAX_TITLE_CHARACTERS - 1] + "…"
    return title


def parsed(arguments_json: str) -> JsonValue:
    """Return a call's arguments; the text itself when it is not JSON."""
    try:
        return json.loads(arguments_json)
    except ValueError:
        return arguments_json
