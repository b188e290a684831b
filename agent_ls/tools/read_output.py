"""read_output: the rest of a result that was cut."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.errors import ToolError
from agent_ls.loop.extension_points import ToolContext, ToolOutput
from agent_ls.loop.ports.store import Blobs
from agent_ls.tools.arguments import Arguments
from agent_ls.tools.plain_tool import PlainTool

_MAX_CHARS = 7_000
"""Below the limit of results, so that this result is not cut again."""


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
    start_column: int = Field(1, ge=1, description="Only that line, from this character.")


@dataclass(frozen=True, slots=True)
class ReadOutput(PlainTool):
    """Shows more of a result that was cut."""

    name: ClassVar[str] = "read_output"
    description: ClassVar[str] = "Read the rest of a result that was cut."
    title: ClassVar[str] = "Read a cut result"
    Arguments: ClassVar[type[Arguments]] = ReadOutputArguments

    blobs: Blobs

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
        if first > len(lines):
            raise ToolError(f"The output has only {len(lines)} lines.")
        start = arguments.start_column - 1
        if start or len(lines[first - 1]) > _MAX_CHARS:
            return _part(lines[first - 1], first, start)
        shown = _fitting(lines[first - 1 : first - 1 + arguments.lines])
        last = first - 1 + len(shown)
        note = f"\n(lines {first}-{last} of {len(lines)})"
        return ToolOutput("\n".join(shown) + note, data={"lines": len(shown)})


def _part(line: str, number: int, start: int) -> ToolOutput:
    """Return what fits of one line, from the character at ``start`` on."""
    if start >= len(line):
        raise ToolError(f"Line {number} has only {len(line)} characters.")
    shown = line[start : start + _MAX_CHARS]
    end = start + len(shown)
    note = f"characters {start + 1}-{end} of {len(line)} of line {number}"
    if end < len(line):
        note += f"; go on with start_line={number}, start_column={end + 1}"
    return ToolOutput(f"{shown}\n({note})")


def _fitting(lines: list[str]) -> list[str]:
    """Return the first lines that fit."""
    size = 0
    for count, line in enumerate(lines):
        size += len(line) + 1
        if size - 1 > _MAX_CHARS:
            return lines[:count]
    return lines
