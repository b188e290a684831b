"""``textDocument/codeAction``: everything the agent offers at a place.

Computed from the range and our own state. The client's diagnostics are used only for other
servers' problems.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lsprotocol import types

from agent_ls.domain.approvals import ApprovalRequest, Question
from agent_ls.lsp.connection.uris import path_to_uri
from agent_ls.lsp.conversation_page import is_conversation
from agent_ls.lsp.edge import Edge
from agent_ls.lsp.handlers import comments, conversation
from agent_ls.lsp.marks import offers
from agent_ls.lsp.marks.mark import CHANGE_CODE, SOURCE, ChangeHint, Mark
from agent_ls.lsp.marks.review_offers import redo_offers, review_offers
from agent_ls.lsp.marks.shapes import diagnostic_of, in_order

_FOR_AGENTS = (".agent-ls", ".claude", ".mcp.json")


async def handle(edge: Edge, params: types.CodeActionParams) -> list[types.CodeAction]:
    """Return the actions: pending answers first, prompts and turn commands last."""
    uri, where = params.text_document.uri, in_order(params.range)
    only = params.context.only
    if is_conversation(uri):
        found = [*conversation.actions(edge, uri, where), *_about_turns(edge)]
        return found if not only else [one for one in found if offers.is_wanted(one, only)]
    edge.attention.touch(uri)
    lines = where.start.line, where.end.line
    problems = _problems(edge, uri, params.context.diagnostics)
    found = [
        *_marked(edge, uri, where),
        *_waiting_elsewhere(edge, uri, where),
        *review_offers(uri, await edge.reviews.at(uri, *lines), _hints(edge, uri, where)),
        *redo_offers(await edge.reviews.at(uri, *lines, state="undone")),
        *await comments.actions(edge, uri, where, problems),
        *offers.problem_offers(uri, edge.attention.path(uri), problems),
        *offers.selection_offers(uri, where, problems),
        *_about_trust(edge),
        *_about_turns(edge),
        *offers.conversation_offers(has_panel=edge.server.profile.opted_in),
    ]
    return found if not only else [one for one in found if offers.is_wanted(one, only)]


def _about_trust(edge: Edge) -> Iterator[types.CodeAction]:
    """Offer to trust folders that hold something for agents."""
    for root in edge.workspace.roots:
        if not root.is_trusted and any((root.path / one).exists() for one in _FOR_AGENTS):
            is_agreed = root.path in edge.trust_shown
            yield offers.trust_offer(root.name, path_to_uri(root.path), is_agreed=is_agreed)


def _about_turns(edge: Edge) -> Iterator[types.CodeAction]:
    for session in edge.faces.sessions.values():
        turn = session.state.turn
        if turn is not None and session.state.is_running:
            yield from offers.turn_offers(session.id, turn.prompt, is_cut_off=session.is_cut_off)


def _marks(edge: Edge, uri: str, where: types.Range) -> list[Mark]:
    return edge.faces.marks.at(uri, where.start.line, where.end.line)


def _marked(edge: Edge, uri: str, where: types.Range) -> Iterator[types.CodeAction]:
    encoding = edge.server.documents.encoding
    for mark in _marks(edge, uri, where):
        yield from offers.mark_offers(mark, diagnostic_of(mark, encoding))


def _hints(edge: Edge, uri: str, where: types.Range) -> list[types.Diagnostic]:
    """Return the diagnostics of the open changes as they were published."""
    encoding = edge.server.documents.encoding
    marks = _marks(edge, uri, where)
    return [diagnostic_of(one, encoding) for one in marks if isinstance(one.subject, ChangeHint)]


def _waiting_elsewhere(edge: Edge, uri: str, where: types.Range) -> Iterator[types.CodeAction]:
    """Offer answers to everything that waits elsewhere."""
    here = {
        one.subject.id
        for one in _marks(edge, uri, where)
        if isinstance(one.subject, ApprovalRequest | Question)
    }
    for session_id, asked in edge.faces.marks.waiting():
        if asked.id not in here:
            yield from offers.waiting_offers(session_id, asked)
    encoding = edge.server.documents.encoding
    for mark in edge.faces.marks.pending():
        if mark.uri != uri or not mark.span.touches(where.start.line, where.end.line):
            yield from offers.mark_offers(mark, diagnostic_of(mark, encoding))


def _problems(edge: Edge, uri: str, found: Sequence[types.Diagnostic]) -> list[types.Diagnostic]:
    """Return other servers' diagnostics, for clients that send them."""
    ours = {one.message for one in edge.faces.marks.in_document(uri)}
    # Some clients drop the source, and a message may predate the last change: compare all three.
    foreign = (one for one in found if one.source != SOURCE and one.code != CHANGE_CODE)
    return [one for one in foreign if one.message not in ours]
