"""background: what the programs print that run_command started in the background, and their end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from agent_ls.domain.calls import ToolKind
from agent_ls.domain.errors import ToolError
from agent_ls.domain.events import BackgroundRead
from agent_ls.loop.extension_points import ToolContext, ToolOutput
from agent_ls.loop.ports.commands import Background, BackgroundOutput
from agent_ls.loop.state.state import BackgroundProgram
from agent_ls.safety.text import plain_output_slowly
from agent_ls.tools.arguments import Arguments
from agent_ls.tools.plain_tool import PlainTool


class BackgroundArguments(Arguments):
    """What to do with which program."""

    words: ClassVar[str] = "background"

    action: Literal["output", "list", "stop"] = Field(
        "output", description="output: what is new since you last looked."
    )
    name: str = Field("", max_length=100, description="As run_command got it.")
    wait_s: Annotated[float, Field(ge=0, le=60)] = Field(
        0, description="Wait so long for new output or the end."
    )

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if self.action != "list" and not self.name:
            raise ValueError("name is needed: it is the background that run_command got")
        return self


@dataclass(frozen=True, slots=True)
class BackgroundPrograms(PlainTool):
    """Reads and ends what goes on in the background.

    It needs no approval: what it reads and ends is what an approved call has started.
    """

    name: ClassVar[str] = "background"
    description: ClassVar[str] = "Read new output of background programs, list or stop them."
    title: ClassVar[str] = "Background: {action} {name}"
    # Not READ: such calls may start before the answer is complete.
    kind: ClassVar[ToolKind] = ToolKind.EXECUTE
    group: ClassVar[str] = ""
    Arguments: ClassVar[type[Arguments]] = BackgroundArguments

    background: Background | None = None

    async def run(self, arguments: BackgroundArguments, context: ToolContext) -> ToolOutput:
        """Return what is new; the place up to which it was read is an event."""
        programs = context.view.session.background
        if arguments.action == "list":
            lines = [_listed(name, one) for name, one in programs.items()]
            return ToolOutput("\n".join(lines) or "No background program was started.")
        name = arguments.name
        if name not in programs:
            known = ", ".join(programs) or "none"
            raise ToolError(f"There is no background program {name}; there is: {known}.")
        program = programs[name]
        if program.ended is not None and program.ended.end in ("lost", "closed"):
            raise ToolError(f"{name} {program.ended.words}, and its output with it.")
        if self.background is None:
            raise ToolError("Sub-agents have no background programs.")
        if arguments.action == "stop":
            await self.background.stop(name)
        found = await self.background.output(
            name, after_bytes=program.read_bytes, wait_s=arguments.wait_s
        )
        text = f"{_how(name, found)}\n{await plain_output_slowly(found.text)}".rstrip()
        return ToolOutput(
            text,
            data={"background": name, "is_running": found.ended is None},
            events=(BackgroundRead(name=name, until_bytes=found.until_bytes),),
        )


def _listed(name: str, program: BackgroundProgram) -> str:
    how = "runs" if program.ended is None else program.ended.words
    return f"{name} {how}: {program.started.command}"


def _how(name: str, found: BackgroundOutput) -> str:
    how = "runs" if found.ended is None else found.ended.words
    why = f" ({found.failure})" if found.failure else ""
    left = f" {found.left_out_bytes:,} older bytes are not kept." if found.left_out_bytes else ""
    new = "New output:" if found.text else "No new output."
    return f"{name} {how}{why}.{left} {new}"
