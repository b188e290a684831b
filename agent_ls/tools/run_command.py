"""run_command: a shell command in the workspace."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field

from agent_ls.domain.approvals import Preview
from agent_ls.domain.calls import Effect, ErrorKind, ToolKind
from agent_ls.domain.errors import ToolError
from agent_ls.domain.record import Record
from agent_ls.loop.ports.commands import CommandOutcome, Runner
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.loop.sockets import ToolContext, ToolOutput
from agent_ls.safety.commands import READ_ONLY_ENV
from agent_ls.safety.text import plain_output_slowly
from agent_ls.tools.arguments import Arguments, FilePath
from agent_ls.tools.plain_tool import PlainTool
from agent_ls.tools.showing import preview

_MAX_COMMAND_BYTES = 100_000
"""The system takes no more than 128 KiB in one argument."""
_MAX_GRANTED_CHARS = 10_000


def _runnable(command: str) -> str:
    """Return the command; ``ValueError`` if a shell cannot get exactly these characters."""
    if "\0" in command:
        raise ValueError("a command cannot hold the character NUL")
    try:
        size = len(command.encode())
    except UnicodeEncodeError:
        raise ValueError("the command holds half of a character") from None
    if size > _MAX_COMMAND_BYTES:
        raise ValueError(f"a command has at most {_MAX_COMMAND_BYTES:,} bytes; write a script")
    return command


class RunCommandArguments(Arguments):
    """What to run, where, and for how long at most."""

    other_names: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "command": ("cmd",),
        "cwd": ("workdir", "directory"),
    }

    command: Annotated[str, Field(min_length=1), AfterValidator(_runnable)] = Field(
        description="Command line for the shell."
    )
    cwd: FilePath = Field(".", description="Folder to run it in.")
    timeout_s: Annotated[float | None, Field(gt=0)] = Field(
        None, description="Seconds it may take, if not the usual 120."
    )


class RunCommandOptions(Record):
    """How long a command may take."""

    timeout_s: float = 120.0
    """When the call does not say."""
    max_timeout_s: float = 600.0
    """Whatever the call says."""


@dataclass(frozen=True, slots=True)
class RunCommand(PlainTool):
    """Runs a command."""

    name: ClassVar[str] = "run_command"
    description: ClassVar[str] = (
        "Run a shell command to its end and return its output: tests, builds, git and the like. "
        "It gets no input."
    )
    effect: ClassVar[Effect] = Effect.EXECUTE
    kind: ClassVar[ToolKind] = ToolKind.EXECUTE
    group: ClassVar[str] = "run"
    Arguments: ClassVar[type[Arguments]] = RunCommandArguments

    workspace: Workspace
    runner: Runner
    options: RunCommandOptions = RunCommandOptions()

    def grant(self, arguments: RunCommandArguments) -> str | None:
        """Return the rule for exactly this command in exactly this folder; None if it gets none.

        Shape: ``run_command:<command>``, or ``run_command[<folder>]:<command>``.
        """
        folder = arguments.cwd
        # A bracket in the name could make one folder and command look like another pair.
        if len(arguments.command) > _MAX_GRANTED_CHARS or "]" in folder:
            return None
        place = "" if folder == "." else f"[{folder}]"
        return f"{self.name}{place}:{arguments.command}"

    async def preview(self, arguments: RunCommandArguments) -> Preview:
        """Return the exact command, then where it runs."""
        _, folder = self.workspace.locate(arguments.cwd)
        return preview(
            f"Run: {arguments.command}",
            f"{arguments.command}\n(in {folder})",
            self.kind,
            grant=self.grant(arguments),
        )

    async def run(self, arguments: RunCommandArguments, context: ToolContext) -> ToolOutput:
        """Run it to its end or its limit; a non-zero exit is a result, not an error."""
        _, folder = self.workspace.locate(arguments.cwd)
        if not await asyncio.to_thread(folder.is_dir):
            return ToolOutput(f"{arguments.cwd} is not a folder.", ErrorKind.RUNTIME)
        unsaved = await self.workspace.save_dirty()
        limit_s = min(arguments.timeout_s or self.options.timeout_s, self.options.max_timeout_s)
        try:
            outcome = await self.runner.run(
                arguments.command,
                cwd=folder,
                timeout_s=limit_s,
                on_output=context.report,
                # Part of what makes a command read-only is set there.
                env=READ_ONLY_ENV if context.reads_only else None,
            )
        except OSError as error:
            raise ToolError(f"The command could not be started: {error.strerror}.") from None
        printed = await plain_output_slowly(outcome.output)
        text = f"{_ending(outcome, limit_s)}\n{printed}".rstrip()
        if unsaved:
            text += (
                f"\n(It saw the saved text of {', '.join(unsaved)}, not the editor's: these "
                "files have unsaved changes.)"
            )
        return ToolOutput(
            text,
            error=ErrorKind.TIMEOUT if outcome.end == "timed_out" else None,
            data={
                "exit_code": outcome.exit_code,
                "end": outcome.end,
                "duration_ms": outcome.duration_ms,
            },
            value=printed,
            value_is_cut=outcome.is_cut,
        )


def _ending(outcome: CommandOutcome, limit_s: float) -> str:
    if outcome.end == "timed_out":
        return f"Killed after {limit_s:g} s with everything it started. Its output until then:"
    if outcome.end == "simulated":
        return "The command was not run, so its outcome is unknown."
    if outcome.exit_code is None:
        return "Killed. Its output until then:"
    return f"Exit code {outcome.exit_code}."
