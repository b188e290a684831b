"""Commands that bring the person to the agent's changes: next, previous, the diff of a turn."""

from __future__ import annotations

from typing import Any

from lsprotocol import types

from agent_ls.domain.errors import AgentLsError
from agent_ls.edits.review import FileLedger
from agent_ls.lsp.edge import Edge
from agent_ls.lsp.review_choice import read_argument
from agent_ls.lsp.review_documents import file_diff
from agent_ls.lsp.reviews import place_beside
from agent_ls.session.review_turns import TurnLedger


async def next_change(edge: Edge, argument: Any = None) -> dict[str, Any] | None:
    """Go to the next open change behind a place, in the next file after the last one."""
    return await _go(edge, argument, 1)


async def previous_change(edge: Edge, argument: Any = None) -> dict[str, Any] | None:
    """Go to the open change before a place."""
    return await _go(edge, argument, -1)


async def _go(edge: Edge, argument: Any, step: int) -> dict[str, Any] | None:
    await edge.review_session()
    asked = read_argument(argument)
    unheard = "last_line", "turn_id", "call_id", "hunk_ids", "session_id"
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
    """Say why there is nothing to go to: what is not there is a change without a place."""
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
    """Return where open changes are, by file and line."""
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
    """Return a file's URI as the places have it; what is no URI may be a path."""
    anchor = edge.attention.anchor(uri, 0)
    return edge.attention.uri(uri if anchor is None else anchor.path) or uri


async def diff(edge: Edge, argument: Any = None) -> str:
    """Show what a turn changed, all files, as a document.

    By default the newest turn with open changes; of a turn or file that is named also those that
    were kept. Errors: ``AgentLsError`` where there is nothing to be seen.
    """
    await edge.review_session()
    asked = read_argument(argument)
    unheard = "line", "last_line", "call_id", "hunk_ids"
    asked.refuse(*unheard, because="a diff is of whole files")
    path = None if asked.uri is None else await edge.chooser.path(asked.uri)
    if asked.turn_id is None:
        among = await edge.chooser.turns(asked.session_id, None)
    else:
        among = [await edge.chooser.turn(asked.session_id, asked.turn_id)]
    turns = [(turn, files) for _, turn in among if (files := _changed(turn, path))]
    meant = [one for one in turns if any(file.open() for file in one[1])]
    if path is not None or asked.turn_id is not None:
        meant += [one for one in turns if one not in meant]
    for turn, files in meant:
        text = "".join([file_diff(one, await edge.reviews.text_with(one)) for one in files])
        if text:
            edge.spawn(edge.review_documents.show(f"{turn.turn_id}.diff", text))
            return text
    if not turns:
        raise AgentLsError("The agent changed no file there.")
    raise AgentLsError("Nothing is left to be shown there: all was kept or taken back.")


def _changed(turn: TurnLedger, path: str | None) -> list[FileLedger]:
    """Return what a turn changed, or the one file of it, by path."""
    files = (one for _, one in sorted(turn.files.items()))
    return [one for one in files if path in (None, one.path) and one.hunks]
