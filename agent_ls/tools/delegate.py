"""delegate: a task for a sub-agent with a context, rights and limits of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import Field

from agent_ls.domain.agents import AgentLimits
from agent_ls.domain.approvals import Preview
from agent_ls.domain.calls import Effect, ErrorKind, ToolKind
from agent_ls.loop.ports.agents import ChildTurns
from agent_ls.loop.sockets import ToolContext, ToolOutput
from agent_ls.safety.text import cleaned
from agent_ls.tools.arguments import Arguments
from agent_ls.tools.showing import preview


class DelegateArguments(Arguments):
    """Which kind of sub-agent, what it is to do, and whether it may run beside other calls."""

    kind: Annotated[str, Field(min_length=1, max_length=40)]
    task: Annotated[str, Field(min_length=1, max_length=20_000)]
    independent: bool = False


@dataclass(frozen=True, slots=True)
class Delegate:
    """Starts a sub-agent and waits for its report. Source: seeds 000 and 002."""

    name: ClassVar[str] = "delegate"
    description: ClassVar[str] = (
        "Give a sub-agent (explore, implement, test, review) a task; it knows only what you write. "
        "Several independent ones run at once."
    )
    effect: ClassVar[Effect] = Effect.DELEGATE
    kind: ClassVar[ToolKind] = ToolKind.OTHER
    Arguments: ClassVar[type[Arguments]] = DelegateArguments

    children: ChildTurns
    options: AgentLimits = AgentLimits()

    def paths(self, arguments: DelegateArguments) -> tuple[str, ...]:
        """Return none: what it touches is judged call by call."""
        return ()

    async def preview(self, arguments: DelegateArguments) -> Preview:
        """Return the task."""
        return preview(f"Start the sub-agent {arguments.kind}", arguments.task, self.kind)

    async def run(self, arguments: DelegateArguments, context: ToolContext) -> ToolOutput:
        """Return the report; a sub-agent that failed or was stopped is an error."""
        result = await self.children.run(
            context.call_id,
            arguments.kind,
            arguments.task,
            lambda text: context.report(cleaned(text)),
        )
        return ToolOutput(
            str(result),
            error=ErrorKind.RUNTIME if result.is_failed else None,
            data={
                "session_id": result.session_id,
                "stop": result.stop.value,
                "steps": result.steps,
                "report": result.report.model_dump(mode="json"),
                "files": list(result.files),
            },
        )
