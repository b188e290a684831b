"""Commands that bring the person to the agent's changes: next, previous, the diff of a turn."""

from __future__ import annotations

from typing import Any

from lsprotocol import types

from agent_ls.domain.errors import AgentLsError
from agent_ls.lsp.edge import Edge
from agent_ls.lsp.review_choice import read_argument
from agent_ls.lsp.review_documents import file_diff


async def next_change(edge: Edge, argument: Any = None) -> dict[str, Any] | None:
    """Go to the next open change behind a place, in the next file after the last one."""
    return await _go(edge, argument, 1)


async def previous_change(edge: Edge, argument: Any = None) -> dict[str, Any] | None:
    """Go to the open change before a place."""
    return await _go(edge, argument, -1)


async def _go(edge: Edge, argument: Any, step: int) -> dict[str, Any] | None:
    await edge.review_session()
    asked = read_argument(argument)
    here = (asked.uri or edge.attention.active() or "", -1 if asked.line is None else asked.line)
    places = await _places(edge, here[0])
    if not places:
        edge.editor.say("info", await _why_nowhere(edge))
        return None
    if step > 0:
        behind = [one for one in places if one[0] == here[0] and one[1] > here[1]]
        others = [one for one in places if one[0] != here[0]]
        uri, line = (*behind, *others, *places)[0]
    else:
        before = [one for one in places if one[0] == here[0] and one[1] < here[1]]
        others = [one for one in places if one[0] != here[0]]
        uri, line = (*reversed(before), *reversed(others), *reversed(places))[0]
    at = types.Position(line, 0)
    edge.spawn(edge.review_documents.go_to(uri, types.Range(at, at)))
    return {"uri": uri, "line": line}


async def _why_nowhere(edge: Edge) -> str:
    """Say why there is nothing to go to: what was deleted is a change without a place."""
    gone = [
        file.path
        async for _, turn in edge.reviews.turns()
        for file in turn.files.values()
        if file.text is None and file.open()
    ]
    if not gone:
        return "The agent has no open changes."
    return f"The agent deleted {', '.join(gone)}; agent-ls.review.undo brings it back."


async def _places(edge: Edge, first_uri: str) -> list[tuple[str, int]]:
    """Return where open changes are: this document's first, each file's in their order."""
    found: set[tuple[str, int]] = set()
    async for _, turn in edge.reviews.turns():
        for file in turn.files.values():
            uri = edge.attention.uri(file.path)
            if uri is None or not file.open() or file.text is None:
                continue
            places = await edge.reviews.places(file)
            found |= {(uri, one.first) for one in places if one.hunk.state == "open"}
    return sorted(found, key=lambda one: (one[0] != first_uri, one))


async def diff(edge: Edge, argument: Any = None) -> str:
    """Show what a turn changed, all files, as a document; by default the newest with changes."""
    await edge.review_session()
    asked = read_argument(argument)
    wanted = None if asked.uri is None else edge.attention.anchor(asked.uri, 0)
    async for _, turn in edge.reviews.turns():
        files = [
            one
            for _, one in sorted(turn.files.items())
            if (wanted is None or one.path == wanted.path) and one.hunks
        ]
        if files and asked.turn_id in (None, turn.turn_id):
            text = "".join([file_diff(one, await edge.reviews.text(one.path)) for one in files])
            edge.spawn(edge.review_documents.show(f"{turn.turn_id}.diff", text))
            return text
    raise AgentLsError("The agent changed no file there.")
