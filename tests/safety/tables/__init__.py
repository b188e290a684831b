"""Tables of commands, one a line, each file named after the verdict that it expects."""

from __future__ import annotations

from pathlib import Path


def rows(name: str) -> list[str]:
    """Return the commands of a table."""
    return Path(__file__).with_name(f"{name}.txt").read_text("utf-8").splitlines()
