"""``agent/review/list``: the agent's changes by turn, with their state."""

from __future__ import annotations

from agent_ls.lsp import wire
from agent_ls.lsp.edge import Edge
from agent_ls.review.file_changes import FileLedger
from agent_ls.review.places import HunkPlace
from agent_ls.review.restore import calls_that_changed
from agent_ls.safety.text import visible_line

_TITLE_CHARACTERS = 120


async def handle(edge: Edge, params: wire.ReviewListParams) -> wire.ReviewListResult:
    """Return turns with changes, oldest first; files whose changes are all gone are left out."""
    await edge.sessions.review(is_listed=True)
    found: list[wire.ReviewTurn] = []
    for session, turn in await edge.chooser.turns(params.session_id, None):
        if not turn.files:
            continue
        files = [
            await _file(edge, turn.turn_id, one, with_text=params.with_text)
            for one in sorted(turn.files.values(), key=lambda one: one.path)
            if one.hunks
        ]
        found.append(
            wire.ReviewTurn(
                session_id=session.id,
                turn_id=turn.turn_id,
                prompt=turn.prompt,
                files=[one for one in files if one.hunks],
                tool_call_ids=calls_that_changed(await session.review.ledger(), turn.turn_id),
                left_files=turn.left_files,
            )
        )
    return wire.ReviewListResult(turns=found[::-1])


async def _file(edge: Edge, turn_id: str, file: FileLedger, *, with_text: bool) -> wire.ReviewFile:
    places = await edge.reviews.places(file)
    return wire.ReviewFile(
        location=wire.Location(path=file.path, uri=edge.attention.uri(file.path), line=None),
        turn_id=turn_id,
        moved_from=file.moved_from,
        hunks=[_hunk(one, with_text=with_text) for one in places],
    )


def _hunk(place: HunkPlace, *, with_text: bool) -> wire.ReviewHunk:
    hunk = place.hunk
    return wire.ReviewHunk(
        hunk_id=hunk.id,
        kind=hunk.kind,
        state=hunk.state,
        line=place.first,
        end_line=place.past,
        added_lines=hunk.size[0],
        removed_lines=hunk.size[1],
        is_changed_since=place.is_changed,
        title=visible_line(hunk.title[:_TITLE_CHARACTERS]),
        old="\n".join(hunk.old) if with_text else None,
        new="\n".join(hunk.new) if with_text else None,
    )
