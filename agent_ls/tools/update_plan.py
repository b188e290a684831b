"""update_plan: the agent's plan, replaced as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import Field

from agent_ls.domain.approvals import Preview
from agent_ls.domain.calls import Effect, ToolKind
from agent_ls.domain.events import PlanUpdated
from agent_ls.domain.plans import PlanItem, PlanStatus
from agent_ls.loop.sockets import ToolContext, ToolOutput
from agent_ls.tools.arguments import Arguments
from agent_ls.tools.showing import preview


class Item(Arguments):
    """One line of the plan."""

    text: Annotated[str, Field(min_length=1, max_length=500)]
    status: PlanStatus = PlanStatus.PENDING


class UpdatePlanArguments(Arguments):
    """The whole plan."""

    items: Annotated[tuple[Item, ...], Field(max_length=50)]


@dataclass(frozen=True, slots=True)
class UpdatePlan:
    """Replaces the plan."""

    name: ClassVar[str] = "update_plan"
    description: ClassVar[str] = "Replace the plan shown to the user; send all items every time."
    effect: ClassVar[Effect] = Effect.READ
    kind: ClassVar[ToolKind] = ToolKind.THINK
    Arguments: ClassVar[type[Arguments]] = UpdatePlanArguments

    def paths(self, arguments: UpdatePlanArguments) -> tuple[str, ...]:
        """Return none: the plan is no file."""
        return ()

    async def preview(self, arguments: UpdatePlanArguments) -> Preview:
        """Return the plan."""
        lines = "\n".join(f"{item.status}: {item.text}" for item in arguments.items)
        return preview("Update the plan", lines, self.kind)

    async def run(self, arguments: UpdatePlanArguments, context: ToolContext) -> ToolOutput:
        """Hand the plan over to be recorded."""
        items = tuple(PlanItem(text=one.text, status=one.status) for one in arguments.items)
        done = sum(item.status is PlanStatus.COMPLETED for item in items)
        return ToolOutput(
            f"Plan updated: {done} of {len(items)} done.", events=(PlanUpdated(items=items),)
        )
