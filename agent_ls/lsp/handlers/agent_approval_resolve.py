"""``agent/approval/resolve``: a person's decision from the panel."""

from __future__ import annotations

from agent_ls.domain.approvals import ApprovalAnswer, ApprovalRequest
from agent_ls.lsp import wire
from agent_ls.lsp.edge import Edge
from agent_ls.lsp.faces.waiting import session_asking


async def handle(edge: Edge, params: wire.ApprovalResolveParams) -> wire.ResolveResult:
    """Settle the approval; False when it is settled already."""
    answer = ApprovalAnswer(
        choice=params.choice,
        note=params.note,
        arguments_json=params.arguments_json,
        tool=params.tool,
        by="panel",
    )
    asked_in = edge.faces, ApprovalRequest, params.approval_id, params.session_id
    session = await session_asking(*asked_in)
    settled = session is not None and await session.resolve_approval(params.approval_id, answer)
    return wire.ResolveResult(settled=settled)
