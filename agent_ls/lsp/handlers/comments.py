"""What an instruction comment offers: to run it, or to say its words to the agent at work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lsprotocol import types

from agent_ls.lsp.connection.convert import range_of
from agent_ls.lsp.edge import Edge
from agent_ls.lsp.marks import offers
from agent_ls.lsp.marks.prompts import is_prompt_of
from agent_ls.session.session import Session
from agent_ls.syntax.comments import InstructionComment

_WORKS = "The agent works on this"


async def actions(
    edge: Edge, uri: str, where: types.Range, problems: Sequence[types.Diagnostic]
) -> tuple[list[types.CodeAction], list[types.CodeAction]]:
    """Return the actions of the comments on these lines: to say their words, and to run them.

    A comment that is worked on has none, nor one outside the workspace: the agent cannot remove it.
    """
    if edge.attention.path(uri) is None:
        return [], []
    text = edge.attention.text(uri) or ""
    here = [
        comment
        for comment in await edge.instructions.of(uri)
        if comment.line <= where.end.line
        and where.start.line <= comment.line + text.count("\n", comment.start, comment.end)
        and not _is_worked_on(edge, uri, comment)
    ]
    said = [one for comment in here for one in _said(edge, uri, comment)]
    return said, [offers.comment_offer(uri, comment, problems) for comment in here]


async def lenses(edge: Edge, uri: str) -> list[types.CodeLens]:
    """Return a lens for each comment: to run it, or that the agent works on it."""
    found: list[types.CodeLens] = []
    if edge.attention.path(uri) is None:
        return found
    for comment in await edge.instructions.of(uri):
        place = types.Position(comment.line, 0)
        command = offers.comment_offer(uri, comment).command
        assert command is not None
        shown = types.Command("Run agent", command.command, arguments=command.arguments)
        if _is_worked_on(edge, uri, comment):
            shown = types.Command(_WORKS, "agent-ls.conversation", arguments=[])
        found.append(types.CodeLens(types.Range(place, place), shown))
    return found


def _said(edge: Edge, uri: str, comment: InstructionComment) -> Iterator[types.CodeAction]:
    """Yield the action that answers or steers with a comment's words and removes the comment."""
    waiting = edge.faces.marks.waiting()
    if waiting:
        session_id, subject = waiting[0]
        yield _removing(edge, uri, comment, offers.words_offer(comment.prompt, session_id, subject))
        return
    for session in _at_work(edge):
        offer = offers.words_offer(comment.prompt, session.id, None)
        yield _removing(edge, uri, comment, offer)


def _at_work(edge: Edge) -> list[Session]:
    sessions = edge.faces.sessions.values()
    return [one for one in sessions if one.is_busy and not one.is_cut_off]


def _is_worked_on(edge: Edge, uri: str, comment: InstructionComment) -> bool:
    path = edge.attention.path(uri) or uri
    prompts = [
        prompt
        for session in _at_work(edge)
        for prompt in (
            session.state.turn.prompt if session.state.turn else "",
            *(one.text for one in session.state.queue),
        )
    ]
    return any(is_prompt_of(one, path, comment) for one in prompts)


def _removing(
    edge: Edge, uri: str, comment: InstructionComment, offer: types.CodeAction
) -> types.CodeAction:
    """Return the action with an edit that removes the comment, with its lines if they are its."""
    positions = edge.server.documents.positions(uri)
    if positions is None:
        return offer
    text, start, end = positions.text, comment.start, comment.end
    begun = text.rfind("\n", 0, start) + 1
    if text[begun:start].isspace() or begun == start:
        start, end = begun, text.find("\n", end) + 1 or len(text)
    edit = types.TextEdit(range_of(positions, start, end), "")
    offer.edit = types.WorkspaceEdit(changes={uri: [edit]})
    return offer
