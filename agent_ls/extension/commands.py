"""Custom commands from files: ``commands/NAME.md``, in a subfolder ``FOLDER:NAME``."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from agent_ls.domain.commands import BUILT_IN, CommandList, CustomCommand, TurnLimits
from agent_ls.domain.modes import Mode
from agent_ls.extension.files import Place, only_known, places, read_all, read_parts, tools_in
from agent_ls.loop.ports.workspace import Workspace

_KEYS = ("description", "argument-hint", "model", "mode", "allowed-tools")
_FOREIGN_KEYS = ("description", "argument-hint", "allowed-tools")
"""Other agents name models in their own way."""


@dataclass(frozen=True, slots=True)
class FileCommands:
    """The ``Commands`` port over files."""

    user_folder: Path
    """The user's configuration folder."""
    workspace: Workspace

    async def listed(self) -> CommandList:
        """Return the commands; a trusted folder's override the user's own."""
        return await asyncio.to_thread(self.now)

    async def text_of(self, command: CustomCommand, arguments: str) -> str:
        """Return the prompt of a call."""
        return command.expanded(arguments)

    async def attached(self, prompt: str) -> str:
        """Return nothing: the agent reads the files that a prompt names."""
        return ""

    def now(self) -> CommandList:
        """Return the commands, read on this thread."""
        commands: dict[str, CustomCommand] = {}
        problems: dict[str, str] = {}
        found = places("commands", self.user_folder, self.workspace.roots)
        for path, place, read in read_all(found, "**/*.md", _command_in):
            name = _name_of(path, place)
            commands.pop(name, None)
            problems.pop(name, None)
            if name in BUILT_IN:
                read = "the agent has a command of that name"
            if isinstance(read, CustomCommand):
                commands[name] = read
            else:
                problems[name] = f"The command in {path} cannot be used: {read}."
        return CommandList(dict(sorted(commands.items())), dict(sorted(problems.items())))


def _name_of(path: Path, place: Place) -> str:
    return ":".join(path.relative_to(place.folder).with_suffix("").parts)


def _command_in(path: Path, place: Place) -> CustomCommand:
    front, body = read_parts(path, place)
    head = only_known(front, _FOREIGN_KEYS if place.is_foreign else _KEYS, place)
    return CustomCommand(
        name=_name_of(path, place),
        description=head.get("description", ""),
        argument_hint=head.get("argument-hint", ""),
        body=body,
        source=str(path),
        limits=TurnLimits(
            model=head.get("model", ""),
            mode=_mode_in(head.get("mode", "")),
            tools=tools_in(head.get("allowed-tools", ""), is_foreign=True),
        ),
    )


def _mode_in(value: str) -> Mode | None:
    if value and value not in set(Mode):
        raise ValueError(f"mode: {value} is no mode; they are {', '.join(Mode)}")
    return Mode(value) if value else None
