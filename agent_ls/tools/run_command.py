"""run_command: a shell command in the workspace."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, ClassVar, cast

from pydantic import AfterValidator, Field, JsonValue

from agent_ls.domain.approvals import Preview
from agent_ls.domain.calls import Effect, ErrorKind, ToolKind
from agent_ls.domain.errors import ToolError
from agent_ls.domain.events import BackgroundRead, BackgroundStarted
from agent_ls.domain.record import Record
from agent_ls.domain.rules import GRANT
from agent_ls.edits.shell_call import is_patch_call
from agent_ls.loop.extension_points import ToolContext, ToolOutput
from agent_ls.loop.ports.commands import Background, Bounds, CommandOutcome, Runner
from agent_ls.loop.ports.extension import Skills
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.loop.state.view import TurnView
from agent_ls.safety.commands import read_only_env
from agent_ls.safety.prefixes import prefix_rule
from agent_ls.safety.sandbox.beyond import in_words
from agent_ls.safety.sandbox.confinement import ALL_HOSTS
from agent_ls.safety.sandbox.hosts import read_grant
from agent_ls.safety.text import plain_output_slowly, visible_line
from agent_ls.tools.arguments import Arguments, FilePath
from agent_ls.tools.plain_tool import PlainTool
from agent_ls.tools.showing import preview
from agent_ls.tools.spec import parameters_of

_MAX_COMMAND_BYTES = 100_000
"""The system takes no more than 128 KiB in one argument."""
_MAX_GRANTED_CHARS = 10_000


def _runnable(command: str) -> str:
    """Return the command; ``ValueError`` if a shell cannot get exactly these characters.

    Models trained with it call apply_patch as a program. Such a command would only fail.
    """
    if "\0" in command:
        raise ValueError("a command cannot hold the character NUL")
    try:
        size = len(command.encode())
    except UnicodeEncodeError:
        raise ValueError("the command holds half of a character") from None
    if size > _MAX_COMMAND_BYTES:
        raise ValueError(f"a command has at most {_MAX_COMMAND_BYTES:,} bytes; write a script")
    if is_patch_call(command):
        raise ValueError(
            "apply_patch is a tool, not a program; call the tool with this patch, and write its "
            "paths as seen from the workspace folder"
        )
    return command


def _granted(host: str) -> str:
    """Return the host; ``ValueError`` if it is none."""
    if host != ALL_HOSTS[0]:
        read_grant(host)
    return host


_Name = Annotated[str, Field(max_length=40, pattern=r"^[A-Za-z0-9][\w.-]*$")]


class RunCommandArguments(Arguments):
    """What to run, where, and for how long at most."""

    words: ClassVar[str] = "run_command"

    command: Annotated[str, Field(min_length=1), AfterValidator(_runnable)] = Field(
        description="Command line for the shell."
    )
    cwd: FilePath = Field(".", description="Folder to run it in.")
    timeout_s: Annotated[float | None, Field(gt=0)] = Field(
        None, description="Seconds it may take, if not the usual 120."
    )
    background: _Name | None = Field(
        None, description="A name: it goes on under it, for servers and watchers."
    )
    network: tuple[Annotated[str, AfterValidator(_granted)], ...] = Field(
        (), description="Hosts it needs, as pypi.org; else no network."
    )
    outside_sandbox: bool = Field(False, description="For docker, ssh, git push; needs a reason.")
    reason: str = Field("", description="Why it needs these two.")


class RunCommandOptions(Record):
    """How long a command may take."""

    timeout_s: float = 120.0
    """When the call does not say."""
    max_timeout_s: float = 600.0
    """Whatever the call says."""
    background_timeout_s: float = 3_600.0
    """Of a background program, when the call does not say."""
    max_background_timeout_s: float = 28_800.0
    """Of a background program, whatever the call says."""


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
    skills: Skills | None = None
    background: Background | None = None
    """None for sub-agents, whose programs end with their commands."""
    options: RunCommandOptions = RunCommandOptions()

    def parameters(self, view: TurnView) -> dict[str, JsonValue]:
        """Return the parameters; where several folders are open, ``cwd`` is required."""
        parameters = parameters_of(self.Arguments)
        if self.background is None:
            own = cast("dict[str, JsonValue]", parameters["properties"])
            fewer: JsonValue = {key: one for key, one in own.items() if key != "background"}
            parameters = {**parameters, "properties": fewer}
        names = [f"{visible_line(root.name)}/" for root in self.workspace.roots]
        if len(names) < 2:
            return parameters
        own = cast("dict[str, JsonValue]", parameters["properties"])
        words = f"Folder to run it in: {', '.join(names)} or one below."
        cwd: JsonValue = {"type": "string", "description": words}
        required = [*cast("list[JsonValue]", parameters["required"]), "cwd"]
        return {**parameters, "properties": {**own, "cwd": cwd}, "required": required}

    def grant(self, arguments: RunCommandArguments) -> str | None:
        """Return the rule for exactly this command in exactly this folder; None if it gets none.

        Shape: ``run_command:<command>``, or ``run_command[<folder>]:<command>``; with
        ``{what it needs beyond the sandbox}`` behind the tool's name.
        """
        folder = arguments.cwd
        # A bracket in the name could make one folder and command look like another pair.
        if len(arguments.command) > _MAX_GRANTED_CHARS or "]" in folder:
            return None
        place = "" if folder == "." else f"[{folder}]"
        beyond = self._beyond(arguments, reason="")
        needs = f"{{{beyond}}}" if beyond else ""
        return f"{self.name}{needs}{place}:{arguments.command}"

    def _beyond(self, arguments: RunCommandArguments, *, reason: str) -> str:
        """Return what it needs beyond the sandbox, in words; empty for nothing."""
        if self.runner.boundary != "sandbox":
            return ""
        return in_words(arguments.network, is_outside=arguments.outside_sandbox, reason=reason)

    def _bounds(self, arguments: RunCommandArguments, context: ToolContext) -> Bounds:
        view = "read-only" if context.reads_only else "workspace-write"
        return Bounds(
            "outside" if arguments.outside_sandbox else view,
            consent=context.consent,
            network=arguments.network,
            # A skill's instructions may run its scripts.
            readable=self.skills.readable if self.skills is not None else (),
            goes_on=arguments.background is not None,
        )

    async def preview(self, arguments: RunCommandArguments) -> Preview:
        """Return the exact command, then where it runs; first what it needs beyond the sandbox."""
        _, folder = self.workspace.locate(arguments.cwd)
        beyond = self._beyond(arguments, reason=arguments.reason)
        needs = self._beyond(arguments, reason="")
        # A rule by pattern is about the command's words alone.
        prefix = None if needs else await self._prefix(arguments.command, folder)
        lasts = ""
        if arguments.background is not None:
            limit_s = self._limit_s(arguments)
            lasts = f"(in the background as {arguments.background}, for at most {limit_s:g} s)"
        run = "Run in the background" if lasts else "Run"
        return preview(
            f"{run} ({needs}): {arguments.command}" if needs else f"{run}: {arguments.command}",
            "\n".join(filter(None, (beyond, arguments.command, lasts, f"(in {folder})"))),
            self.kind,
            grant=self.grant(arguments),
            prefix=prefix,
        )

    async def _prefix(self, command: str, folder: Path) -> str | None:
        is_held = self.runner.boundary == "sandbox"
        rule = await asyncio.to_thread(
            prefix_rule, command, folder, self.workspace.roots, is_held=is_held
        )
        return f"{GRANT}{rule}" if rule else None

    async def run(self, arguments: RunCommandArguments, context: ToolContext) -> ToolOutput:
        """Run it to its end or its limit; a non-zero exit is a result, not an error."""
        _, folder = self.workspace.locate(arguments.cwd)
        if not await asyncio.to_thread(folder.is_dir):
            return ToolOutput(f"{arguments.cwd} is not a folder.", ErrorKind.RUNTIME)
        bounds = self._bounds(arguments, context)
        can_show = self.runner.shows_texts and bounds.view != "outside"
        unsaved = await self.workspace.save_dirty(can_show=can_show)
        bounds = replace(bounds, texts=unsaved.texts)
        limit_s = self._limit_s(arguments)
        # Part of what makes a command read-only is set there.
        env = read_only_env(self.runner.boundary) if context.reads_only else None
        if arguments.background is not None:
            started = BackgroundStarted(
                call_id=context.call_id,
                name=arguments.background,
                command=arguments.command,
                limit_s=limit_s,
                reads_only=context.reads_only,
            )
            return await self._in_background(started, folder, env, bounds)
        try:
            outcome = await self.runner.run(
                arguments.command,
                cwd=folder,
                timeout_s=limit_s,
                on_output=context.report,
                env=env,
                bounds=bounds,
            )
        except OSError as error:
            why = error.strerror or error
            raise ToolError(f"The command could not be started: {why}.") from None
        printed = await plain_output_slowly(outcome.output)
        text = f"{_ending(outcome, limit_s)}\n{printed}".rstrip()
        if unsaved.paths:
            text += (
                f"\n(It saw the saved text of {', '.join(unsaved.paths)}, not the editor's: these "
                "files have unsaved changes.)"
            )
        if unsaved.texts and outcome.exit_code:
            names = ", ".join(filter(None, map(self.workspace.shown, unsaved.texts)))
            text += f"\n(It saw the editor's unsaved text of {names}, and could not change it.)"
        if self.runner.boundary == "sandbox" and outcome.exit_code and bounds.view != "outside":
            text += f"\n({_withheld(bounds)})"
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

    def _limit_s(self, arguments: RunCommandArguments) -> float:
        options = self.options
        if arguments.background is not None:
            limit_s = arguments.timeout_s or options.background_timeout_s
            return min(limit_s, options.max_background_timeout_s)
        return min(arguments.timeout_s or options.timeout_s, options.max_timeout_s)

    async def _in_background(
        self,
        started: BackgroundStarted,
        folder: Path,
        env: Mapping[str, str] | None,
        bounds: Bounds,
    ) -> ToolOutput:
        """Start a program that goes on; its end within the first moment is its result."""
        if self.background is None:
            raise ToolError("Sub-agents run no background programs; run it without background.")
        first = await self.background.start(started, cwd=folder, env=env, bounds=bounds)
        if first.failure:
            raise ToolError(f"The command could not be started: {first.failure}.")
        if first.ended is not None:
            text = f"{started.name} {first.ended.words}."
        else:
            text = (
                f"{started.text} Read what it prints, and stop it, with background; it is killed "
                f"after {started.limit_s:g} s."
            )
            if self.runner.boundary == "sandbox" and bounds.view != "outside":
                text += f" {_reach(bounds)}"
        printed = await plain_output_slowly(first.text)
        return ToolOutput(
            f"{text}\n{printed}".rstrip(),
            data={"background": started.name, "is_running": first.ended is None},
            events=(BackgroundRead(name=started.name, until_bytes=first.until_bytes),),
        )


def _reach(bounds: Bounds) -> str:
    """Say to the model who reaches the ports of a background program."""
    if bounds.network == ALL_HOSTS:
        return "Commands reach its ports with network localhost:PORT."
    return "No other command reaches its ports: for that, stop it and start it with network *."


def _withheld(bounds: Bounds) -> str:
    """Say to the model what a command did not have, and how to ask for it."""
    network = f"only {', '.join(bounds.network)}" if bounds.network else "no network"
    if bounds.view == "read-only":
        return f"Sandbox: read-only, {network}, no home folder."
    git = "hooks and config" if bounds.consent != "none" else "folder"
    secrets = "" if bounds.consent == "user" else ", no files with secrets"
    return (
        f"Sandbox: {network} (argument network), .git {git} and control files read-only, no home "
        f"folder{secrets}. If one of these is why it failed: outside_sandbox and reason."
    )


def _ending(outcome: CommandOutcome, limit_s: float) -> str:
    if outcome.end == "timed_out":
        return f"Killed after {limit_s:g} s with everything it started. Its output until then:"
    if outcome.end == "simulated":
        return "The command was not run, so its outcome is unknown."
    if outcome.exit_code is None:
        return "Killed. Its output until then:"
    return f"Exit code {outcome.exit_code}."
