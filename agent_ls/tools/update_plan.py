"""update_plan: the agent's plan, replaced as a whole, and calls that carry it out."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import Field

from agent_ls.domain.approvals import Preview
from agent_ls.domain.calls import ErrorKind, ToolCall, ToolKind
from agent_ls.domain.errors import ToolError
from agent_ls.domain.events import PlanProposed, PlanUpdated
from agent_ls.domain.plans import PlanItem, PlanStatus, ProposedCall
from agent_ls.loop.calls.plans import graph_error
from agent_ls.loop.extension_points import ToolContext, ToolOutput
from agent_ls.tools.arguments import Arguments
from agent_ls.tools.plain_tool import PlainTool
from agent_ls.tools.showing import preview


class Item(Arguments):
    """One line of the plan."""

    words: ClassVar[str] = "item"

    text: str = Field(min_length=1, max_length=500, description="One step.")
    status: PlanStatus = Field(PlanStatus.PENDING, description="How far it is.")


class Step(Arguments):
    """One call of the plan's graph; references and output paths are its edges."""

    tool: str = Field(description="Name of a tool.")
    arguments: dict[str, Any] = Field(description="Its arguments.")


class UpdatePlanArguments(Arguments):
    """The whole plan."""

    words: ClassVar[str] = "update_plan"

    items: tuple[Item, ...] = Field(max_length=50, description="All of the plan, in order.")
    calls: tuple[Step, ...] = Field(
        (), max_length=25, description="Calls that carry it out, run now."
    )
    lazy: bool = Field(False, description="Ask the user before the calls run.")


@dataclass(frozen=True, slots=True)
class UpdatePlan(PlainTool):
    """Replaces the plan."""

    name: ClassVar[str] = "update_plan"
    description: ClassVar[str] = (
        "Show the user your plan and how far it is. Send all items every time."
    )
    kind: ClassVar[ToolKind] = ToolKind.THINK
    group: ClassVar[str] = "run"
    Arguments: ClassVar[type[Arguments]] = UpdatePlanArguments

    async def preview(self, arguments: UpdatePlanArguments) -> Preview:
        """Return the plan."""
        lines = "\n".join(f"{item.status}: {item.text}" for item in arguments.items)
        return preview("Update the plan", lines, self.kind)

    async def run(self, arguments: UpdatePlanArguments, context: ToolContext) -> ToolOutput:
        """Hand the plan over to be recorded."""
        items = tuple(PlanItem(text=one.text, status=one.status) for one in arguments.items)
        done = sum(item.status is PlanStatus.COMPLETED for item in items)
        text = f"Plan updated: {done} of {len(items)} done."
        if not arguments.calls:
            return ToolOutput(text, events=(PlanUpdated(items=items),))
        graph = _proposed(arguments, context)
        how = "the user is asked first" if arguments.lazy else "they run now"
        text += f" It has {len(graph.calls)} calls; {how}."
        return ToolOutput(text, events=(PlanUpdated(items=items), graph))


def _proposed(arguments: UpdatePlanArguments, context: ToolContext) -> PlanProposed:
    """Return the calls as a proposal; ``ToolError`` when they are no graph that can run."""
    mine = [one.call for one in context.view.turn.calls if one.call.id == context.call_id]
    # The id shows whether the model printed the call as text; its plan's calls inherit that.
    provider_id = mine[0].provider_id if mine else context.call_id
    calls = [
        ToolCall(
            id=f"{context.call_id}-{number}",
            provider_id=f"{provider_id}-{number}",
            tool=one.tool,
            arguments_json=json.dumps(one.arguments, ensure_ascii=False),
        )
        for number, one in enumerate(arguments.calls, 1)
    ]
    if any(call.tool == UpdatePlan.name for call in calls):
        raise ToolError("A plan's calls cannot be update_plan.", ErrorKind.STRUCTURAL)
    if wrong := graph_error(calls, context.view.session.outputs):
        raise ToolError(f"{wrong}. The plan was not changed.", ErrorKind.STRUCTURAL)
    return PlanProposed(
        plan_id=context.call_id,
        origin=UpdatePlan.name,
        calls=tuple(
            ProposedCall(call=call, title=call.tool, payload=call.arguments_json) for call in calls
        ),
        run="approved" if arguments.lazy else "eager",
    )
