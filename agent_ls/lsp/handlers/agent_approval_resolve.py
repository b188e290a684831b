"""``agent/approval/resolve``: a person's decision from the panel."""

from __future__ import annotations

from agent_ls.domain.approvals import ApprovalAnswer
from agent_ls.lsp import wire
from agent_ls.lsp.edge import Edge


async def handle(edge: Edge, params: wire.ApprovalResolveParams) -> wire.ResolveResult:
    """Settle the approval; False when it is settled already or nothing waits."""
    answer = ApprovalAnswer(
        choice=params.choice,
        note=params.note,
        arguments_json=params.arguments_json,
        tool=params.tool,
        by="panel",
    )
    session = edge.session_of_approval(params.session_id, params.approval_id)
    settled = session is not None and await session.resolve_approval(params.approval_id, answer)
    return wire.ResolveResult(settled=settled)
