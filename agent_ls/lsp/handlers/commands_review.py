"""Review commands: keep, undo and redo the agent's changes, and list them.

Each answers at once. Longer work continues in the background and reports failures as messages.
"""

from __future__ import annotations

from typing import Any

from agent_ls.domain.review import HunkState, ReviewDecision
from agent_ls.lsp.edge import Edge
from agent_ls.lsp.marks.review_carrying import carry_out
from agent_ls.lsp.marks.review_choice import ReviewArgument
from agent_ls.lsp.wire import Deciding
from agent_ls.review.file_changes import FileLedger


async def keep(edge: Edge, asked: ReviewArgument) -> dict[str, int]:
    """Keep changes: they leave the review."""
    return await _decide(edge, "keep", asked)


async def undo(edge: Edge, asked: ReviewArgument) -> dict[str, int]:
    """Undo changes; later typing stays."""
    return await _decide(edge, "undo", asked)


async def redo(edge: Edge, asked: ReviewArgument) -> dict[str, int]:
    """Redo undone changes."""
    return await _decide(edge, "redo", asked)


async def list_changes(edge: Edge, asked: Deciding) -> list[dict[str, Any]]:
    """Return the turns with open changes, newest first: files, lines, sizes.

    A file is left out when none of its changes remain in the text.
    """
    await edge.sessions.review(is_listed=True)
    found: list[dict[str, Any]] = []
    async for session, turn in edge.reviews.turns():
        listed = [await _listed(edge, one) for one in turn.files.values() if one.open()]
        files = [one for one in listed if one["changes"]]
        if files:
            found.append(
                {
                    "sessionId": session.id,
                    "turnId": turn.turn_id,
                    "prompt": turn.prompt,
                    "files": files,
                    "leftFiles": turn.left_files,
                }
            )
    return found


async def _listed(edge: Edge, file: FileLedger) -> dict[str, Any]:
    return {
        "path": file.path,
        "uri": edge.attention.uri(file.path),
        "changes": [
            {
                "hunkId": one.hunk.id,
                "kind": one.hunk.kind,
                "line": one.first,
                "lastLine": max(one.first, one.past - 1),
            }
            for one in await edge.reviews.places(file)
            if one.hunk.state == "open"
        ],
    }


async def _decide(edge: Edge, decision: ReviewDecision, asked: ReviewArgument) -> dict[str, int]:
    await edge.sessions.review()
    state: HunkState = "undone" if decision == "redo" else "open"
    chosen = await edge.chooser.chosen(asked, state)
    count = 0
    for session, selection in chosen:
        count += len((await session.review.ledger()).hunks(selection, state))
    work = carry_out(decision, chosen, edge.editor, edge.review_documents)
    if decision == "keep":
        await work
    else:
        edge.spawn(work, is_request=True)
    return {"changes": count}
