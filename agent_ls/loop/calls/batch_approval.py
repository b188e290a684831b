"""Finds the edits of one answer that a user can decide on together.

Only ordinary edits that one rule covers: what has to be seen by itself asks alone, and deletions
are not decided on with edits. Each is planned on top of those before it, so that the diffs are what
would happen.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agent_ls.domain.approvals import Preview
from agent_ls.domain.calls import Effect, ToolResult
from agent_ls.domain.errors import ToolError, WorkspaceError
from agent_ls.domain.events import Answered
from agent_ls.domain.verdicts import Ask
from agent_ls.loop.calls.arguments import plan_call
from agent_ls.loop.calls.conflicts import conflicts
from agent_ls.loop.calls.guarding import decide
from agent_ls.loop.calls.planning import preview_of
from agent_ls.loop.calls.plans import digest
from agent_ls.loop.calls.references import expressions_in
from agent_ls.loop.calls.tool_hooks import before_tool_hooks
from agent_ls.loop.extension_points import PlannedCall, ReferringCall, ToolOutput
from agent_ls.loop.services import Rehearsal
from agent_ls.loop.state.state import CallState
from agent_ls.loop.turn import Turn

_MAX_PAYLOAD_CHARS = 200_000
_MAX_TITLES = 3


@dataclass(frozen=True, slots=True)
class Shown:
    """A call as a user is shown it."""

    planned: PlannedCall
    reason: str
    preview: Preview

    @property
    def digest(self) -> str:
        """Return what an approval is bound to."""
        return digest(self.planned, self.preview)


async def edits_with(first: Shown, turn: Turn) -> list[Shown]:
    """Return this edit and the later ones of the answer that are decided on with it, in order.

    Calls of a plan are left out: the user has decided on them already, or wants each by itself.
    """
    found = [first]
    answer = next(turn.state.events.newest(Answered), None)
    is_plan = answer is not None and answer.origin == "plan"
    if first.planned.plan is None or is_plan or not turn.services.is_attended:
        return found
    rehearsal = turn.services.rehearse()
    await _do(first.planned.plan, rehearsal)
    others: list[PlannedCall | ReferringCall] = []
    is_later = False
    for state in turn.state.calls:
        call = None if state.result is not None else _parsed(state, turn)
        if call is None:
            continue
        if call.call.id == first.planned.call.id:
            is_later = True
            continue
        shown = None
        if is_later and state.effect is None and isinstance(call, PlannedCall):
            shown = await _shown(call, found, others, rehearsal, turn)
        if shown is not None:
            found.append(shown)
        elif call.effect is not Effect.READ:
            others.append(call)
    return found


def preview_together(shown: Sequence[Shown]) -> Preview:
    """Return one preview of several edits: their diffs in the order of the calls."""
    previews = [one.preview for one in shown]
    titles = list(dict.fromkeys(one.title for one in previews))
    more = f" and {len(titles) - _MAX_TITLES} more" if len(titles) > _MAX_TITLES else ""
    return previews[0].model_copy(
        update={
            "title": f"{len(shown)} changes: {'; '.join(titles[:_MAX_TITLES])}{more}",
            "payload": "".join(f"{one.payload.rstrip()}\n" for one in previews),
            "bound": "",
        }
    )


def _parsed(state: CallState, turn: Turn) -> PlannedCall | ReferringCall | None:
    """Return an open call with its arguments; None if they are invalid."""
    tool = turn.services.tools.get(state.call.tool)
    if tool is not None and expressions_in(state.call):
        return ReferringCall(state.call, tool)
    planned = plan_call(state.call, turn.services.tools, ())
    return None if isinstance(planned, ToolResult) else planned


async def _shown(
    planned: PlannedCall,
    joined: Sequence[Shown],
    others: Iterable[PlannedCall | ReferringCall],
    rehearsal: Rehearsal,
    turn: Turn,
) -> Shown | None:
    """Return an ordinary edit, planned after those that joined; None if it has to ask alone."""
    tool = rehearsal.tools.get(planned.tool.name)
    is_of_one_rule = planned.grant == joined[0].planned.grant
    if tool is None or not is_of_one_rule or before_tool_hooks(planned, turn):
        return None
    if any(conflicts(planned, other, turn.name) for other in others):
        return None
    for one in joined:
        plan = one.planned.plan
        is_of_texts = plan is not None and all(edit.kind == "change" for edit in plan.edits)
        if not is_of_texts and conflicts(planned, one.planned, turn.name):
            return None
    _, verdict = await decide(planned, turn)
    if not (isinstance(verdict, Ask) and verdict.broad):
        return None
    try:
        plan = await tool.plan(planned.arguments)
        if not await _do(plan, rehearsal):
            return None
    except (ToolError, WorkspaceError):
        # Its own turn comes: then it works, or its result says why it does not.
        return None
    planned = PlannedCall(planned.call, planned.tool, planned.arguments, planned.goes_to, plan=plan)
    preview = await preview_of(planned)
    size = sum(len(one.preview.payload) for one in joined) + len(preview.payload)
    return Shown(planned, verdict.reason, preview) if size <= _MAX_PAYLOAD_CHARS else None


async def _do(plan: ToolOutput, rehearsal: Rehearsal) -> bool:
    outcomes = [await rehearsal.workspace.apply(edit) for edit in plan.edits]
    return all(one.status == "applied" for one in outcomes)
