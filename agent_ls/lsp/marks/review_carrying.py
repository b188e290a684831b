"""Carries out a keep, undo, redo or restore, and tells the user what was not possible."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Sequence

from agent_ls.domain.errors import AgentLsError
from agent_ls.domain.review import ReviewDecision
from agent_ls.domain.sentences import sentence
from agent_ls.lsp.marks.review_documents import ReviewDocuments, clash_text
from agent_ls.lsp.workspace.editor import EditorClient
from agent_ls.review.ledger import Selection
from agent_ls.review.restore import RestorePoint
from agent_ls.review.steps import FileResult
from agent_ls.session.session import Session

_log = logging.getLogger(__name__)

_MOST_NAMES = 4


async def carry_out(
    decision: ReviewDecision,
    chosen: Sequence[tuple[Session, Selection]],
    editor: EditorClient,
    documents: ReviewDocuments,
) -> None:
    """Apply the decision to the selected changes and report what failed."""
    found = [
        await _unless_broken(decision, session.review.decide(decision, selection), editor)
        for session, selection in chosen
    ]
    await _tell_those(decision, found, editor, documents)
    if decision == "undo":
        whole = [one for one, results in zip(chosen, found, strict=True) if results is not None]
        await tell_left(whole, editor)


async def carry_out_restore(
    session: Session, point: RestorePoint, editor: EditorClient, documents: ReviewDocuments
) -> None:
    """Restore files to an earlier point and report what was and was not restored."""
    work = session.review.restore(point.turn_id, point.call_id)
    await _tell_those("restore", [await _unless_broken("restore", work, editor)], editor, documents)


async def _unless_broken(
    decision: ReviewDecision, work: Awaitable[list[FileResult]], editor: EditorClient
) -> list[FileResult] | None:
    """Return the results per file; on an error, show it to the user and return None.

    The work may run in the background, where an error that is not shown only reaches the log.
    """
    try:
        return await work
    except (AgentLsError, OSError) as error:
        _log.warning("a decision could not be carried out", exc_info=error)
        editor.say("error", sentence(f"{decision} was not possible: {error}"))
        return None


async def _tell_those(
    decision: ReviewDecision,
    found: Sequence[list[FileResult] | None],
    editor: EditorClient,
    documents: ReviewDocuments,
) -> None:
    results = [one for each in found if each is not None for one in each]
    if results or None not in found:
        await tell(decision, results, editor, documents)


async def tell_left(chosen: Sequence[tuple[Session, Selection]], editor: EditorClient) -> None:
    """After undoing whole turns, warn of files under no review, which stay as they are."""
    left = 0
    for session, selection in chosen:
        if selection.path is None and selection.hunks is None:
            turns = (await session.review.ledger()).turns.values()
            left += sum(one.left_files for one in turns if selection.turn_id in (None, one.turn_id))
    if left:
        editor.say(
            "warning",
            f"{left} more files that commands changed were not under review: undo left them as "
            "they are.",
        )


async def tell(
    decision: ReviewDecision,
    results: Sequence[FileResult],
    editor: EditorClient,
    documents: ReviewDocuments,
) -> None:
    """Report the results; open a document with both versions for each conflict."""
    # A path can occur twice: one file was deleted and another created under its name.
    done = sorted({one.path for one in results if one.status == "done"})
    if not results:
        editor.say("info", f"There is nothing to {decision} there.")
    elif decision == "restore" and done:
        editor.say("info", f"Restored: {_names(done)}.")
    left: dict[tuple[str, str], list[str]] = {}
    for one in results:
        if one.status in ("conflict", "refused"):
            # Each conflict gets its own message; files refused for the same reason share one.
            left.setdefault((one.reason, one.path if one.clash else ""), []).append(one.path)
    for (reason, _), paths in left.items():
        editor.say("warning", sentence(f"{_names(paths)}: {decision} was not possible, {reason}"))
    for one in results:
        if one.clash is not None and one.clash.has_texts:
            await documents.show(f"{one.path}.conflict.diff", clash_text(one.clash, decision))


def _names(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _MOST_NAMES} more" if len(paths) > _MOST_NAMES else ""
    return f"{', '.join(paths[:_MOST_NAMES])}{more}"
