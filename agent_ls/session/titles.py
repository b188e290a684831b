"""One-line titles of calls and of approval choices, for the user."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from agent_ls.domain.approvals import ApprovalChoice, Preview
from agent_ls.domain.plain_json import plain_json
from agent_ls.loop.calls.grants import grant_words
from agent_ls.safety.text import label

_TITLE_ARGUMENTS = (
    *("command", "pattern", "path", "file", "query", "symbol", "url", "question", "task"),
)
"""The arguments that best identify a call, in order of preference."""
_MAX_TITLE_CHARACTERS = 120

CHOICE_NAMES: Mapping[ApprovalChoice, str] = {
    ApprovalChoice.ALLOW_ONCE: "Allow once",
    ApprovalChoice.ALLOW_SESSION: "Allow for this session",
    ApprovalChoice.ALLOW_PREFIX: "Allow in this workspace",
    ApprovalChoice.ALLOW_ALWAYS: "Allow always in this workspace",
    ApprovalChoice.REJECT_ONCE: "Reject",
    ApprovalChoice.REJECT_ALWAYS: "Reject always in this workspace",
    ApprovalChoice.AMEND: "Change the arguments",
    ApprovalChoice.CANCELLED: "Cancelled",
}
"""The labels of buttons and code actions."""
_GENERAL = (
    ApprovalChoice.ALLOW_SESSION,
    ApprovalChoice.ALLOW_PREFIX,
    ApprovalChoice.ALLOW_ALWAYS,
    ApprovalChoice.REJECT_ALWAYS,
)
"""Choices that cover more than one call; their label names the scope."""


def call_title(tool: str, arguments_json: str) -> str:
    """Return a one-line title of a call: the tool and its most telling argument."""
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


def choice_name(choice: ApprovalChoice, preview: Preview) -> str:
    """Return a choice's label, with its scope where it covers more than one call."""
    name = CHOICE_NAMES[choice]
    grant = preview.scope(choice)
    if choice not in _GENERAL or grant is None:
        return name
    return f"{name}: {grant_words(grant)}"


def parsed(arguments_json: str) -> JsonValue:
    """Return a call's arguments as JSON values; the raw text when it is not JSON."""
    try:
        return plain_json(arguments_json)
    except ValueError:
        return arguments_json
