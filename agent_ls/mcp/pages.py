"""Collects what a server lists page by page."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

_MAX_PAGES = 50
_MAX_LISTED = 1_000
_MAX_LISTED_CHARS = 4 * 2**20
"""Of all that is listed, as JSON; more than any model reads."""
_KEYS = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")
"""What counts of a tool's definition; the rest is for drawing it."""

Page = tuple[list[dict[str, Any]], str | None]
"""Listed things as the server sent them, and the cursor of the next page."""


class ListTooLong(Exception):
    """A server lists more than can be taken; the message says how much that is."""


async def all_pages(page_of: Callable[[str | None], Awaitable[Page]]) -> list[dict[str, Any]]:
    """Return what all pages list; a cursor that comes again and brings nothing new is the end.

    Errors: ``ListTooLong``.
    """
    found: list[dict[str, Any]] = []
    size = 0
    cursors: set[str] = set()
    cursor: str | None = None
    for _ in range(_MAX_PAGES):
        listed, cursor = await page_of(cursor)
        size += sum(len(json.dumps(one, ensure_ascii=False)) for one in listed)
        if size > _MAX_LISTED_CHARS:
            raise ListTooLong(f"it lists more than {_MAX_LISTED_CHARS:,} characters")
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
