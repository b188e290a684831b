"""``agent/review/decide``: keep, undo, redo or restore, requested by the panel."""

from __future__ import annotations

from collections.abc import Iterable

from agent_ls.domain.errors import AgentLsError
from agent_ls.domain.sentences import sentence
from agent_ls.lsp import wire
from agent_ls.lsp.edge import Edge
from agent_ls.lsp.marks.review_carrying import tell_left
from agent_ls.review.steps import FileResult


async def handle(edge: Edge, params: wire.ReviewDecideParams) -> wire.ReviewDecideResult:
    """Apply the decision and return each file's result; messages tell only what is not in it."""
    await edge.sessions.review()
    if params.decision == "restore":
        return _answer(edge, await _restored(edge, params))
    if params.dry_run or params.tool_call_id is not None:
        raise AgentLsError("Only a restore goes back to a call, or can be tried without doing it.")
    ids = params.session_id, params.turn_id
    chosen = await edge.chooser.named(*ids, params.path, params.hunk_ids)
    results: list[FileResult] = []
    failures: list[AgentLsError] = []
    for session, selection in chosen:
        try:
            results += await session.review.decide(params.decision, selection)
        except AgentLsError as error:
            failures.append(error)
    if failures and not results:
        raise failures[0]
    for one in failures:
        # The result holds what succeeded in other sessions, so report the failure as a message.
        edge.editor.say("error", sentence(f"{params.decision} was not possible: {one}"))
    if params.decision == "undo":
        await tell_left(chosen, edge.editor)
    return _answer(edge, results)


async def _restored(edge: Edge, params: wire.ReviewDecideParams) -> list[FileResult]:
    if params.turn_id is None:
        raise AgentLsError("A restore needs the turn to whose beginning it goes back.")
    if params.path is not None or params.hunk_ids is not None:
        raise AgentLsError("A restore is about all files: path and hunkIds are not understood.")
    session, turn = await edge.chooser.turn(params.session_id, params.turn_id)
    call_id = params.tool_call_id or ""
    return await session.review.restore(turn.turn_id, call_id, dry_run=params.dry_run)


def _answer(edge: Edge, results: Iterable[FileResult]) -> wire.ReviewDecideResult:
    return wire.ReviewDecideResult(files=[_told(edge, one) for one in results])


def _told(edge: Edge, result: FileResult) -> wire.ReviewFileResult:
    clash = result.clash
    return wire.ReviewFileResult(
        location=wire.Location(path=result.path, uri=edge.attention.uri(result.path), line=None),
        turn_id=result.turn_id,
        status=result.status,
        hunks=result.hunks,
        reason=result.reason,
        edit=result.edit,
        conflict=wire.ReviewConflict(now=clash.now, wanted=clash.wanted)
        if clash is not None and clash.has_texts
        else None,
    )
