"""Describes what an *allow for this session* covers. Each tool defines its own rule."""

from __future__ import annotations

from agent_ls.domain.rules import granted_rule

_WORDS = {
    "edit": "every edit of a text file",
    "delete_file": "every deletion of a file",
    "move_file": "every move of a file",
}


def grant_words(grant: str) -> str:
    """Return what a grant covers, for the user who is about to give it."""
    if rule := granted_rule(grant):
        return f"`{' '.join(rule.words)}{' …' if rule.is_prefix else ''}`"
    kind, colon, host = grant.partition(":")
    if not colon:
        return _WORDS.get(grant, grant)
    if kind == "web_fetch":
        return f"every page of {host}"
    _, bracket, folder = kind.partition("[")
    return f"this exact command in {folder.rstrip(']')}" if bracket else "this exact command"
