"""Asks the person about one call and interprets the answer.

An approval is bound to the exact call and its preview: what was approved is what runs.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import Literal

from agent_ls.domain.approvals import ApprovalAnswer, ApprovalChoice, ApprovalRequest, Preview
from agent_ls.domain.calls import ErrorKind, ToolResult
from agent_ls.domain.errors import SettingsError, ToolError, WorkspaceError
from agent_ls.domain.events import GrantsRevoked
from agent_ls.domain.verdicts import Allow, Ask
from agent_ls.loop.calls.arguments import changed_call
from agent_ls.loop.calls.denials import denied
from agent_ls.loop.calls.guarding import decide
from agent_ls.loop.calls.plans import digest
from agent_ls.loop.kit import Kit
from agent_ls.loop.sockets import PlannedCall
from agent_ls.loop.turn import Turn

_log = logging.getLogger(__name__)

_FOR_GOOD: dict[ApprovalChoice, Literal["allow", "reject"]] = {
    ApprovalChoice.ALLOW_ALWAYS: "allow",
    ApprovalChoice.REJECT_ALWAYS: "reject",
}
_ALLOWS = (
    ApprovalChoice.ALLOW_ONCE,
    ApprovalChoice.ALLOW_SESSION,
    ApprovalChoice.ALLOW_ALWAYS,
)


async def ask(planned: PlannedCall, verdict: Ask, turn: Turn) -> PlannedCall | ToolResult:
    """Ask the person; return the call as approved or amended, or the denial."""
    async with turn.asking:
        if verdict.broad and turn.session.grants:
            # An approval given since the guards decided may cover it.
            _, now = await decide(planned, turn)
            if isinstance(now, Allow):
                return planned
        return await _ask_alone(planned, verdict, turn)


async def _ask_alone(planned: PlannedCall, verdict: Ask, turn: Turn) -> PlannedCall | ToolResult:
    try:
        preview = await planned.tool.preview(planned.arguments)
    except ToolError as error:
        # The call cannot work, so there is nothing to approve.
        return ToolResult(call_id=planned.call.id, text=error.text, error=error.kind)
    except WorkspaceError as error:
        return ToolResult(call_id=planned.call.id, text=str(error), error=ErrorKind.RUNTIME)
    request = _request(planned, verdict, preview, turn)
    answer = await turn.kit.approver.approve(request)
    await _remember(answer, request, turn)
    if answer.choice in _ALLOWS:
        # Also a yes to all later edits is about the change that was shown.
        return replace(planned, approved=request.digest)
    if answer.choice is ApprovalChoice.AMEND and answer.arguments_json is not None:
        tool = answer.tool or planned.call.tool
        return changed_call(planned, answer.arguments_json, tool, turn.kit.tools, turn.specs)
    return await denied(planned, _refusal_words(answer), turn)


def _request(planned: PlannedCall, verdict: Ask, preview: Preview, turn: Turn) -> ApprovalRequest:
    choices = [ApprovalChoice.ALLOW_ONCE]
    is_broad = bool(verdict.broad and preview.grant)
    if is_broad:
        choices += [ApprovalChoice.ALLOW_SESSION, ApprovalChoice.ALLOW_ALWAYS]
    choices.append(ApprovalChoice.REJECT_ONCE)
    if is_broad:
        choices.append(ApprovalChoice.REJECT_ALWAYS)
    choices.append(ApprovalChoice.AMEND)
    return ApprovalRequest(
        id=turn.kit.ids.new("apr"),
        call_id=planned.call.id,
        turn_id=turn.state.turn_id,
        tool=planned.tool.name,
        reason=verdict.reason,
        preview=preview,
        digest=digest(planned, preview),
        choices=tuple(choices),
        timeout_s=turn.kit.options.approval_timeout_s,
    )


async def _remember(answer: ApprovalAnswer, request: ApprovalRequest, turn: Turn) -> None:
    grant = request.preview.grant
    if grant is None or answer.choice not in _FOR_GOOD or answer.choice not in request.choices:
        return
    folders = [root.path for root in turn.kit.workspace.roots]
    try:
        await asyncio.to_thread(turn.kit.rules.add, grant, folders, _FOR_GOOD[answer.choice])
    except SettingsError as error:
        # The answer still applies to this call, only the rule is lost.
        _log.warning("%s", error)


async def revoke_rules(event: GrantsRevoked, kit: Kit) -> None:
    """Remove stored *always* rules, so that later sessions do not apply them."""
    folders = [root.path for root in kit.workspace.roots]
    try:
        await asyncio.to_thread(kit.rules.revoke, event.grants, folders)
    except SettingsError as error:
        # This session ignores the rule anyway; only the stored rule remains.
        _log.warning("%s", error)


def _refusal_words(answer: ApprovalAnswer) -> str:
    if answer.by == "nobody":
        why = answer.note or "nobody is there to give it"
        return (
            f"This needs a person's permission and {why}. "
            "Go on without it, or say what you would need."
        )
    words = f" The user says: “{answer.note}”." if answer.note else ""
    return f"The user rejected this call.{words} Do not repeat it; do it another way, or ask."
