"""A decision carried out for the person: done by the sessions, and told where it did not work."""

from __future__ import annotations

from collections.abc import Sequence

from agent_ls.domain.review import ReviewDecision
from agent_ls.domain.sentences import sentence
from agent_ls.lsp.editor import EditorClient
from agent_ls.lsp.review_documents import ReviewDocuments, clash_text
from agent_ls.session.review_ledger import Selection
from agent_ls.session.review_steps import FileResult
from agent_ls.session.session import Session

_MOST_NAMES = 4


async def carry_out(
    decision: ReviewDecision,
    chosen: Sequence[tuple[Session, Selection]],
    editor: EditorClient,
    documents: ReviewDocuments,
) -> list[FileResult]:
    """Decide about the changes and tell what could not be done; return what became of all."""
    results: list[FileResult] = []
    for session, selection in chosen:
        results += await session.review.decide(decision, selection)
    await tell(decision, results, editor, documents)
    if decision == "undo":
        await tell_left(chosen, editor)
    return results


async def tell_left(chosen: Sequence[tuple[Session, Selection]], editor: EditorClient) -> None:
    """Say how many files an undo of whole turns leaves alone, as nobody knows what they held."""
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
    """Say which files were restored, seen or not, and which were left as they are and why, with
    both versions of a conflict.
    """
    done = [one.path for one in results if one.status == "done"]
    if not results:
        editor.say("info", f"There is nothing to {decision} there.")
    elif decision == "restore" and done:
        more = f" and {len(done) - _MOST_NAMES} more" if len(done) > _MOST_NAMES else ""
        editor.say("info", f"Restored: {', '.join(done[:_MOST_NAMES])}{more}.")
    for one in results:
        if one.status in ("conflict", "refused"):
            editor.say(
                "warning", sentence(f"{one.path}: {decision} was not possible, {one.reason}")
            )
    for one in results:
        if one.clash is not None and one.clash.has_texts:
            name = f"{one.path.replace('/', '-')}.conflict.diff"
            await documents.show(name, clash_text(one.clash, decision))
