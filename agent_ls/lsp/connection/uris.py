"""File URIs and paths.

Tolerant in what it reads, because editors spell the same file differently; percent escapes are
decoded exactly once.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import quote_from_bytes, unquote_to_bytes

_FILE_URI = re.compile(r"file:(?://([^/]*)|(?!//))(/.*)", re.I | re.S)
_DRIVE = re.compile(r"/([A-Za-z])[:|](?=/|$)")


def uri_to_path(uri: str) -> Path | None:
    """The file a URI names on this machine.

    None for another scheme, another machine, and what cannot be a path here.
    """
    text = path_text(uri, windows=os.name == "nt")
    return None if text is None else Path(text)


def path_to_uri(path: Path) -> str:
    """The `file:` URI of an absolute path, escaped as VS Code escapes it."""
    if not path.is_absolute():
        raise ValueError(f"{path} is not absolute, so it has no file URI")
    escaped = quote_from_bytes(os.fsencode(path.as_posix()), safe="/")
    return f"file://{escaped}" if escaped.startswith("/") else f"file:///{escaped}"


def path_text(uri: str, *, windows: bool) -> str | None:
    """The path of a file URI as that system spells it; None where there is none.

    A bare `#` or `?` belongs to the path: file URIs of editors carry no query and no fragment, and
    some editors do not escape these.
    """
    match = _FILE_URI.fullmatch(uri)
    if match is None:
        return None
    authority = unquote_to_bytes(match[1] or "")
    path = os.fsdecode(unquote_to_bytes(match[2]))
    if b"\x00" in authority or "\x00" in path:
        return None
    local = authority.lower() in (b"", b"localhost")
    if not windows:
        return path if local else None
    if not local:
        return f"//{os.fsdecode(authority)}{path}"
    drive = _DRIVE.match(path)
    return f"{drive[1].upper()}:{path[drive.end() :] or '/'}" if drive else None
