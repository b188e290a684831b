"""Sets one value in a TOML file of the user's and leaves every other line as it is."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any, cast

from agent_ls.domain.errors import SettingsError
from agent_ls.safety.user_files import changing

_HEADER = re.compile(r"^\s*\[", re.MULTILINE)


def set_values(file: Path, values: dict[tuple[str, str], str], content: str) -> None:
    """Set texts by table and key; the table "" is the top. The file becomes the user's alone.

    ``content`` says what the file holds, for messages. Errors: ``SettingsError`` if it is no TOML,
    is written so that a line cannot be set, or cannot be written.
    """
    # A link leads to where the user keeps it, such as a folder of settings, and stays.
    file = file.resolve()
    with changing(file, content) as replace:
        text = file.read_text("utf-8") if file.exists() else ""
        for (table, key), value in values.items():
            text = with_value(text, table, key, value, file)
        replace(text.encode())


def with_value(text: str, table: str, key: str, value: str, file: Path) -> str:
    """Return the text with one value set. Errors: ``SettingsError``, which never holds a value."""
    wanted = _parsed(text, file)
    inner = wanted.setdefault(table, {}) if table else wanted
    if isinstance(inner, dict):
        cast("dict[str, Any]", inner)[key] = value
    line = f"{key} = {json.dumps(value, ensure_ascii=False)}"
    changed = _with_line(text, table, key, line)
    try:
        is_right = tomllib.loads(changed) == wanted
    except ValueError:
        is_right = False
    if not is_right:
        place = f"{key} under [{table}]" if table else key
        raise SettingsError(f"{file} is written so that {place} has to be set by hand.")
    return changed


def _with_line(text: str, table: str, key: str, line: str) -> str:
    """Return the text with a line for the key; in an odd file it may not be right."""
    begin, end = 0, len(text)
    if table:
        header = re.search(rf"^\s*\[\s*{re.escape(table)}\s*\][^\n]*\n?", text, re.MULTILINE)
        if header is None:
            space = "" if not text or text.endswith("\n\n") else "\n"
            newline = "" if not text or text.endswith("\n") else "\n"
            return f"{text}{newline}{space}[{table}]\n{line}\n"
        begin = header.end()
    if following := _HEADER.search(text, begin):
        end = following.start()
    part = text[begin:end]
    old = re.search(rf"^\s*{re.escape(key)}\s*=[^\n]*\n?", part, re.MULTILINE)
    part = f"{part[: old.start()]}{line}\n{part[old.end() :]}" if old else f"{line}\n{part}"
    before = text[:begin]
    return f"{before}{'' if not before or before.endswith(chr(10)) else chr(10)}{part}{text[end:]}"


def _parsed(text: str, file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except ValueError:
        # Not the parser's words, which may show a key.
        raise SettingsError(f"{file} is no TOML file; mend it first.") from None
