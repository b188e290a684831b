"""The small project that the stories of the panel work on."""

from __future__ import annotations

FILES = {
    "README.md": "# Shop\n\n## Rounding\n\nPrices are rounded half up.\n",
    "shop/__init__.py": "",
    "shop/prices.py": '''from decimal import Decimal


def total(items: list[tuple[Decimal, int]]) -> Decimal:
    """Return what the items cost together."""
    return sum((price * count for price, count in items), Decimal(0))


def discounted(price: float, percent: float) -> float:
    """Return the price after a discount."""
    return round(price * (1 - percent / 100), 2)
''',
    "shop/cart.py": '''from decimal import Decimal

from shop.prices import discounted

CENT = Decimal("0.01")


def cart_total(rows: list[tuple[float, float]]) -> float:
    """Return the cart's total after discounts."""
    prices = [discounted(price, percent) for price, percent in rows]
    return sum(prices)
''',
    "shop/catalogue.py": 'PRICES = {"tea": "3.35", "milk": "1.05"}\n',
    "tests/test_prices.py": """import unittest

from shop.prices import discounted


class TestDiscounted(unittest.TestCase):
    def test_ten_percent(self) -> None:
        self.assertEqual(discounted(10.0, 10), 9.0)
""",
    # It says something, and goes on when the recorder has seen that.
    "check.py": """import pathlib, sys, time

print("test_ten_percent ... ok", flush=True)
print("test_half_a_cent_goes_up ... \\x1b[31mERROR\\x1b[0m", flush=True)
while not pathlib.Path("../go").exists():
    time.sleep(0.01)
print("NameError: name 'D' is not defined")
sys.exit(1)
""",
    "wait.py": """import pathlib, time

print("12 checks run", flush=True)
while not pathlib.Path("../go").exists():
    time.sleep(0.01)
""",
    "notes/rounding.md": "# Notes\n\nHalf up, never to even.\n",
    ".agent-ls/commands/release.md": "---\ndescription: Write the notes of a release\n"
    "argument-hint: VERSION\n---\nWrite the notes of the release $1.\n",
}

BROUGHT = {
    ".mcp.json": '{"mcpServers": {"docs": {"command": "npx", "args": ["docs-server"]}}}\n',
}
"""What the project brings that only counts once it is trusted."""
