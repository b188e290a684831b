"""``agent/question/resolve``: a person's answer from the panel."""

from __future__ import annotations

from agent_ls.domain.approvals import Question, QuestionAnswer
from agent_ls.lsp import wire
from agent_ls.lsp.edge import Edge
from agent_ls.lsp.faces.waiting import session_asking


async def handle(edge: Edge, params: wire.QuestionResolveParams) -> wire.ResolveResult:
    """Settle the question; False when it is settled already or nothing waits."""
    answer = QuestionAnswer(text=params.text, by="panel")
    asked_in = edge.faces, Question, params.question_id, params.session_id
    session = await session_asking(*asked_in)
    settled = session is not None and await session.resolve_question(params.question_id, answer)
    return wire.ResolveResult(settled=settled)
