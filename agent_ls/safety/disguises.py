"""Recognises protected names in spellings that some file systems treat as the same name.

Windows and macOS ignore case, some code points, trailing dots and blanks, and know short names
and streams. A repository checked out there must not get past a rule that holds on Linux.
"""

from __future__ import annotations

import re
import unicodedata

_SHORT = re.compile(r"([^~.]{1,6})~[0-9a-f]{1,4}(?:\.[^.]{0,3})?")
_DOTTED = ("agent-ls", "git", "github", "gitlab", "vscode", "idea", "husky", "cursor", "claude",
           "codex", "devcontainer", "env", "envrc", "ssh", "aws", "circleci", "gitmodules",
           "gitattributes", "npmrc", "mcp.json", "zed", "helix", "cargo", "config")  # fmt: skip
_SHORT_NAMES = {name.replace(".", "")[:6]: f".{name}" for name in reversed(_DOTTED)}


def undisguised(name: str) -> str:
    """Return one path component as the most lenient file system reads it, in lower case."""
    folded = name.lower() if name.isascii() and name.isprintable() else _plain(name)
    # On Windows, a colon separates the file from the name of a stream.
    folded = folded.partition(":")[0].rstrip(". ") or folded
    if short := _SHORT.fullmatch(folded):
        return _SHORT_NAMES.get(short[1], folded)
    return folded


def _plain(name: str) -> str:
    folded = unicodedata.normalize("NFKC", name)
    folded = "".join(c for c in folded if not _is_ignored(c))
    return unicodedata.normalize("NFKC", folded.casefold())


def _is_ignored(character: str) -> bool:
    category = unicodedata.category(character)
    return category in ("Cf", "Cc", "Cn") or 0xFE00 <= ord(character) <= 0xFE0F
