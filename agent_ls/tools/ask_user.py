"""ask_user: a question that only the user can answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.approvals import Question
from agent_ls.domain.calls import ToolKind
from agent_ls.domain.ids import Ids
from agent_ls.loop.extension_points import ToolContext, ToolOutput
from agent_ls.tools.arguments import Arguments
from agent_ls.tools.plain_tool import PlainTool


class AskUserArguments(Arguments):
    """The question, and answers to choose from."""

    words: ClassVar[str] = "ask_user"

    question: str = Field(min_length=1, max_length=2_000, description="One question.")
    options: tuple[str, ...] = Field((), max_length=6, description="Answers to choose from.")


@dataclass(frozen=True, slots=True)
class AskUser(PlainTool):
    """Asks the user."""

    name: ClassVar[str] = "ask_user"
    description: ClassVar[str] = "Ask the user, only when you cannot go on without the answer."
    title: ClassVar[str] = "Ask you a question"
    kind: ClassVar[ToolKind] = ToolKind.OTHER
    group: ClassVar[str] = ""
    Arguments: ClassVar[type[Arguments]] = AskUserArguments

    ids: Ids

    async def run(self, arguments: AskUserArguments, context: ToolContext) -> ToolOutput:
        """Hand the question over; ACT asks it, without a time limit."""
        return ToolOutput(
            "",
            question=Question(
                id=self.ids.new("qst"),
                turn_id=context.turn_id,
                origin=self.name,
                text=arguments.question,
                options=arguments.options,
            ),
        )
