"""How a folder is named where there is little room. The first line needs it, so it loads little."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from agent_ls.safety.text import visible_line

_MOST_FOLDER_CELLS = 36


def short_folder(folder: Path) -> str:
    """Return a folder as a prompt of a shell names it, cut at its beginning."""
    with suppress(ValueError, RuntimeError):
        folder = Path("~") / folder.relative_to(Path.home())
    shown = end = visible_line(str(folder))
    # Here, since the module is loaded before the first line.
    from rich.cells import cell_len

    while cell_len(end) > _MOST_FOLDER_CELLS:
        end = end[1:]
    return end if end == shown else f"…{end}"
