"""The command that shows a turn's changes as one diff."""

from __future__ import annotations

from agent_ls.domain.errors import AgentLsError
from agent_ls.lsp.edge import Edge
from agent_ls.lsp.marks.review_choice import ReviewArgument
from agent_ls.lsp.marks.review_documents import file_diff
from agent_ls.review.file_changes import FileLedger
from agent_ls.review.ledger import TurnLedger


async def diff(edge: Edge, asked: ReviewArgument) -> str:
    """Show a turn's changes, all files or one, as a document, and return the diff.

    The default is the newest turn with open changes. For a named turn or file, kept changes count
    too. Errors: ``AgentLsError`` when there is nothing to show.
    """
    await edge.sessions.review()
    unheard = "everything", "line", "last_line", "call_id", "hunk_ids"
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
    """Return the turn's changed files, or only ``path``, sorted by path."""
    files = sorted(turn.files.values(), key=lambda one: one.path)
    return [one for one in files if path in (None, one.path) and one.hunks]
