"""What a person reads of a call and of the answers to it, in one line each."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from agent_ls.domain.approvals import ApprovalChoice
from agent_ls.domain.plain_json import plain_json
from agent_ls.loop.calls.grants import grant_words
from agent_ls.safety.text import label

_TITLE_ARGUMENTS = ("command", "pattern", "path", "file", "query", "symbol", "url", "question")
"""What a person wants to know of a call first, in this order."""
_MAX_TITLE_CHARACTERS = 120

CHOICE_NAMES: Mapping[ApprovalChoice, str] = {
    ApprovalChoice.ALLOW_ONCE: "Allow once",
    ApprovalChoice.ALLOW_SESSION: "Allow for this session",
    ApprovalChoice.ALLOW_ALWAYS: "Allow always in this workspace",
    ApprovalChoice.REJECT_ONCE: "Reject",
    ApprovalChoice.REJECT_ALWAYS: "Reject always in this workspace",
    ApprovalChoice.AMEND: "Change the arguments",
    ApprovalChoice.CANCELLED: "Cancelled",
}
"""What buttons and code actions say."""
_GENERAL = (
    ApprovalChoice.ALLOW_SESSION,
    ApprovalChoice.ALLOW_ALWAYS,
    ApprovalChoice.REJECT_ALWAYS,
)
"""Those that hold for more than the one call, and say for what."""


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
    return label(f"{tool} {found}", _MAX_TITLE_CHARACTERS)


def choice_name(choice: ApprovalChoice, grant: str | None) -> str:
    """Return what a button or a code action says: the answer and, where it goes on, its scope."""
    name = CHOICE_NAMES[choice]
    if choice not in _GENERAL or grant is None:
        return name
    return f"{name}: {grant_words(grant)}"


def parsed(arguments_json: str) -> JsonValue:
    """Return a call's arguments; the text itself when it is not JSON."""
    try:
        return plain_json(arguments_json)
    except ValueError:
        return arguments_json
