"""Commands that settle what waits for the person."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from agent_ls.domain.approvals import (
    ApprovalAnswer,
    ApprovalChoice,
    ApprovalRequest,
    QuestionAnswer,
)
from agent_ls.domain.errors import AgentLsError
from agent_ls.domain.mistakes import mistakes_said
from agent_ls.lsp.edge import Edge
from agent_ls.lsp.wire import ApprovalResolveParams, QuestionResolveParams

_SETTLED = "That is already settled."


async def resolve_approval(edge: Edge, argument: Any = None, choice: Any = None) -> bool:
    """Settle an approval: a choice for the oldest, id and choice, or an object with id, choice
    and words.

    Without an argument the oldest is allowed once.
    """
    if choice is not None:
        argument = {"approvalId": argument, "choice": choice}
    elif argument is None or isinstance(argument, str):
        argument = {"choice": argument or ApprovalChoice.ALLOW_ONCE.value}
    try:
        asked = ApprovalResolveParams.model_validate(argument)
    except ValidationError as error:
        why = mistakes_said(error)
        raise AgentLsError(f"agent-ls.approval.resolve: not understood: {why}.") from None
    answer = ApprovalAnswer(
        choice=asked.choice,
        note=asked.note,
        arguments_json=asked.arguments_json,
        tool=asked.tool,
        by="code_action",
    )
    session = edge.session_of_approval(asked.session_id, asked.approval_id)
    settled = session is not None and await session.resolve_approval(asked.approval_id, answer)
    return _told(edge, settled)


async def show_approval(edge: Edge, approval_id: Any = None) -> bool:
    """Show in a message box what exactly waits for permission."""
    for _, asked in edge.faces.marks.waiting():
        if isinstance(asked, ApprovalRequest) and approval_id in (None, asked.id):
            edge.editor.say(
                "info", f"{asked.preview.title}\n\n{asked.preview.payload}\n\n{asked.reason}"
            )
            return True
    return _told(edge, settled=False)


async def resolve_question(edge: Edge, argument: Any = None, text: Any = None) -> bool:
    """Answer a question: words for the oldest, id and words, or an object with both."""
    if text is not None:
        argument = {"questionId": argument, "text": text}
    elif isinstance(argument, str):
        argument = {"text": argument}
    try:
        asked = QuestionResolveParams.model_validate(argument or {})
    except ValidationError as error:
        why = mistakes_said(error)
        raise AgentLsError(f"agent-ls.question.resolve: not understood: {why}.") from None
    answer = QuestionAnswer(text=asked.text, by="code_action")
    session = edge.session_of_question(asked.session_id, asked.question_id)
    settled = session is not None and await session.resolve_question(asked.question_id, answer)
    return _told(edge, settled)


async def discard_edit(edge: Edge, number: Any = None) -> bool:
    """Say no to an edit that waits to be applied by hand."""
    return _told(edge, edge.pending_edits.discard(str(number)))


def _told(edge: Edge, settled: bool) -> bool:
    """Say, without an error, that somebody else was faster."""
    if not settled:
        edge.editor.say("info", _SETTLED)
    return settled
