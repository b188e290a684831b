"""``textDocument/codeAction``: everything the agent offers at a place.

Computed from the range and our own state. The client's diagnostics are used only for other
servers' problems.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from lsprotocol import types

from agent_ls.domain.approvals import ApprovalRequest, Question
from agent_ls.domain.events import FindingsReported
from agent_ls.domain.verdicts import Allow
from agent_ls.extension.claude_home import unread_home
from agent_ls.loop.state.state import SessionState
from agent_ls.lsp.connection.documents import CELLS
from agent_ls.lsp.connection.positions import Encoding, index_to_column
from agent_ls.lsp.connection.uris import is_unsaved
from agent_ls.lsp.conversation_page import is_conversation
from agent_ls.lsp.diagnostics import offers
from agent_ls.lsp.diagnostics.annotation import CHANGE_CODE, Annotation, ChangeHint, is_own_source
from agent_ls.lsp.diagnostics.menu import Menu
from agent_ls.lsp.diagnostics.review_offers import redo_offers, review_offers
from agent_ls.lsp.diagnostics.shapes import diagnostic_of, in_order
from agent_ls.lsp.editor_context import EditorContext
from agent_ls.lsp.handlers import comments, conversation
from agent_ls.safety.control_files import judge_write

_FOR_AGENTS = (".agent-ls", ".claude", ".mcp.json")


async def handle(context: EditorContext, params: types.CodeActionParams) -> list[types.CodeAction]:
    """Return the actions in the menu's order; with ``only``, all actions of those kinds."""
    uri, where = params.text_document.uri, in_order(params.range)
    menu = Menu()
    if is_conversation(uri):
        menu.waiting += conversation.send_offers(context, uri)
        _add_waiting(menu, context, dict.fromkeys(conversation.waiting_on(context, uri, where)))
        _add_turns(menu, context)
        _add_trust(menu, context)
    else:
        context.lookup.touch(uri, where.start.line)
        problems = _problems(context, uri, params.context.diagnostics)
        # One without a source may be ours of a moment ago, which must not hide itself.
        foreign = offers.prompt_problems([one for one in problems if one.source])
        context.problems_seen(uri, (where.start.line, where.end.line), foreign)
        await _fill(menu, context, uri, where, problems)
    if only := params.context.only:
        return menu.wanted(only)
    return menu.rest() if context.shows_rest() else menu.shown()


async def _fill(
    menu: Menu,
    context: EditorContext,
    uri: str,
    where: types.Range,
    problems: Sequence[types.Diagnostic],
) -> None:
    """Fill the menu of a file."""
    lines = where.start.line, where.end.line
    encoding = context.server.documents.encoding
    annotations = [
        (one, diagnostic_of(one, encoding))
        for one in context.presenters.annotations.at(uri, *lines)
    ]
    said, run = await comments.actions(context, uri, where, problems)
    menu.waiting += said
    _add_waiting(
        menu, context, {_subject_id(annotation): shown for annotation, shown in annotations}
    )
    _add_pending(menu, context, uri)
    _add_fixes(menu, context, annotations)
    for annotation, shown in annotations:
        _add_mark(menu, annotation, shown)
    _add_turns(menu, context)
    hints = [
        shown for annotation, shown in annotations if isinstance(annotation.subject, ChangeHint)
    ]
    menu.changes += review_offers(uri, await context.reviews.at(uri, *lines), hints)
    menu.changes += redo_offers(await context.reviews.at(uri, *lines, state="undone"))
    running = [one for one in context.presenters.sessions.values() if one.state.is_running]
    if running and all(one.is_cut_off for one in running):
        # A new instruction goes before a turn that was cut off.
        menu.waiting[:0] = run
    else:
        menu.asking[:0] = run
    menu.asking += offers.problem_offers(uri, context.lookup.path(uri), problems)
    if not _is_caret(where, context.lookup.lines(uri) or (), encoding):
        can_change = context.lookup.path(uri) is not None
        if can_change or is_unsaved(uri):
            menu.asking += offers.selection_offers(uri, where, problems, can_change=can_change)
    menu.asking += offers.conversation_offers(has_panel=context.server.profile.opted_in)
    _add_trust(menu, context)


def _subject_id(annotation: Annotation) -> str:
    return (
        annotation.subject.id if isinstance(annotation.subject, ApprovalRequest | Question) else ""
    )


def _add_waiting(
    menu: Menu, context: EditorContext, here: Mapping[str, types.Diagnostic | None]
) -> None:
    """Add the answers to what waits here, else to the oldest; all others go behind *More…*."""
    waiting = sorted(
        context.presenters.annotations.waiting(), key=lambda one: one[1].id not in here
    )
    for session_id, asked in waiting[:1]:
        menu.waiting += offers.waiting_offers(session_id, asked, here.get(asked.id))
    for session_id, asked in waiting[1:]:
        menu.seldom += offers.waiting_offers(session_id, asked, here.get(asked.id))
    for session_id, asked in waiting:
        menu.seldom += offers.seldom_offers(session_id, asked)


def _add_pending(menu: Menu, context: EditorContext, uri: str) -> None:
    encoding = context.server.documents.encoding
    if pending := context.pending_edits.all():
        menu.waiting.append(offers.apply_offer(pending))
    for annotation in sorted(
        context.presenters.annotations.pending(), key=lambda one: one.uri != uri
    ):
        menu.waiting += offers.mark_offers(annotation, diagnostic_of(annotation, encoding))


def _add_fixes(
    menu: Menu,
    context: EditorContext,
    annotations: Sequence[tuple[Annotation, types.Diagnostic]],
) -> None:
    """Add the fixes that findings bring with them; in a notebook a text is no document's."""
    for annotation, shown in annotations:
        subject, documents = annotation.subject, context.server.documents
        if not isinstance(subject, offers.Finding) or subject.fix is None:
            continue
        snapshot, positions = documents.get(annotation.uri), documents.positions(annotation.uri)
        if snapshot is None or positions is None or snapshot.language_id == CELLS:
            continue
        roots = context.workspace.roots
        may_write = isinstance(judge_write(subject.path, roots), Allow)
        if snapshot.in_sync and may_write:
            fix = offers.fix_offer(annotation, subject, positions, shown)
            menu.waiting += [fix] if fix else []


def _add_mark(menu: Menu, annotation: Annotation, shown: types.Diagnostic) -> None:
    match annotation.subject:
        case offers.Nudge():
            menu.waiting += offers.mark_offers(annotation, shown)
        case offers.Finding():
            menu.asking += offers.mark_offers(annotation, shown)
        case _:
            # Added from the lists of what waits and of the changes.
            return


def _add_trust(menu: Menu, context: EditorContext) -> None:
    """Offer to trust folders that hold something for agents, or that a checker waits for."""
    waited_for = {path for one in context.presenters.states() for path in _untrusted(one)}
    for root in context.workspace.roots:
        is_waited_for = str(root.path) in waited_for
        is_for_agents = any((root.path / one).exists() for one in _FOR_AGENTS)
        if not root.is_trusted and (is_waited_for or is_for_agents):
            is_agreed = root.path in context.trust_shown
            uri = context.workspace.uri_at(root.path)
            offer = offers.trust_offer(root.name, uri, is_agreed=is_agreed)
            (menu.waiting if is_waited_for else menu.seldom).append(offer)
    if (home := unread_home(context.settings.claude_home)) is not None:
        is_agreed = home.resolve() in context.trust_shown
        menu.seldom.append(offers.trust_home_offer(home.as_uri(), is_agreed=is_agreed))


def _untrusted(state: SessionState) -> tuple[str, ...]:
    """Return the folders whose trust a checker waits for, by the last report of the last turn."""
    last = state.turn and next(state.turn.events.newest(FindingsReported), None)
    return last.untrusted if last else ()


def _add_turns(menu: Menu, context: EditorContext) -> None:
    for session in context.presenters.sessions.values():
        turn = session.state.turn
        if turn is None or not session.state.is_running:
            continue
        offer = offers.turn_offer(session.id, turn.prompt, is_cut_off=session.is_cut_off)
        (menu.seldom if turn.is_declined else menu.waiting).append(offer)
        if not session.is_cut_off:
            menu.seldom.append(offers.finish_offer(session.id, turn.prompt))
        elif not turn.is_declined:
            menu.waiting.append(offers.decline_offer(session.id, turn.prompt))


def _is_caret(where: types.Range, lines: Sequence[str], encoding: Encoding) -> bool:
    """Say whether nothing is selected: some editors send the character under the cursor."""
    start, end = where.start, where.end
    if start.line == end.line:
        return end.character - start.character <= 1
    is_line_end = (end.line, end.character) == (start.line + 1, 0)
    if not is_line_end or start.line >= len(lines):
        return False
    line = lines[start.line]
    return start.character >= index_to_column(line, len(line), encoding)


def _problems(
    context: EditorContext, uri: str, found: Sequence[types.Diagnostic]
) -> list[types.Diagnostic]:
    """Return other servers' diagnostics, for clients that send them."""
    ours = {one.message for one in context.presenters.annotations.in_document(uri)}
    return [one for one in found if not _is_own(one, ours)]


def _is_own(found: types.Diagnostic, ours: Collection[str]) -> bool:
    """Say whether it is ours. Some clients drop the source; then the code and the words tell."""
    if found.source:
        return is_own_source(found.source)
    return found.code == CHANGE_CODE or found.message in ours
