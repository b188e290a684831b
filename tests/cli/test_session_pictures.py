"""A whole session at a terminal, from the first frame to the last, and its pictures.

They are drawn when they are asked for:

SESSION_PICTURES=/tmp pytest tests/cli/test_session_pictures.py

Those of the pages are ``approval-120-dark`` and ``done-120-light``.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from rich.terminal_theme import DEFAULT_TERMINAL_THEME, SVG_EXPORT_THEME

from tests.editors.pictures import draw_rows
from tests.support.screens import SeenTerminal, at_screen
from tests.support.scripted import scripted

pytestmark = pytest.mark.heavy

_THEMES = {"dark": SVG_EXPORT_THEME, "light": DEFAULT_TERMINAL_THEME}
_DRAWN_S = 0.5
"""Until the whole screen is drawn."""
_PRICES = '''"""Prices."""


def round_price(cents):
    """Return whole cents."""
    return round(cents)
'''
_TEST = """import unittest

from shop.prices import round_price


class Prices(unittest.TestCase):
    def test_half(self):
        self.assertEqual(round_price(2.5), 3)
"""
_SCENE = r"""
[[answer]]
text = "I look at the prices and their test first."
[[answer.call]]
tool = "read_file"
arguments = { path = "shop/prices.py" }
[[answer.call]]
tool = "grep"
arguments = { pattern = "round_price" }

[[answer]]
text = "`round` rounds **half to even**, so 2.5 cents become 2. `Decimal` with `ROUND_HALF_UP` does what the test wants."
[[answer.call]]
tool = "edit_file"
[answer.call.arguments]
path = "shop/prices.py"
[[answer.call.arguments.edits]]
old_string = "    return round(cents)"
new_string = "    whole = Decimal(cents).quantize(Decimal(1), rounding=ROUND_HALF_UP)\n    return int(whole)"
[[answer.call.arguments.edits]]
old_string = "Prices.\"\"\"\n"
new_string = "Prices.\"\"\"\n\nfrom decimal import ROUND_HALF_UP, Decimal\n"

[[answer]]
[[answer.call]]
tool = "run_command"
arguments = { command = "python3 -m unittest -q" }

[[answer]]
text = '''
## Done

- `round_price` rounds half up now
- the test passes

| cents | before | now |
|---|---|---|
| 2.5 | 2 | 3 |
| 3.5 | 4 | 4 |

```python
round_price(2.5)  # 3
```
'''
"""  # noqa: E501 - an answer is a line


async def pictured(terminal: SeenTerminal, name: str) -> None:
    """Draw what the terminal shows, in both themes, if pictures are asked for."""
    if folder := os.environ.get("SESSION_PICTURES"):
        await asyncio.sleep(_DRAWN_S)
        columns = terminal.screen.columns
        for theme, colours in _THEMES.items():
            place = Path(folder).resolve() / f"terminal-{name}-{columns}-{theme}.png"
            draw_rows(terminal.rows, place, columns=columns, theme=colours)


@pytest.mark.parametrize("columns", [60, 120])
async def test_a_session(tmp_path: Path, warm_host: Mapping[str, str], columns: int) -> None:
    folder = tmp_path / "shop-app"
    for name, text in (
        (
            ".config/agent-ls/config.toml",
            f"provider.python = {warm_host['AGENT_LS_PROVIDER__PYTHON']!r}",
        ),
        ("shop-app/shop/__init__.py", ""),
        ("shop-app/shop/prices.py", _PRICES),
        ("shop-app/test_prices.py", _TEST),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    async with (
        scripted(_SCENE) as model,
        at_screen(
            folder,
            model,
            *("--mode", "ask"),
            columns=columns,
            rows=40,
            variables={"AGENT_LS_SANDBOX": "auto"},
        ) as terminal,
    ):
        await terminal.until("/help")
        terminal.type("Round half up in shop/prices.py")
        await terminal.until("prices.py")
        await pictured(terminal, "start")
        terminal.type("\r")
        await terminal.until("reject every edit")
        await pictured(terminal, "approval")
        terminal.type("y")
        await terminal.until("✓ Edit shop/prices.py +4 -1")
        # Without a sandbox here, the command asks.
        await terminal.until_true(
            lambda: "Allow? Run" in terminal.shown or "✓ Done" in terminal.shown, "the command"
        )
        if "Allow? Run" in terminal.visible:
            terminal.type("y")
        await terminal.until("✓ Done")
        await pictured(terminal, "done")
        terminal.type("/diff\r")
        await terminal.until("/keep ends the review")
        await pictured(terminal, "diff")
        terminal.type("\x04")
        assert await terminal.ended() == 0
        await terminal.until("1 file to review")
        await pictured(terminal, "left")
    assert "rounding=ROUND_HALF_UP" in (folder / "shop/prices.py").read_text()
    assert max(one.cell_len for one in terminal.rows) <= columns
