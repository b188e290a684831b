"""Words of others, put into texts of ours."""

from __future__ import annotations


def sentence(text: str) -> str:
    """Return a text that another sentence can follow: with a mark at its end if it has none."""
    said = text.rstrip()
    return said if not said or said.endswith((".", "!", "?", "…", ".”", ".)")) else f"{said}."
