"""final_output: the turn's result in the shape that the user asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field, JsonValue

from agent_ls.domain.calls import ErrorKind, ToolKind
from agent_ls.domain.code_review import CodeReview
from agent_ls.domain.errors import ToolError
from agent_ls.domain.events import FinalOutputGiven
from agent_ls.loop.evidence.output_schema import violations
from agent_ls.loop.extension_points import ToolContext, ToolOutput
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.loop.state.view import TurnView
from agent_ls.tools.arguments import Arguments
from agent_ls.tools.plain_tool import PlainTool
from agent_ls.tools.review_findings import review_reported


class FinalOutputArguments(Arguments):
    """The output, or null."""

    explains: ClassVar[bool] = False

    output: JsonValue = Field(description="The result; null: not yet.")


@dataclass(frozen=True, slots=True)
class FinalOutput(PlainTool):
    """Takes the turn's result; offered only when the user gave a schema for it.

    Source: S1, final output: it ends the turn even beside other calls; null means go on.
    """

    name: ClassVar[str] = "final_output"
    description: ClassVar[str] = "Give the final result, once, when all is done. It ends your work."
    title: ClassVar[str] = "Give the final output"
    kind: ClassVar[ToolKind] = ToolKind.OTHER
    group: ClassVar[str] = ""
    Arguments: ClassVar[type[Arguments]] = FinalOutputArguments

    workspace: Workspace

    def parameters(self, view: TurnView) -> dict[str, JsonValue] | None:
        """Return the parameters in this turn; None where it is not offered."""
        schema = view.turn.output_schema
        if schema is None:
            return None
        return {"type": "object", "properties": {"output": schema}, "required": ["output"]}

    async def run(self, arguments: FinalOutputArguments, context: ToolContext) -> ToolOutput:
        """Check the output against the schema and hand it over to be recorded."""
        if arguments.output is None:
            return ToolOutput("No output yet: go on, and call this again when all is done.")
        wrong = violations(arguments.output, context.view.turn.output_schema or {})
        if wrong:
            raise ToolError(
                "The output does not fit the user's schema: " + "; ".join(wrong) + ". Correct it.",
                ErrorKind.STRUCTURAL,
            )
        given = FinalOutputGiven(call_id=context.call_id, value=arguments.output)
        if context.view.turn.limits.output != "review":
            return ToolOutput("Taken as the final output.", events=(given,))
        review = CodeReview.model_validate(arguments.output)
        shown = await review_reported(review, context.view, self.workspace)
        return ToolOutput("Taken as the result of the review.", events=(given, *shown))
