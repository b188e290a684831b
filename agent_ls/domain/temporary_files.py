"""Files that hold a new text until they take its file's name: no files of the project. Pure."""

from __future__ import annotations

import re
import secrets

GLOB = f".agent-ls-{'[0-9a-f]' * 16}.tmp"
"""What a search leaves out."""
_NAME = re.compile(r"\.agent-ls-[0-9a-f]{16}\.tmp", re.ASCII)


def new_name() -> str:
    """Return a name that no other file has."""
    return f".agent-ls-{secrets.token_hex(8)}.tmp"


def is_temporary(name: str) -> bool:
    """Say whether a file of this name, without its folder, is one that is written just now."""
    return _NAME.fullmatch(name) is not None
