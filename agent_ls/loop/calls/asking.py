"""Asks the user about one call and interprets the answer.

An approval is bound to the exact call and its preview: what was approved is what runs.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from agent_ls.domain.approvals import ApprovalAnswer, ApprovalChoice, ApprovalRequest, CoveredEdit
from agent_ls.domain.calls import ErrorKind, ToolResult
from agent_ls.domain.errors import SettingsError, ToolError, WorkspaceError
from agent_ls.domain.events import ApprovalRequested, ApprovalResolved, GrantsRevoked
from agent_ls.domain.sentences import sentence
from agent_ls.domain.verdicts import Allow, Ask
from agent_ls.loop.calls.arguments import changed_call
from agent_ls.loop.calls.batch_approval import Shown, edits_with, preview_together
from agent_ls.loop.calls.denials import denied
from agent_ls.loop.calls.guarding import decide
from agent_ls.loop.calls.planning import preview_of, with_edits
from agent_ls.loop.calls.proposed_text import proposed_text
from agent_ls.loop.calls.renamed import as_shown, under_new_name
from agent_ls.loop.extension_points import PlannedCall
from agent_ls.loop.services import Services
from agent_ls.loop.turn import Turn

_log = logging.getLogger(__name__)

_FOR_GOOD: dict[ApprovalChoice, Literal["allow", "reject"]] = {
    ApprovalChoice.ALLOW_PREFIX: "allow",
    ApprovalChoice.ALLOW_ALWAYS: "allow",
    ApprovalChoice.REJECT_ALWAYS: "reject",
}


async def ask(planned: PlannedCall, verdict: Ask, turn: Turn) -> PlannedCall | ToolResult:
    """Ask the user; return the call as approved or amended, or the denial."""
    async with turn.asking:
        if verdict.broad and (known := await _answered_with_others(planned, turn)) is not None:
            return known
        if verdict.broad and turn.session.grants:
            # An approval given since the guards decided may cover it.
            _, now = await decide(planned, turn)
            if isinstance(now, Allow):
                # Nobody has seen the call, whatever it needs no consent for now.
                return replace(planned, consent="user" if now.consent == "user" else "mode")
        return await _ask(planned, verdict, turn)


async def _answered_with_others(
    planned: PlannedCall, turn: Turn
) -> PlannedCall | ToolResult | None:
    """Act on the answer to a request that covered this edit too.

    Returns None if there is none, or if the edit would now be another than the one shown.
    """
    given = {one.approval_id: one.answer for one in turn.view.each(ApprovalResolved)}
    for request in (one.request for one in turn.state.events.newest(ApprovalRequested)):
        answer = given.get(request.id)
        edit = next((one for one in request.covers if one.call_id == planned.call.id), None)
        if edit is None or answer is None or answer.choice is ApprovalChoice.CANCELLED:
            continue
        if not answer.choice.allows:
            return await _refused(planned, answer, request, turn)
        planned = replace(planned, plan=turn.edits_shown.pop(planned.call.id, None))
        return await as_shown(planned, edit.digest, request, turn)
    return None


async def _ask(planned: PlannedCall, verdict: Ask, turn: Turn) -> PlannedCall | ToolResult:
    """Ask about this call, and about those later edits of its answer that join it."""
    try:
        planned = await with_edits(planned, turn.services.workspace)
        shown = Shown(planned, verdict.reason, await preview_of(planned))
    except ToolError as error:
        # The call cannot work, so there is nothing to approve.
        return ToolResult(call_id=planned.call.id, text=error.text, error=error.kind)
    except WorkspaceError as error:
        return ToolResult(call_id=planned.call.id, text=str(error), error=ErrorKind.RUNTIME)
    edits = await edits_with(shown, turn) if verdict.broad else [shown]
    turn.edits_shown |= {one.planned.call.id: one.planned.plan for one in edits if one.planned.plan}
    request = _request(edits, verdict, turn)
    planned_edits = [edit for one in edits if one.planned.plan for edit in one.planned.plan.edits]
    proposed = await proposed_text(planned_edits, turn.services.workspace)
    answer = await turn.services.approver.approve(request, proposed)
    await _remember(answer, request, turn)
    if answer.choice.allows:
        # Also a yes to all later edits is about the change that was shown.
        if (moved := under_new_name(planned, request, turn)) is None:
            return replace(planned, approved=shown.digest)
        same = await as_shown(planned, shown.digest, request, turn)
        return same or await _ask(moved, verdict, turn)
    if answer.choice is ApprovalChoice.AMEND and answer.arguments_json is not None:
        tool = answer.tool or planned.call.tool
        return changed_call(planned, answer.arguments_json, tool, turn.services.tools, turn.specs)
    return await _refused(planned, answer, request, turn)


def _request(edits: Sequence[Shown], verdict: Ask, turn: Turn) -> ApprovalRequest:
    is_one = len(edits) == 1
    planned, preview = edits[0].planned, edits[0].preview if is_one else preview_together(edits)
    digests = [one.digest for one in edits]
    choices = [ApprovalChoice.ALLOW_ONCE]
    is_broad = bool(verdict.broad and preview.grant)
    if is_broad:
        choices.append(ApprovalChoice.ALLOW_SESSION)
        choices += [ApprovalChoice.ALLOW_PREFIX] if preview.prefix else []
        choices.append(ApprovalChoice.ALLOW_ALWAYS)
    choices.append(ApprovalChoice.REJECT_ONCE)
    if is_broad:
        choices.append(ApprovalChoice.REJECT_ALWAYS)
    if is_one:
        choices.append(ApprovalChoice.AMEND)
    return ApprovalRequest(
        id=turn.services.ids.new("apr"),
        call_id=planned.call.id,
        turn_id=turn.state.turn_id,
        tool=planned.tool.name,
        reason=" ".join(dict.fromkeys(one.reason for one in edits)),
        preview=preview,
        digest=digests[0] if is_one else hashlib.sha256("".join(digests).encode()).hexdigest(),
        choices=tuple(choices),
        timeout_s=turn.services.options.approval_timeout_s,
        covers=() if is_one else tuple(map(_covered, edits)),
    )


def _covered(one: Shown) -> CoveredEdit:
    return CoveredEdit(
        call_id=one.planned.call.id,
        tool=one.planned.tool.name,
        path=one.preview.path,
        digest=one.digest,
    )


async def _remember(answer: ApprovalAnswer, request: ApprovalRequest, turn: Turn) -> None:
    grant = request.preview.scope(answer.choice)
    if grant is None or answer.choice not in _FOR_GOOD or answer.choice not in request.choices:
        return
    folders = [root.path for root in turn.services.workspace.roots]
    try:
        await asyncio.to_thread(turn.services.rules.add, grant, folders, _FOR_GOOD[answer.choice])
    except SettingsError as error:
        # The answer still applies to this call, only the rule is lost.
        _log.warning("%s", error)


async def revoke_rules(event: GrantsRevoked, services: Services) -> None:
    """Remove stored *always* rules, so that later sessions do not apply them."""
    folders = [root.path for root in services.workspace.roots]
    try:
        await asyncio.to_thread(services.rules.revoke, event.grants, folders)
    except SettingsError as error:
        # This session ignores the rule anyway; only the stored rule remains.
        _log.warning("%s", error)


async def _refused(
    planned: PlannedCall, answer: ApprovalAnswer, request: ApprovalRequest, turn: Turn
) -> ToolResult:
    words = _refusal_words(answer, len(request.covers) or 1, request.reason)
    # Words say how to go on, so a question about just that would be in their way.
    is_counted = answer.by != "nobody" and not answer.note
    you = "You rejected it." if is_counted else ""
    return await denied(planned, words, turn, is_counted=is_counted, for_user=you)


def _refusal_words(answer: ApprovalAnswer, edits: int, reason: str) -> str:
    if answer.by == "nobody":
        why = answer.note or "nobody is there to give it"
        return (
            f"This needs a user's permission and {why}. {sentence(reason)}".rstrip()
            + " Go on without it, or say what you would need."
        )
    words = f" The user says: “{answer.note}”." if answer.note else ""
    if edits > 1:
        return (
            f"The user rejected the {edits} changes of this answer.{words} "
            "Do not repeat them; do it another way, or ask."
        )
    return f"The user rejected this call.{words} Do not repeat it; do it another way, or ask."
