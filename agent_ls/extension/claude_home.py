"""Whether the user's ``~/.claude`` is read: its commands, skills and kinds of sub-agents.

It is another agent's folder, so nothing of it is read before the user has agreed: the user trusts
it like a folder, or says so in the settings.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal, get_args

from agent_ls.extension.files import Kind
from agent_ls.safety.trust import TrustedFolders, trust_file

Consent = Literal["ask", "always", "never"]


def claude_home() -> Path:
    """Return the folder, which need not exist."""
    return Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")


def agreed_home(consent: Consent) -> Path | None:
    """Return the folder if the user has agreed that it is read; else None."""
    home = claude_home()
    if consent == "ask":
        # A trusted folder above it, such as the home folder, says nothing of other agents' files.
        return home if home.resolve() in TrustedFolders(trust_file()).all() else None
    return home if consent == "always" else None


def unread_home(consent: Consent) -> Path | None:
    """Return the folder if it holds something and the user has not decided about it; else None."""
    home = claude_home()
    if consent != "ask" or not any((home / kind).is_dir() for kind in get_args(Kind)):
        return None
    return home if agreed_home(consent) is None else None


def unread_words(home: Path) -> str:
    """Return what the user can do about a folder that is not read."""
    return (
        f"The commands, skills and sub-agents in {home} are not read: agent-ls trust {home} lists "
        'them and asks. claude_home = "never" in config.toml ends this note.'
    )
