"""read_output: the rest of a result that was cut."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.approvals import Preview
from agent_ls.domain.calls import Effect, ToolKind
from agent_ls.domain.errors import ToolError
from agent_ls.loop.ports.store import Blobs
from agent_ls.loop.sockets import ToolContext, ToolOutput
from agent_ls.tools.arguments import Arguments
from agent_ls.tools.showing import preview

_MAX_CHARS = 7_000
"""Less than results are cut to, so that what is read on is not cut again."""


class ReadOutputArguments(Arguments):
    """Which output, and which lines of it."""

    handle: str = Field(
        min_length=8,
        max_length=64,
        pattern="^[0-9a-f]+$",
        description="The handle that the cut result names.",
    )
    start_line: int = Field(1, ge=1, description="First line, from 1.")
    lines: int = Field(200, ge=1, le=1_000, description="How many lines.")


@dataclass(frozen=True, slots=True)
class ReadOutput:
    """Shows more of a cut result of this turn."""

    name: ClassVar[str] = "read_output"
    description: ClassVar[str] = "Read the rest of a result that was cut."
    effect: ClassVar[Effect] = Effect.READ
    kind: ClassVar[ToolKind] = ToolKind.READ
    Arguments: ClassVar[type[Arguments]] = ReadOutputArguments

    blobs: Blobs

    def paths(self, arguments: ReadOutputArguments) -> tuple[str, ...]:
        """Return none: it looks at no file."""
        return ()

    async def preview(self, arguments: ReadOutputArguments) -> Preview:
        """Return which output would be read."""
        return preview("Read a cut result", arguments.handle, self.kind)

    async def run(self, arguments: ReadOutputArguments, context: ToolContext) -> ToolOutput:
        """Return the lines; only outputs of this session can be named."""
        digest = next(
            (
                message.output_id
                for message in reversed(context.view.messages)
                if message.role == "tool"
                and message.output_id is not None
                and message.output_id.startswith(arguments.handle)
            ),
            None,
        )
        data = None if digest is None else await self.blobs.get_blob(digest)
        if data is None:
            raise ToolError("There is no output with this handle in this session.")
        lines = data.decode(errors="replace").splitlines()
        first = arguments.start_line
        shown = _fitting(lines[first - 1 : first - 1 + arguments.lines])
        if not shown:
            raise ToolError(f"The output has only {len(lines)} lines.")
        last = first - 1 + len(shown)
        note = f"\n(lines {first}-{last} of {len(lines)})"
        return ToolOutput("\n".join(shown) + note, data={"lines": len(shown)})


def _fitting(lines: list[str]) -> list[str]:
    """Return the first lines that fit; at least one, which may be cut."""
    size = 0
    for count, line in enumerate(lines):
        size += len(line) + 1
        if size > _MAX_CHARS:
            return [one[:_MAX_CHARS] for one in lines[: max(count, 1)]]
    return lines
