"""skill: loads instructions for one kind of task, or reads a file that belongs to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, cast

from pydantic import Field, JsonValue

from agent_ls.domain.record import Record
from agent_ls.loop.extension_points import ToolContext, ToolOutput
from agent_ls.loop.ports.extension import Skill, Skills
from agent_ls.loop.state.view import TurnView
from agent_ls.safety.text import cleaned
from agent_ls.tools.arguments import Arguments
from agent_ls.tools.plain_tool import PlainTool
from agent_ls.tools.spec import parameters_of


class SkillArguments(Arguments):
    """Which skill, and which of its files."""

    words: ClassVar[str] = "skill"

    name: str = Field(min_length=1, max_length=80, description="Which skill.")
    file: str = Field("", max_length=400, description="Read this file of it instead.")
    arguments: str = Field("", max_length=4_000, description="What it takes, if anything.")


class SkillOptions(Record):
    """How much of the skills every request lists."""

    max_listed: int = Field(default=40, ge=0)
    """Skills beyond this are left out; 0: the model has none."""
    max_description_chars: int = Field(default=250, ge=20)
    """A longer description is cut."""


@dataclass(frozen=True, slots=True)
class LoadSkill(PlainTool):
    """Loads a skill."""

    name: ClassVar[str] = "skill"
    description: ClassVar[str] = (
        "Load a skill: the user's instructions for one kind of task. Load one that fits before "
        "you begin."
    )
    title: ClassVar[str] = "Load the skill {name} {file}"
    Arguments: ClassVar[type[Arguments]] = SkillArguments

    skills: Skills
    options: SkillOptions = SkillOptions()

    def parameters(self, view: TurnView) -> dict[str, JsonValue] | None:
        """Return the parameters with the skills in them; None, so no tool, without skills."""
        skills = self.skills.listed[: self.options.max_listed]
        if not skills and not (self.options.max_listed and self.skills.has_any):
            return None
        parameters = parameters_of(self.Arguments)
        if not skills:
            # The user has called one, whose files may be read.
            return parameters
        name: JsonValue = {
            "type": "string",
            "enum": [one.name for one in skills],
            "description": "\n".join(map(self._line, skills)),
        }
        own = cast("dict[str, JsonValue]", parameters["properties"])
        return {**parameters, "properties": {**own, "name": name}}

    def _line(self, skill: Skill) -> str:
        said = " ".join(cleaned(skill.description).split())
        most = self.options.max_description_chars
        return f"{skill.name}: {said if len(said) <= most else said[: most - 1] + '…'}"

    async def run(self, arguments: SkillArguments, context: ToolContext) -> ToolOutput:
        """Return the skill's instructions and the names of its files, or one file's text."""
        if arguments.file:
            return ToolOutput(cleaned(await self.skills.read(arguments.name, arguments.file)))
        skill = await self.skills.load(arguments.name, arguments.arguments)
        return ToolOutput(cleaned(skill.words))
