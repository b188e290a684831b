"""Prices of a small shop, in cents."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Item:
    """Something in the basket."""

    name: str
    price_cents: int
    amount: int = 1


def total_cents(items: list[Item]) -> int:
    """Return what the items cost together."""
    return sum(item.price_cents * item.amount for item in items)
