"""What an instruction comment offers: to run it, or to say its words to the agent at work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lsprotocol import types

from agent_ls.lsp.connection.convert import range_of
from agent_ls.lsp.diagnostics import offers
from agent_ls.lsp.diagnostics.prompts import is_prompt_of
from agent_ls.lsp.editor_context import EditorContext
from agent_ls.session.session import Session
from agent_ls.syntax.comments import InstructionComment

_WORKS = "The agent works on this"


async def actions(
    context: EditorContext, uri: str, where: types.Range, problems: Sequence[types.Diagnostic]
) -> tuple[list[types.CodeAction], list[types.CodeAction]]:
    """Return the actions of the comments on these lines: to say their words, and to run them.

    A comment that is worked on has none, nor one outside the workspace: the agent cannot remove it.
    """
    if context.lookup.path(uri) is None:
        return [], []
    text = context.lookup.text(uri) or ""
    here = [
        comment
        for comment in await context.instructions.of(uri)
        if comment.line <= where.end.line
        and where.start.line <= comment.line + text.count("\n", comment.start, comment.end)
        and not _is_worked_on(context, uri, comment)
    ]
    said = [one for comment in here for one in _said(context, uri, comment)]
    return said, [offers.comment_offer(uri, comment, problems) for comment in here]


async def lenses(context: EditorContext, uri: str) -> list[types.CodeLens]:
    """Return a lens for each comment: to run it, or that the agent works on it."""
    found: list[types.CodeLens] = []
    if context.lookup.path(uri) is None:
        return found
    for comment in await context.instructions.of(uri):
        place = types.Position(comment.line, 0)
        command = offers.comment_offer(uri, comment).command
        assert command is not None
        shown = types.Command("Run agent", command.command, arguments=command.arguments)
        if _is_worked_on(context, uri, comment):
            shown = types.Command(_WORKS, "agent-ls.conversation", arguments=[])
        found.append(types.CodeLens(types.Range(place, place), shown))
    return found


def _said(
    context: EditorContext, uri: str, comment: InstructionComment
) -> Iterator[types.CodeAction]:
    """Yield the action that answers or steers with a comment's words and removes the comment."""
    waiting = context.presenters.annotations.waiting()
    if waiting:
        session_id, subject = waiting[0]
        yield _removing(
            context, uri, comment, offers.words_offer(comment.prompt, session_id, subject)
        )
        return
    for session in _at_work(context):
        offer = offers.words_offer(comment.prompt, session.id, None)
        yield _removing(context, uri, comment, offer)


def _at_work(context: EditorContext) -> list[Session]:
    sessions = context.presenters.sessions.values()
    return [one for one in sessions if one.is_busy and not one.is_cut_off]


def _is_worked_on(context: EditorContext, uri: str, comment: InstructionComment) -> bool:
    path = context.lookup.path(uri) or uri
    prompts = [
        prompt
        for session in _at_work(context)
        for prompt in (
            session.state.turn.prompt if session.state.turn else "",
            *(one.text for one in session.state.queue),
        )
    ]
    return any(is_prompt_of(one, path, comment) for one in prompts)


def span_to_remove(text: str, start: int, end: int) -> tuple[int, int]:
    """Return what is removed with a comment: its whole lines where nothing else stands in them."""
    begun = text.rfind("\n", 0, start) + 1
    ended = text.find("\n", end) + 1 or len(text)
    is_alone = not text[begun:start].strip() and not text[end:ended].strip()
    return (begun, ended) if is_alone else (start, end)


def _removing(
    context: EditorContext, uri: str, comment: InstructionComment, offer: types.CodeAction
) -> types.CodeAction:
    """Return the action with an edit that removes the comment, with its lines if they are its."""
    positions = context.server.documents.positions(uri)
    if positions is None:
        return offer
    start, end = span_to_remove(positions.text, comment.start, comment.end)
    edit = types.TextEdit(range_of(positions, start, end), "")
    offer.edit = types.WorkspaceEdit(changes={uri: [edit]})
    return offer
