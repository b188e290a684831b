"""The pictures on the pages of editors, taken while an approval waits, when they are asked for:

EDITOR_PICTURES=docs/editors pytest tests/editors/test_abilities.py -k "would_change and 25.07"
"""

from __future__ import annotations

import io
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from PIL import Image
from rich.console import Console
from rich.terminal_theme import SVG_EXPORT_THEME, TerminalTheme
from rich.text import Text

_COLOURS = 64
_PAGE = """<meta charset="utf-8"><style>{stylesheet}
body {{ margin: 0; background: {background}; color: {foreground}; }}
pre {{ margin: 12px; font: 14px/18px "DejaVu Sans Mono", monospace; }}
</style><pre>{code}</pre>"""


def place_of(editor: str) -> Path | None:
    """Where the picture of an editor goes; None when none is asked for."""
    folder = os.environ.get("EDITOR_PICTURES")
    return Path(folder).resolve() / f"{editor}.png" if folder else None


def draw(screen: str, place: Path) -> None:
    """Write what a terminal shows, with its escape sequences for colours, as a PNG file."""
    draw_rows([Text.from_ansi(row) for row in screen.splitlines()], place)


def draw_rows(
    rows: Sequence[Text], place: Path, *, columns: int = 0, theme: TerminalTheme = SVG_EXPORT_THEME
) -> None:
    """Write rows of a terminal as a PNG file, at least so many columns wide."""
    console = Console(record=True, file=io.StringIO(), width=1000)
    for row in rows:
        console.print(row, soft_wrap=True)
    width = max(columns, *map(len, rows))
    with tempfile.TemporaryDirectory() as name:
        page = Path(name) / "screen.html"
        console.save_html(str(page), theme=theme, code_format=_PAGE)
        subprocess.run(
            [
                *("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
                f"--window-size={width * 8.43 + 26:.0f},{len(rows) * 18 + 24}",
                *(f"--screenshot={place}", page.as_uri()),
            ],
            env={**os.environ, "HOME": name},
            capture_output=True,
            check=True,
        )
    with Image.open(place) as image:
        image.convert("RGB").quantize(_COLOURS, Image.Quantize.MAXCOVERAGE).save(
            place, optimize=True
        )
