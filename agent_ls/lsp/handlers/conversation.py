"""The conversation document: opens it, sends what the user wrote in it, and finds one's way.

What the words below the last heading are follows from what the session waits for: an answer, a
rejection with words, a steer, or a prompt.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, cast

from lsprotocol import types
from pydantic import ValidationError

from agent_ls.domain.approvals import (
    ApprovalAnswer,
    ApprovalChoice,
    ApprovalRequest,
    Question,
    QuestionAnswer,
)
from agent_ls.domain.errors import AgentLsError
from agent_ls.domain.goals import split_goal
from agent_ls.domain.mistakes import mistakes_said
from agent_ls.lsp import wire
from agent_ls.lsp.connection.positions import index_to_column, split_lines
from agent_ls.lsp.connection.uris import path_to_uri, uri_to_path
from agent_ls.lsp.conversation_page import Page, Region, is_conversation, place_of, shown_place
from agent_ls.lsp.diagnostics import offers
from agent_ls.lsp.diagnostics.review_choice import ReviewArgument
from agent_ls.lsp.editor_context import EditorContext
from agent_ls.lsp.handlers.review_views import diff_of
from agent_ls.lsp.proxy.merging import OWN_DATA
from agent_ls.session.session import Session

_SESSION_ID = re.compile(r"\bses_\w+")


class OpenParams(wire.Deciding):
    """Open a conversation document."""

    session_id: wire.Name | None = None
    """Null: the current session."""


class SendParams(wire.Deciding):
    """Send the words below the last heading of a conversation document."""

    uri: wire.Name | None = None
    """Null: the only open document that has such words."""
    subject_id: wire.Name | None = None
    """The approval or question that the user saw waiting; null: whatever waits."""


async def show(context: EditorContext, asked: OpenParams) -> str:
    """Open the document in the editor, or say where it is; return its path."""
    return await open_at(context, await context.sessions.session(asked.session_id))


async def open_at(context: EditorContext, session: Session, subject_id: str | None = None) -> str:
    """Open a session's document below its last heading, or where this approval stands."""
    place = await context.presenters.conversations.show(session)
    page = _page_of(context, session)
    lines = [one.first for one in page.waiting if one.name == subject_id]
    at = types.Position(lines[0] if lines else len(page.lines), 0)
    # Later: some editors block until a command is answered.
    context.spawn(_go_to(context, session, path_to_uri(place), types.Range(at, at)))
    return str(place)


async def _go_to(context: EditorContext, session: Session, uri: str, where: types.Range) -> None:
    if not await context.review_documents.go_to(uri, where):
        context.editor.say("info", f"The conversation: {shown_place(session.id)}")


async def send(context: EditorContext, asked: SendParams) -> wire.ResolveResult:
    """Send the words, and take them out of the document.

    Errors: ``AgentLsError`` when there are none, or it is not clear whose.
    """
    uri, session = _meant(context, asked.uri)
    words = context.presenters.conversations.words(uri)
    document = context.server.documents.get(uri)
    if document is not None and not document.in_sync:
        raise AgentLsError(
            "The editor sent changes to the conversation that could not be followed, so your words "
            "are not known. Close it and open it again."
        )
    if not words:
        raise AgentLsError("Write your words below the last heading first.")
    waiting = waiting_in(session)
    subject_id = asked.subject_id or (waiting.id if waiting else None)
    is_sent = await _say(context, session, subject_id, words)
    if is_sent:
        context.presenters.conversations.note_sent(session.id, words)
    else:
        context.editor.say("info", "That is already settled; your words were not sent.")
    return wire.ResolveResult(settled=is_sent)


async def _say(
    context: EditorContext, session: Session, subject_id: str | None, words: str
) -> bool:
    if subject_id is None:
        text, goal = split_goal(words)
        await session.submit(
            text,
            anchor=context.lookup.here(),
            goal=goal,
            focus=context.focus(),
            when_busy="steer",
        )
        return True
    if subject_id in session.state.approvals:
        answer = ApprovalAnswer(choice=ApprovalChoice.REJECT_ONCE, note=words)
        return await session.resolve_approval(subject_id, answer)
    return await session.resolve_question(subject_id, QuestionAnswer(text=words))


def _meant(context: EditorContext, uri: str | None) -> tuple[str, Session]:
    conversations = context.presenters.conversations
    uris = [one for one in context.server.documents.uris() if uri in (None, one)]
    found = [(one, session) for one in uris if (session := conversations.session_of(one))]
    written = [one for one in found if conversations.words(one[0])]
    chosen = written or found
    if len(chosen) != 1:
        which = "No conversation" if not chosen else "More than one conversation with words"
        raise AgentLsError(f"{which} is open here; agent-ls.conversation opens the current one.")
    return chosen[0]


def waiting_in(session: Session) -> ApprovalRequest | Question | None:
    """Return what the session has waited for longest."""
    state = session.state
    waiting = [*state.approvals.values(), *state.questions.values()]
    return min(waiting, key=lambda one: one.id.partition("_")[2], default=None)


def send_offers(context: EditorContext, uri: str) -> Iterator[types.CodeAction]:
    """Yield the code action that sends the words of a conversation document."""
    session = context.presenters.conversations.session_of(uri)
    if session is not None and context.presenters.conversations.words(uri):
        yield _send_offer(session, uri)


def waiting_on(context: EditorContext, uri: str, where: types.Range) -> list[str]:
    """Return the ids of the approvals and questions on these lines of a conversation document."""
    return [one.name for one in _page(context, uri).waiting if _touches(one, where)]


def _send_offer(session: Session, uri: str) -> types.CodeAction:
    waiting = waiting_in(session)
    argument = {"uri": uri}
    match waiting:
        case ApprovalRequest():
            title = f"Send: reject with these words — {offers.short(waiting.preview.title)}"
        case Question():
            title = f"Send: answer with these words — {offers.short(waiting.text)}"
        case None:
            title = "Send: say this now" if session.state.is_running else "Send"
    if waiting is not None:
        argument["subjectId"] = waiting.id
    return offers.action(title, "agent-ls.conversation.send", argument)


def lenses(context: EditorContext, uri: str) -> list[types.CodeLens]:
    """Return the lenses of a conversation document: Send at the last heading."""
    session = context.presenters.conversations.session_of(uri)
    if session is None or not context.presenters.conversations.words(uri):
        return []
    place = types.Position(len(_page_of(context, session).lines) - 1, 0)
    command = _send_offer(session, uri).command
    return [types.CodeLens(types.Range(place, place), command)]


def _page_of(context: EditorContext, session: Session) -> Page:
    return context.presenters.conversations.page(session.id)


def _page(context: EditorContext, uri: str) -> Page:
    session = context.presenters.conversations.session_of(uri) if is_conversation(uri) else None
    return _page_of(context, session) if session else Page()


def _touches(region: Region, where: types.Range) -> bool:
    return region.first <= where.end.line and where.start.line <= region.last


# Finding one's way.


async def folds(
    context: EditorContext, params: types.FoldingRangeParams
) -> list[types.FoldingRange]:
    """Return the folds: each turn's steps."""
    page = _page(context, params.text_document.uri)
    return [types.FoldingRange(one.first, one.last) for one in page.steps if one.first < one.last]


async def symbols(
    context: EditorContext, params: types.DocumentSymbolParams
) -> list[types.DocumentSymbol]:
    """Return the symbols: one a turn."""
    page = _page(context, params.text_document.uri)
    return [
        types.DocumentSymbol(
            name=one.name or "(empty)",
            kind=types.SymbolKind.String,
            range=types.Range(types.Position(one.first, 0), types.Position(one.last, 0)),
            selection_range=types.Range(types.Position(one.first, 0), types.Position(one.first, 0)),
        )
        for one in page.turns
    ]


async def links(
    context: EditorContext, params: types.DocumentLinkParams
) -> list[types.DocumentLink]:
    """Return the links: files of steps, diffs of turns, and other sessions' documents.

    A diff is made when its link is followed.
    """
    uri = params.text_document.uri
    if not is_conversation(uri):
        return []
    session = context.presenters.conversations.session_of(uri)
    page = _page_of(context, session) if session else Page()
    found = [_link(context, session, page.lines[one.first], one) for one in page.links]
    document = context.server.documents.get(uri)
    lines = split_lines(document.text) if document else []
    return found + [_link(context, session, lines[one.first], one) for one in _named(lines, uri)]


def _link(
    context: EditorContext, session: Session | None, line: str, one: Region
) -> types.DocumentLink:
    encoding = context.server.documents.encoding
    columns = (index_to_column(line, at, encoding) for at in (one.start, one.end))
    where = types.Range(*(types.Position(one.first, column) for column in columns))
    if "://" in one.name or session is None:
        return types.DocumentLink(where, target=one.name)
    turn = {"sessionId": session.id, "turnId": one.name}
    return types.DocumentLink(where, tooltip="The changes of the turn", data={OWN_DATA: turn})


def _named(lines: Sequence[str], uri: str) -> Iterator[Region]:
    """Yield the ids of other sessions that have documents."""
    for number, line in enumerate(lines):
        for found in _SESSION_ID.finditer(line) if "ses_" in line else ():
            place = place_of(found[0])
            if place != uri_to_path(uri) and place.exists():
                yield Region(number, number, path_to_uri(place), *found.span())


async def resolve_link(context: EditorContext, link: types.DocumentLink) -> types.DocumentLink:
    """Return a link with its target: the diff of a turn, made now.

    Errors: ``AgentLsError`` when nothing is left of the turn's changes.
    """
    data: Any = link.data
    told = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
    if OWN_DATA in told:
        try:
            asked = ReviewArgument.model_validate(told[OWN_DATA])
        except ValidationError as error:
            raise AgentLsError(f"The link is not understood: {mistakes_said(error)}.") from None
        turn_id, text = await diff_of(context, asked)
        link.target = await context.review_documents.keep(f"{turn_id}.diff", text)
    return link
