"""Commands that jump to the next or previous open change."""

from __future__ import annotations

from typing import Any

from lsprotocol import types

from agent_ls.lsp.edge import Edge
from agent_ls.lsp.marks.review_choice import ReviewArgument
from agent_ls.lsp.marks.reviews import place_beside


async def next_change(edge: Edge, asked: ReviewArgument) -> dict[str, Any] | None:
    """Go to the next open change after a place; wraps around over all files."""
    return await _go(edge, asked, 1)


async def previous_change(edge: Edge, asked: ReviewArgument) -> dict[str, Any] | None:
    """Go to the previous open change before a place; wraps around over all files."""
    return await _go(edge, asked, -1)


async def _go(edge: Edge, asked: ReviewArgument, step: int) -> dict[str, Any] | None:
    await edge.sessions.review()
    unheard = "everything", "last_line", "turn_id", "call_id", "hunk_ids", "session_id"
    asked.refuse(*unheard, because="it goes on from one place, over all changes")
    here = _spelled(edge, asked.uri or edge.attention.active() or "")
    places = await _places(edge)
    if not places:
        edge.editor.say("info", await _why_nowhere(edge))
        return None
    uri, line = place_beside(places, (here, -1 if asked.line is None else asked.line), step)
    at = types.Position(line, 0)
    edge.spawn(edge.review_documents.go_to(uri, types.Range(at, at)))
    return {"uri": uri, "line": line}


async def _why_nowhere(edge: Edge) -> str:
    """Return why there is no change to go to: deleted files have no place."""
    files = [
        file
        async for _, turn in edge.reviews.turns()
        for file in turn.files.values()
        if file.open()
    ]
    if gone := [one.path for one in files if not one.has_place]:
        return f"The agent deleted {', '.join(gone)}; agent-ls.review.undo brings it back."
    if files:
        names = ", ".join(dict.fromkeys(one.path for one in files))
        return f"There is no file to go to with open changes: {names}."
    return "The agent has no open changes."


async def _places(edge: Edge) -> list[tuple[str, int]]:
    """Return the places of all open changes, sorted by file and line."""
    found: set[tuple[str, int]] = set()
    async for _, turn in edge.reviews.turns():
        for file in turn.files.values():
            uri = edge.attention.uri(file.path)
            if uri is None or not file.open() or not file.has_place:
                continue
            if not await edge.workspace.exists(file.path):
                continue
            places = await edge.reviews.places(file)
            found |= {(uri, one.first) for one in places if one.hunk.state == "open"}
    return sorted(found)


def _spelled(edge: Edge, uri: str) -> str:
    """Return the URI as ``_places`` spells it; ``uri`` may also be a path."""
    anchor = edge.attention.anchor(uri, 0)
    return edge.attention.uri(uri if anchor is None else anchor.path) or uri
