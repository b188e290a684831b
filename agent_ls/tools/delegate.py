"""delegate: a task for a sub-agent with a context, rights and limits of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, cast

from pydantic import Field, JsonValue

from agent_ls.domain.agents import AgentLimits
from agent_ls.domain.calls import Effect, ErrorKind, ToolKind
from agent_ls.loop.extension_points import ToolContext, ToolOutput
from agent_ls.loop.ports.agents import ChildTurns
from agent_ls.loop.state.view import TurnView
from agent_ls.safety.text import cleaned
from agent_ls.tools.arguments import Arguments
from agent_ls.tools.plain_tool import PlainTool
from agent_ls.tools.spec import parameters_of


class DelegateArguments(Arguments):
    """Which kind of sub-agent, what it is to do, and whether it may run beside other calls."""

    words: ClassVar[str] = "delegate"

    kind: str = Field(min_length=1, max_length=40, description="Which sub-agent.")
    task: str = Field(
        min_length=1, max_length=20_000, description="The task and all it has to know."
    )
    independent: bool = Field(False, description="It may run beside other calls.")


@dataclass(frozen=True, slots=True)
class Delegate(PlainTool):
    """Starts a sub-agent and waits for its report. Source: S0 and S2."""

    name: ClassVar[str] = "delegate"
    description: ClassVar[str] = (
        "Give a task to a sub-agent and wait for its report: for wide searches, or parts that can "
        "be done apart. It sees nothing of this conversation."
    )
    title: ClassVar[str] = "Start the sub-agent {kind}"
    effect: ClassVar[Effect] = Effect.DELEGATE
    kind: ClassVar[ToolKind] = ToolKind.OTHER
    group: ClassVar[str] = ""
    Arguments: ClassVar[type[Arguments]] = DelegateArguments

    children: ChildTurns
    options: AgentLimits = AgentLimits()

    def parameters(self, view: TurnView) -> dict[str, JsonValue]:
        """Return the parameters, with the available kinds of sub-agents."""
        parameters = parameters_of(self.Arguments)
        kinds = self.children.kinds.values()
        said = "; ".join(f"{kind.name}: {kind.description}" for kind in kinds)
        kind: JsonValue = {
            "type": "string",
            "enum": [kind.name for kind in kinds],
            "description": f"{said}.",
        }
        own = cast("dict[str, JsonValue]", parameters["properties"])
        return {**parameters, "properties": {**own, "kind": kind}}

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
