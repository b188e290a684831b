"""How a folder is named where there is little room. The first line needs it, so it loads little."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from agent_ls.safety.text import visible_line

_MOST_FOLDER_CHARS = 36


def short_folder(folder: Path) -> str:
    """Return a folder as a prompt of a shell names it, cut at its beginning."""
    with suppress(ValueError, RuntimeError):
        folder = Path("~") / folder.relative_to(Path.home())
    shown = visible_line(str(folder))
    return shown if len(shown) <= _MOST_FOLDER_CHARS else f"…{shown[-_MOST_FOLDER_CHARS:]}"
