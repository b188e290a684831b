"""File URIs and paths.

Accepts the different spellings of editors. Percent escapes are decoded exactly once.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import quote_from_bytes, unquote_to_bytes

_FILE_URI = re.compile(r"file:(?://([^/]*)|(?!//))(/.*)", re.I | re.S)
_UNSAVED = re.compile(r"(?:untitled|buffer):.*|file:/{0,2}", re.I | re.S)
_DRIVE = re.compile(r"/([A-Za-z])[:|](?=/|$)")


def uri_to_path(uri: str) -> Path | None:
    """The local file that a URI names.

    None for another scheme, another machine, or an invalid path.
    """
    text = path_text(uri, windows=os.name == "nt")
    return None if text is None else Path(text)


def is_unsaved(uri: str) -> bool:
    """Say whether the URI names a buffer that has no file yet.

    VS Code and others write ``untitled:``, Sublime Text ``buffer:``, Neovim an empty file URI.
    """
    return _UNSAVED.fullmatch(uri) is not None


def path_to_uri(path: Path) -> str:
    """The `file:` URI of an absolute path, escaped as VS Code escapes it."""
    if not path.is_absolute():
        raise ValueError(f"{path} is not absolute, so it has no file URI")
    escaped = quote_from_bytes(os.fsencode(path.as_posix()), safe="/")
    return f"file://{escaped}" if escaped.startswith("/") else f"file:///{escaped}"


def path_text(uri: str, *, windows: bool) -> str | None:
    """The path of a file URI on Windows or elsewhere; None when there is none.

    A bare `#` or `?` belongs to the path: editors' file URIs have no query or fragment, and some
    editors do not escape these characters.
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
