"""Custom commands from files: ``commands/NAME.md``, in a subfolder ``FOLDER:NAME``, and skills."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from agent_ls.domain.attachments import Attachment
from agent_ls.domain.commands import BUILT_IN, CommandList, CustomCommand, OpeningCall, TurnLimits
from agent_ls.domain.errors import AgentLsError, WorkspaceError
from agent_ls.domain.modes import Mode
from agent_ls.extension.files import (
    Place,
    callable_name,
    model_in,
    only_known,
    places,
    read_all,
    read_parts,
)
from agent_ls.extension.front_matter import first_line, plain_value, rules_in, tools_in, words_in
from agent_ls.extension.skills import MAIN, FoundSkill, skill_variables, skills_in, with_files
from agent_ls.extension.turn_rules import rules_of
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.safety.text import label

_FOREIGN_KEYS = ("description", "argument-hint", "arguments", "model", "allowed-tools")
_MEANINGLESS = (
    *("name", "when_to_use", "disable-model-invocation", "user-invocable", "disallowed-tools"),
    *("effort", "context", "agent", "background", "hooks", "paths", "shell"),
    *("metadata", "license", "compatibility", "version"),
)
"""Keys of other agents without a meaning here; in a file of ours, too, they are no mistake."""
_KEYS = (*_FOREIGN_KEYS, "mode", "tools", *_MEANINGLESS)
_MENTION = re.compile(r"(?<![^\s(\[\"'`])@([\w./~-][^\s`,;:()\[\]\"'<>]*)")
_MAX_MENTIONS = 10
_MAX_OPENING = 25
"""Of calls that come before the model's first answer."""
_MAX_DESCRIPTION = 120


@dataclass(frozen=True, slots=True)
class FileCommands:
    """The ``Commands`` port over files."""

    user_folder: Path
    """The user's configuration folder."""
    workspace: Workspace
    claude_home: Callable[[], Path | None] = lambda: None
    """Returns the user's ``~/.claude`` if it is read now."""

    async def listed(self, called: str = "") -> CommandList:
        """Return the commands; a trusted folder's override the user's own."""
        return await asyncio.to_thread(self.now)

    async def text_of(self, command: CustomCommand, arguments: str, session_id: str) -> str:
        """Return the prompt of a call; for a skill with the names of its files."""
        text = command.expanded(arguments, self._variables(command, session_id))
        if not command.skill_folder:
            return text
        return (await with_files(Path(command.skill_folder), text)).words

    async def opening(
        self, command: CustomCommand, arguments: str, session_id: str
    ) -> tuple[OpeningCall, ...]:
        """Return the calls of a prompt's commands, and of the files that it names with ``@``.

        Errors: ``AgentLsError`` if these are too many commands.
        """
        variables = self._variables(command, session_id)
        roots = self.workspace.roots
        folder: dict[str, JsonValue] = {"cwd": roots[0].name} if len(roots) > 1 else {}
        runs = [
            OpeningCall(tool="run_command", arguments={"command": one, **folder})
            for one in command.runs_first(arguments, variables)
        ]
        if len(runs) > _MAX_OPENING:
            raise AgentLsError(
                f"{command.source} begins with {len(runs)} commands, and at most {_MAX_OPENING} "
                "can be called before the first answer: join some of them."
            )
        text = command.expanded(arguments, variables)
        reads = await asyncio.to_thread(lambda: list(self._mentioned(text)))
        return (*runs, *reads[: min(_MAX_MENTIONS, _MAX_OPENING - len(runs))])

    async def attached(self, prompt: str) -> tuple[Attachment, ...]:
        """Return nothing: the agent reads the files that a prompt names."""
        return ()

    def now(self) -> CommandList:
        """Return the commands, read on this thread."""
        commands: dict[str, CustomCommand] = {}
        problems: dict[str, str] = {}
        refused: dict[str, str] = {}
        also: dict[str, CustomCommand] = {}
        for path, name, read in self._all():
            for known in (commands, problems, refused):
                known.pop(name, None)
            if name in BUILT_IN:
                read = "the agent has a command of that name"
            match read:
                case FoundSkill(is_for_user=False):
                    refused[name] = f"The skill {name} is for the agent alone, as {path} says."
                case FoundSkill(command=command, folder=folder):
                    commands[name] = also[callable_name(folder.name)] = command
                case CustomCommand():
                    commands[name] = read
                case _:
                    problems[name] = f"{_kind_of(path)} in {path} cannot be used: {read}."
        return CommandList(
            dict(sorted(commands.items())), dict(sorted(problems.items())), refused, also
        )

    def _all(self) -> Iterator[tuple[Path, str, CustomCommand | FoundSkill | str]]:
        """Yield each file, its name as a command, and what was read or what is wrong with it.

        Of a command and a skill side by side with one name, the skill comes last.
        """
        given = (self.user_folder, self.workspace.roots, self.claude_home())
        both = zip(places("commands", *given), places("skills", *given), strict=True)
        for place, with_skills in both:
            for path, _, command in read_all([place], "**/*.md", _command_in):
                yield path, _name_of(path, place), command
            for path, _, skill in skills_in([with_skills]):
                is_read = isinstance(skill, FoundSkill)
                yield path, skill.skill.name if is_read else callable_name(path.parent.name), skill

    def _variables(self, command: CustomCommand, session_id: str) -> dict[str, str]:
        """Return what ``${NAME}`` stands for in a command's text."""
        roots = self.workspace.roots
        project = str(roots[0].path) if roots else ""
        own = {"CLAUDE_SESSION_ID": session_id, "CLAUDE_PROJECT_DIR": project}
        if command.skill_folder:
            own |= skill_variables(Path(command.skill_folder), project)
        return own

    def _mentioned(self, text: str) -> Iterator[OpeningCall]:
        """Yield a call for each file or folder of the workspace that a text names with ``@``."""
        names = (found[1].rstrip(".!?") for found in _MENTION.finditer(text))
        for name in dict.fromkeys(filter(None, names)):
            try:
                _, path = self.workspace.locate(name)
                if path.is_file():
                    yield OpeningCall(tool="read_file", arguments={"path": name})
                elif path.is_dir():
                    yield OpeningCall(tool="list_dir", arguments={"path": name})
            except (OSError, WorkspaceError):
                # It stays text: the model sees the name, and may ask for the file.
                continue


def _kind_of(path: Path) -> str:
    return "The skill" if path.name == MAIN else "The command"


def _name_of(path: Path, place: Place) -> str:
    parts = path.relative_to(place.folder).with_suffix("").parts
    return ":".join(callable_name(part) or "_" for part in parts)


def _command_in(path: Path, place: Place) -> CustomCommand:
    if any(part.startswith(".") for part in path.relative_to(place.folder).parts):
        raise ValueError("its name, or that of a folder around it, begins with a dot")
    front, body = read_parts(path, place)
    head = only_known(front, _FOREIGN_KEYS if place.is_foreign else _KEYS, place)
    left = head.get("tools", "")
    project = {} if place.top is None else {"CLAUDE_PROJECT_DIR": str(place.top)}
    return CustomCommand(
        name=_name_of(path, place),
        description=head.get("description") or label(first_line(body), _MAX_DESCRIPTION),
        argument_hint=head.get("argument-hint", ""),
        argument_names=words_in(head.get("arguments", "")),
        body=body,
        source=str(path),
        limits=TurnLimits(
            model=model_in(head.get("model", ""), place),
            mode=_mode_in(plain_value(head.get("mode", ""))),
            tools=tools_in(left, is_foreign=True),
            rules=rules_in(left),
            unasked=rules_of(head.get("allowed-tools", ""), place, project),
        ),
    )


def _mode_in(value: str) -> Mode | None:
    if value and value not in set(Mode):
        raise ValueError(f"mode: {value} is no mode; they are {', '.join(Mode)}")
    return Mode(value) if value else None
