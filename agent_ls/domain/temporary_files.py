"""Names of temporary files that hold a new text before it replaces the target. Pure."""

from __future__ import annotations

import re
import secrets

GLOB = f".agent-ls-{'[0-9a-f]' * 16}.tmp"
"""Pattern that searches exclude."""
_NAME = re.compile(r"\.agent-ls-[0-9a-f]{16}\.tmp", re.ASCII)


def new_name() -> str:
    """Return a random temporary file name."""
    return f".agent-ls-{secrets.token_hex(8)}.tmp"


def is_temporary(name: str) -> bool:
    """Say whether a file name (without folder) is one of our temporary files."""
    return _NAME.fullmatch(name) is not None
