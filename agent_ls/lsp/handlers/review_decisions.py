"""Keep, undo, redo and restore the agent's changes, by command or by ``agent/review/decide``.

A command answers at once; longer work continues in the background and reports failures as messages.
The request answers with what became of each file.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from agent_ls.domain.errors import AgentLsError
from agent_ls.domain.review import HunkState, ReviewDecision
from agent_ls.domain.sentences import sentence
from agent_ls.lsp import wire
from agent_ls.lsp.diagnostics.review_choice import ReviewArgument
from agent_ls.lsp.diagnostics.review_documents import clash_text
from agent_ls.lsp.editor_context import EditorContext
from agent_ls.review.ledger import Selection
from agent_ls.review.restore import RestorePoint, calls_that_changed, moment_before
from agent_ls.review.steps import FileResult
from agent_ls.session.session import Session

_log = logging.getLogger(__name__)

_MOST_NAMES = 4

Chosen = Sequence[tuple[Session, Selection]]


async def keep(context: EditorContext, asked: ReviewArgument) -> dict[str, int]:
    """Keep changes: they leave the review. Of all changes, some may be out of sight, so say it."""
    kept = await _begin(context, "keep", asked)
    if asked.everything:
        count = kept["changes"]
        context.editor.confirm(f"Kept {count} {'change' if count == 1 else 'changes'}.")
    return kept


async def undo(context: EditorContext, asked: ReviewArgument) -> dict[str, int]:
    """Undo changes; later typing stays."""
    return await _begin(context, "undo", asked)


async def redo(context: EditorContext, asked: ReviewArgument) -> dict[str, int]:
    """Redo undone changes."""
    return await _begin(context, "redo", asked)


async def _begin(
    context: EditorContext, decision: ReviewDecision, asked: ReviewArgument
) -> dict[str, int]:
    await context.sessions.review()
    state: HunkState = "undone" if decision == "redo" else "open"
    chosen = await context.chooser.chosen(asked, state)
    count = 0
    for session, selection in chosen:
        count += len((await session.review.ledger()).hunks(selection, state))
    work = decide_and_tell(context, decision, chosen)
    if decision == "keep":
        await work
    else:
        context.spawn(work, is_request=True)
    return {"changes": count}


async def restore(context: EditorContext, asked: ReviewArgument) -> bool:
    """Restore all files changed since the given point.

    Without an argument: the beginning of the newest turn that changed files.
    """
    asked.refuse("everything", "uri", "line", "last_line", because="a restore is about all files")
    if asked.hunk_ids is not None:
        asked.refuse("turn_id", "call_id", because="hunkIds says which moment is meant")
        if len(asked.hunk_ids) != 1:
            raise AgentLsError("agent-ls.restore goes back to before one change: one of hunkIds.")
    elif asked.turn_id is None:
        asked.refuse("call_id", because="without turnId it means nothing")
        if asked != ReviewArgument():
            raise AgentLsError("agent-ls.restore needs a turn's id, or nothing for the newest.")
    await context.sessions.review()
    session, point = await _restore_point(context, asked)
    if session.state.is_running:
        raise AgentLsError("A turn is running; stop it before you restore files.")
    context.spawn(restore_and_tell(context, session, point), is_request=True)
    return True


async def _restore_point(
    context: EditorContext, asked: ReviewArgument
) -> tuple[Session, RestorePoint]:
    """Return the restore point: before a change, before a call, or a turn's beginning.

    Errors: ``AgentLsError`` for an unknown or ambiguous id.
    """
    chooser = context.chooser
    if asked.hunk_ids is not None:
        ((session, _),) = await chooser.named(asked.session_id, None, None, asked.hunk_ids)
        point = moment_before(await session.review.ledger(), asked.hunk_ids[0])
        if point is None:
            raise AgentLsError(f"No call of the agent's made the change {asked.hunk_ids[0]}.")
        return session, point
    if asked.turn_id is None:
        turns = await chooser.turns(None, None)
        touching = [one for one in turns if one[1].files] or [one for one in turns if one[1].lost]
        if not touching:
            raise AgentLsError("There is no turn in the open sessions that touched files.")
        session, turn = touching[0]
    else:
        session, turn = await chooser.turn(asked.session_id, asked.turn_id)
    point = RestorePoint(turn.turn_id, asked.call_id or "")
    changed = calls_that_changed(await session.review.ledger(), turn.turn_id)
    if point.call_id and point.call_id not in changed:
        raise AgentLsError(f"The turn has no call {point.call_id} that changed files.")
    return session, point


async def decide_by_request(
    context: EditorContext, params: wire.ReviewDecideParams
) -> wire.ReviewDecideResult:
    """Apply the decision and return each file's result; messages tell only what is not in it."""
    await context.sessions.review()
    if params.decision == "restore":
        return _answer(context, await _restored(context, params))
    if params.dry_run or params.tool_call_id is not None:
        raise AgentLsError("Only a restore goes back to a call, or can be tried without doing it.")
    ids = params.session_id, params.turn_id
    chosen = await context.chooser.named(*ids, params.path, params.hunk_ids)
    results, failures = await _decided(context, params.decision, chosen)
    if failures and not results:
        raise failures[0]
    # The result holds what succeeded in other sessions, so report the failure as a message.
    _say_failures(context, params.decision, failures)
    return _answer(context, results)


async def _restored(context: EditorContext, params: wire.ReviewDecideParams) -> list[FileResult]:
    if params.turn_id is None:
        raise AgentLsError(
            "Name the turn to whose beginning it goes back; agent-ls.review.list shows them."
        )
    if params.path is not None or params.hunk_ids is not None:
        raise AgentLsError("A restore is about all files: path and hunkIds are not understood.")
    session, turn = await context.chooser.turn(params.session_id, params.turn_id)
    call_id = params.tool_call_id or ""
    results = await session.review.restore(turn.turn_id, call_id, dry_run=params.dry_run)
    await _say_lost(context, session, turn.turn_id)
    return results


def _answer(context: EditorContext, results: Sequence[FileResult]) -> wire.ReviewDecideResult:
    return wire.ReviewDecideResult(
        files=[
            wire.ReviewFileResult(
                location=wire.Location(path=one.path, uri=context.lookup.uri(one.path), line=None),
                turn_id=one.turn_id,
                status=one.status,
                hunks=one.hunks,
                reason=one.reason,
                edit=one.edit,
                conflict=wire.ReviewConflict(now=one.clash.now, wanted=one.clash.wanted)
                if one.clash is not None and one.clash.has_texts
                else None,
            )
            for one in results
        ]
    )


async def decide_and_tell(context: EditorContext, decision: ReviewDecision, chosen: Chosen) -> None:
    """Apply the decision to the selected changes and report what failed."""
    results, failures = await _decided(context, decision, chosen)
    _say_failures(context, decision, failures)
    if results or not failures:
        await _tell(context, decision, results)


async def restore_and_tell(context: EditorContext, session: Session, point: RestorePoint) -> None:
    """Restore files to an earlier point and report what was and was not restored."""
    try:
        results = await session.review.restore(point.turn_id, point.call_id)
    except (AgentLsError, OSError) as error:
        _say_failures(context, "restore", [error])
    else:
        await _tell(context, "restore", results)
        await _say_lost(context, session, point.turn_id)


async def _say_lost(
    context: EditorContext, session: Session, turn_id: str | None, *, only: bool = False
) -> None:
    """Name the files that neither an undo nor a restore brings back, since nothing was kept."""
    for event in await session.review.lost(turn_id, only=only):
        context.editor.say("warning", f"{event.text}.")


async def _decided(
    context: EditorContext, decision: ReviewDecision, chosen: Chosen
) -> tuple[list[FileResult], list[AgentLsError | OSError]]:
    """Return the results per file, and why sessions could not be decided about."""
    results: list[FileResult] = []
    failures: list[AgentLsError | OSError] = []
    left = 0
    for session, selection in chosen:
        try:
            results += await session.review.decide(decision, selection)
        except (AgentLsError, OSError) as error:
            failures.append(error)
            continue
        if decision == "undo" and selection.path is None and selection.hunks is None:
            await _say_lost(context, session, selection.turn_id, only=True)
            for turn in (await session.review.ledger()).turns.values():
                if selection.turn_id in (None, turn.turn_id):
                    left += turn.left_files
                    for program in turn.background:
                        context.editor.say("warning", sentence(program.after_undo))
    if left:
        context.editor.say(
            "warning",
            f"{left} more files that commands changed were not under review: undo left them as "
            "they are.",
        )
    return results, failures


def _say_failures(
    context: EditorContext, decision: ReviewDecision, failures: Sequence[AgentLsError | OSError]
) -> None:
    """Show errors to the user: those of background work would only reach the log."""
    for error in failures:
        _log.warning("a decision could not be carried out", exc_info=error)
        context.editor.say_brief("error", sentence(f"{decision} was not possible: {error}"))


async def _tell(
    context: EditorContext, decision: ReviewDecision, results: Sequence[FileResult]
) -> None:
    """Report the results; open a document with both versions for each conflict."""
    # A path can occur twice: one file was deleted and another created under its name.
    done = sorted({one.path for one in results if one.status == "done"})
    if not results:
        context.editor.say("info", f"There is nothing to {decision} there.")
    elif decision == "restore" and done:
        context.editor.say("info", f"Restored: {_names(done)}.")
    left: dict[tuple[str, str], list[str]] = {}
    for one in results:
        if one.status in ("conflict", "refused"):
            # Where a part went, the reason says which part did not.
            why = one.reason if one.hunks else f"{decision} was not possible, {one.reason}"
            # Each conflict gets its own message; files refused for the same reason share one.
            left.setdefault((why, one.path if one.clash else ""), []).append(one.path)
    for (why, _), paths in left.items():
        context.editor.say("warning", sentence(f"{_names(paths)}: {why}"))
    for one in results:
        if one.clash is not None and one.clash.has_texts:
            text = await asyncio.to_thread(
                clash_text, one.clash, decision, is_partly_done=one.hunks > 0
            )
            await context.review_documents.show(f"{one.path}.conflict.diff", text)


def _names(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _MOST_NAMES} more" if len(paths) > _MOST_NAMES else ""
    return f"{', '.join(paths[:_MOST_NAMES])}{more}"
