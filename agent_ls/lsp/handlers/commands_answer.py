"""Commands that settle what waits for the person."""

from __future__ import annotations

from typing import Annotated, Any

from agent_ls.domain.approvals import ApprovalAnswer, ApprovalRequest, Question, QuestionAnswer
from agent_ls.domain.errors import AgentLsError
from agent_ls.lsp.connection.arguments import Takes, read
from agent_ls.lsp.edge import Edge
from agent_ls.lsp.faces.waiting import needs_id, session_asking
from agent_ls.lsp.wire import ApprovalResolveParams, Name, QuestionResolveParams

Decision = Annotated[ApprovalResolveParams, Takes("id and choice, or an object with both")]
Answer = Annotated[
    QuestionResolveParams,
    Takes("id and words, an object with both, or words for the one question that waits"),
]
Waiting = Annotated[Name | None, Takes("a permission request's id, or nothing for the oldest")]
Offered = Annotated[Name, Takes("the id of an edit that waits")]


async def resolve_approval(edge: Edge, argument: Any = None, choice: Any = None) -> bool:
    """Settle an approval: id and choice, or an object with id, choice and words.

    Nothing is decided without both; then the error names what waits.
    """
    if choice is not None:
        argument = {"approvalId": argument, "choice": choice}
    elif argument is None or isinstance(argument, str):
        raise needs_id(edge.faces, ApprovalRequest)
    asked: ApprovalResolveParams = read(Decision, argument, name="agent-ls.approval.resolve")
    answer = ApprovalAnswer(
        choice=asked.choice,
        note=asked.note,
        arguments_json=asked.arguments_json,
        tool=asked.tool,
        by="code_action",
    )
    asked_in = edge.faces, ApprovalRequest, asked.approval_id, asked.session_id
    session = await session_asking(*asked_in)
    settled = session is not None and await session.resolve_approval(asked.approval_id, answer)
    return _told(edge, settled)


async def show_approval(edge: Edge, approval_id: Waiting = None) -> bool:
    """Show in a message box what exactly waits for permission."""
    session = await session_asking(edge.faces, ApprovalRequest, approval_id, takes_oldest=True)
    if session is None:
        return _told(edge, settled=False)
    waiting = session.state.approvals
    asked = waiting[approval_id or next(iter(waiting))]
    edge.editor.say("info", f"{asked.preview.title}\n\n{asked.preview.payload}\n\n{asked.reason}")
    return True


async def resolve_question(edge: Edge, argument: Any = None, text: Any = None) -> bool:
    """Answer a question: id and words, an object with both, or words for the one that waits."""
    if text is not None:
        argument = {"questionId": argument, "text": text}
    elif argument is None or isinstance(argument, str):
        argument = {} if argument is None else {"text": argument}
    asked: QuestionResolveParams = read(Answer, argument, name="agent-ls.question.resolve")
    answer = QuestionAnswer(text=asked.text, by="code_action")
    asked_in = edge.faces, Question, asked.question_id, asked.session_id
    session = await session_asking(*asked_in)
    settled = session is not None and await session.resolve_question(asked.question_id, answer)
    return _told(edge, settled)


async def discard_edit(edge: Edge, number: Offered) -> bool:
    """Say no to an edit that waits to be applied by hand."""
    if not edge.pending_edits.was_offered(number):
        raise AgentLsError(f"No edit {number} was offered.")
    return _told(edge, edge.pending_edits.discard(number))


def _told(edge: Edge, settled: bool) -> bool:
    """Say, without an error, that somebody else was faster."""
    if not settled:
        edge.editor.say("info", "That is already settled.")
    return settled
