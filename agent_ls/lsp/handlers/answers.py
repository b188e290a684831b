"""Settles what waits for the user: approvals, questions, offered edits, nudges."""

from __future__ import annotations

from agent_ls.domain.approvals import ApprovalAnswer, ApprovalRequest, Question, QuestionAnswer
from agent_ls.domain.errors import AgentLsError
from agent_ls.lsp import wire
from agent_ls.lsp.diagnostics.annotation_set import INCOMPLETE_ACTION
from agent_ls.lsp.diagnostics.prompts import CONTINUE
from agent_ls.lsp.editor_context import EditorContext
from agent_ls.lsp.handlers import conversation
from agent_ls.lsp.presenters.waiting import needs_id, session_asking


class ShowParams(wire.Deciding):
    """Show a permission request in full."""

    approval_id: wire.Name | None = None
    """Null: the oldest that waits."""


class EditParams(wire.Deciding):
    """Name an edit that waits to be applied by hand."""

    edit: wire.Name


class SessionParams(wire.Deciding):
    """Name a session."""

    session_id: wire.Name


class FindingParams(wire.Deciding):
    """Name a finding of a review by its place."""

    session_id: wire.Name
    uri: wire.Name
    line: int
    """0-based."""
    message: str


async def resolve_approval(
    context: EditorContext, asked: wire.ApprovalResolveParams
) -> wire.ResolveResult:
    """Settle an approval; without an id or a choice, the error lists the pending approvals.

    One that alone waits can be rejected once without its id: nothing is allowed by that.
    """
    if asked.choice is None:
        raise needs_id(context.presenters, ApprovalRequest)
    await context.sessions.renames_followed()
    if asked.text is not None:
        return await _amend(context, asked, asked.text)
    answer = ApprovalAnswer(
        choice=asked.choice,
        note=asked.note,
        arguments_json=asked.arguments_json,
        tool=asked.tool,
    )
    session = await session_asking(
        context.presenters,
        ApprovalRequest,
        asked.approval_id,
        asked.session_id,
        without_id="only" if asked.choice == "reject_once" else "none",
    )
    settled = session is not None and await session.resolve_approval(asked.approval_id, answer)
    return _settled(context, settled)


async def _amend(
    context: EditorContext, asked: wire.ApprovalResolveParams, text: str
) -> wire.ResolveResult:
    if asked.choice != "amend" or asked.arguments_json is not None or asked.tool is not None:
        raise AgentLsError("A changed text goes with the choice amend, without arguments.")
    session = await session_asking(
        context.presenters, ApprovalRequest, asked.approval_id, asked.session_id, without_id="none"
    )
    settled = session is not None and await session.amend(asked.approval_id or "", text)
    return _settled(context, settled)


async def text_of_approval(
    context: EditorContext, asked: wire.ApprovalTextParams
) -> wire.ApprovalTextResult:
    """Return a waiting call as one text that the user may change."""
    session = await session_asking(
        context.presenters, ApprovalRequest, asked.approval_id, asked.session_id
    )
    found = session.text_of(asked.approval_id) if session else None
    if found is None:
        return wire.ApprovalTextResult(text=None, location=None, before=None)
    place = found.path and wire.Location(
        path=found.path, uri=context.lookup.uri(found.path), line=None
    )
    return wire.ApprovalTextResult(text=found.text, location=place or None, before=found.before)


async def show_approval(context: EditorContext, asked: ShowParams) -> wire.ResolveResult:
    """Show a pending approval's full text: in the conversation, or beside a panel in a message."""
    session = await session_asking(
        context.presenters, ApprovalRequest, asked.approval_id, without_id="oldest"
    )
    if session is None:
        return _settled(context, settled=False)
    waiting = session.state.approvals
    found = waiting[asked.approval_id or next(iter(waiting))]
    if not context.server.profile.opted_in:
        await conversation.open_at(context, session, found.id)
        return wire.ResolveResult(settled=True)
    context.editor.say(
        "info", f"{found.preview.title}\n\n{found.preview.payload}\n\n{found.reason}"
    )
    return wire.ResolveResult(settled=True)


async def resolve_question(
    context: EditorContext, asked: wire.QuestionResolveParams
) -> wire.ResolveResult:
    """Answer a question; without an id, the only pending one."""
    asked_in = context.presenters, Question, asked.question_id, asked.session_id
    session = await session_asking(*asked_in)
    answer = QuestionAnswer(text=asked.text)
    settled = session is not None and await session.resolve_question(asked.question_id, answer)
    return _settled(context, settled)


async def apply_edits(context: EditorContext, asked: wire.Deciding) -> wire.ResolveResult:
    """Apply all edits that wait, and those that come in the moment after the command."""
    return _settled(context, context.pending_edits.apply_all())


async def discard_edit(context: EditorContext, asked: EditParams) -> wire.ResolveResult:
    """Reject an edit that waits to be applied by hand."""
    if not context.pending_edits.was_offered(asked.edit):
        raise AgentLsError(f"No edit {asked.edit} was offered.")
    return _settled(context, context.pending_edits.discard(asked.edit))


def _settled(context: EditorContext, settled: bool) -> wire.ResolveResult:
    """Return the result; if it was settled before, tell users without the panel."""
    if not settled and not context.server.profile.opted_in:
        context.editor.say("info", "That is already settled.")
    return wire.ResolveResult(settled=settled)


async def continue_turn(context: EditorContext, asked: SessionParams) -> None:
    """Tell the agent to do what it announced."""
    session = await context.sessions.session(asked.session_id)
    turn = session.state.turn
    await session.submit(CONTINUE, anchor=turn.anchor if turn else None)


async def leave_turn(context: EditorContext, asked: SessionParams) -> None:
    """Dismiss a nudge and cancel the turn if it still runs."""
    session = await context.sessions.session(asked.session_id)
    if session.state.turn is not None:
        context.presenters.annotations.leave(session.id, session.state.turn.turn_id)
    await session.cancel("user")


async def hide_finding(context: EditorContext, asked: FindingParams) -> None:
    """Hide a finding of a review until the next one."""
    hide = context.presenters.annotations.hide
    if not hide(asked.session_id, asked.uri, asked.line, asked.message):
        raise AgentLsError("This finding is not shown here any more.")


async def silence_nudges(context: EditorContext, asked: SessionParams) -> None:
    """Turn off nudges about announced actions for this session."""
    session = await context.sessions.session(asked.session_id)
    await session.silence(INCOMPLETE_ACTION)
