"""``agent/question/resolve``: a person's answer from the panel."""

from __future__ import annotations

from agent_ls.domain.approvals import QuestionAnswer
from agent_ls.lsp import wire
from agent_ls.lsp.edge import Edge


async def handle(edge: Edge, params: wire.QuestionResolveParams) -> wire.ResolveResult:
    """Settle the question; False when it is settled already or nothing waits."""
    answer = QuestionAnswer(text=params.text, by="panel")
    session = edge.session_of_question(params.session_id, params.question_id)
    settled = session is not None and await session.resolve_question(params.question_id, answer)
    return wire.ResolveResult(settled=settled)
