"""Collects what a server lists page by page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

_MAX_PAGES = 50
_MAX_LISTED = 1_000
_KEYS = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")
"""What counts of a tool's definition; the rest is for drawing it."""

Page = tuple[list[dict[str, Any]], str | None]
"""Listed things as the server sent them, and the cursor of the next page."""


async def all_pages(page_of: Callable[[str | None], Awaitable[Page]]) -> list[dict[str, Any]]:
    """Return what all pages list; a cursor that comes again and brings nothing new is the end."""
    found: list[dict[str, Any]] = []
    cursors: set[str] = set()
    cursor: str | None = None
    for _ in range(_MAX_PAGES):
        listed, cursor = await page_of(cursor)
        is_news = any(one not in found for one in listed)
        found += listed
        if not cursor or len(found) > _MAX_LISTED or (cursor in cursors and not is_news):
            break
        cursors.add(cursor)
    return found[:_MAX_LISTED]


def what_counts(tool: dict[str, Any]) -> dict[str, Any]:
    """Return what counts of a tool's definition; of its execution only that it needs a task."""
    found = {key: tool[key] for key in _KEYS if tool.get(key) is not None}
    match tool.get("execution"):
        case {"taskSupport": "required"}:
            # Many servers send the other values, which change nothing.
            return {**found, "execution": {"taskSupport": "required"}}
        case _:
            return found
