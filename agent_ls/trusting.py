"""Lists what trusting a folder would switch on; reads files and runs nothing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from agent_ls.checkers.programs import has_typescript
from agent_ls.domain.commands import CustomCommand
from agent_ls.domain.errors import WorkspaceError
from agent_ls.domain.sentences import counted
from agent_ls.extension.agent_kinds import BUILT_IN, found_kinds
from agent_ls.extension.claude_home import claude_home
from agent_ls.extension.commands import FileCommands
from agent_ls.extension.skills import found_skills
from agent_ls.loop.ports.environment import RULE_FILES, TOP_RULE_FILES, rule_files_below
from agent_ls.loop.ports.workspace import Root
from agent_ls.processes.reading import read_file
from agent_ls.safety.text import label
from agent_ls.settings import Settings, folder_settings, settings_switched_on
from agent_ls.workspace.disk import DiskWorkspace
from agent_ls.workspace.environment import folders_above

_NOBODY = Path("/nonexistent")
"""Stands for the user's configuration folder, whose files count already."""
_MAX_LINE_CHARS = 160
_MAX_INSTRUCTIONS = 10
_HERE_ALONE = ", when you work in this very folder"


@dataclass(frozen=True, slots=True)
class SwitchedOn:
    """What would count, and what stays off all the same; one line each, safe to show."""

    on: tuple[str, ...]
    off: tuple[str, ...]

    @property
    def words(self) -> str:
        """Return both as text for a user."""
        on = "".join(f"\n  {one}" for one in self.on) or " nothing that is there now."
        off = "".join(f"\n  {one}" for one in self.off)
        return f"It would switch on:{on}" + (f"\nThese stay off:{off}" if off else "")


async def switched_on(
    folder: Path, settings: Settings, editor: Mapping[str, Any] | None = None
) -> SwitchedOn:
    """Return what trusting a folder would switch on.

    ``settings`` are those in force; ``editor`` are the editor's settings, which a folder may hold.
    """
    files: Sequence[str] = ()
    with suppress(WorkspaceError):
        real = await asyncio.to_thread(folder.resolve)
        root = Root(folder.name, real, is_trusted=True)
        files = await DiskWorkspace((root,)).files(".")
    return await asyncio.to_thread(_switched_on, folder, settings, editor or {}, files)


def _switched_on(
    folder: Path, settings: Settings, editor: Mapping[str, Any], files: Sequence[str]
) -> SwitchedOn:
    own, off = settings_switched_on(folder_settings(folder))
    of_editor, off_in_editor = settings_switched_on(editor)
    root = Root(folder.name, folder, is_trusted=True)
    home = folder if folder.resolve() == claude_home().resolve() else None
    on = [
        *(f"{one}, in every folder" for one in _extensions((), home)),
        *(f"setting {one}" for one in own),
        *(f"editor setting {one}" for one in of_editor),
        # Unlike the rest of ``~/.claude``, they count nowhere else.
        *(f"{one}{_HERE_ALONE if home else ''}" for one in _instructions(folder, files)),
        *_extensions((root,)),
        *_servers(folder),
        *_programs(folder, settings),
    ]
    stays = (f"setting {one}" for one in (*off, *off_in_editor))
    return SwitchedOn(tuple(map(_line, on)), tuple(map(_line, stays)))


def _line(text: str) -> str:
    return label(text, _MAX_LINE_CHARS)


def _instructions(folder: Path, files: Sequence[str]) -> Iterator[str]:
    above = (one / name for one in folders_above(folder) for name in RULE_FILES)
    top = next((name for name in TOP_RULE_FILES if (folder / name).is_file()), None)
    below = sorted(rule_files_below(files))
    found = [*(str(one) for one in above if one.is_file()), *filter(None, (top,)), *below]
    for name in found[:_MAX_INSTRUCTIONS]:
        yield f"instructions in {name}, as if they were yours"
    if len(found) > _MAX_INSTRUCTIONS:
        yield f"instructions in {counted(len(found) - _MAX_INSTRUCTIONS, 'more file')}"


def _extensions(roots: tuple[Root, ...], home: Path | None = None) -> Iterator[str]:
    """Yield the commands, skills and sub-agents of folders, or of the user's ``~/.claude``."""
    if not roots and home is None:
        return
    listed = FileCommands(_NOBODY, DiskWorkspace(roots), lambda: home).now()
    for name, command in listed.commands.items():
        if not command.skill_folder:
            yield f"command /{name}"
            yield from _unasked(f"command /{name}", command)
    skills, _ = found_skills(_NOBODY, roots, home)
    for name, one in skills.found.items():
        yield f"skill {name}"
        yield from _unasked(f"skill {name}", one.command)
    kinds, _ = found_kinds(_NOBODY, roots, home)
    yield from (f"sub-agent {one.name}" for one in kinds.values() if one not in BUILT_IN)


def _unasked(named: str, command: CustomCommand) -> Iterator[str]:
    """Yield what runs unasked in the turn that a command begins, each rule in a line of its own."""
    for rule in command.limits.unasked:
        yield f"{named} runs unasked when you call it: {rule.partition(': ')[2]}"


def _servers(folder: Path) -> Iterator[str]:
    """Yield the MCP servers that the folder names, with the whole command of each."""
    try:
        told: object = json.loads(read_file(folder / ".mcp.json"))
    except FileNotFoundError:
        return
    except (OSError, ValueError, RecursionError):
        yield "MCP servers in .mcp.json, which cannot be read"
        return
    servers = _table(_table(told).get("mcpServers"))
    for name, one in servers.items():
        server = _table(one)
        arguments = server.get("args")
        words = [server.get("command") or server.get("url") or "without a command"]
        words += cast("list[object]", arguments) if isinstance(arguments, list) else []
        yield f"MCP server {name}: {' '.join(map(str, words))}"


def _table(value: object) -> dict[str, object]:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def _programs(folder: Path, settings: Settings) -> Iterator[str]:
    if has_typescript([folder]):
        yield "program node_modules/typescript"
    for one in settings.checkers.commands:
        yield f"your checker {one.name}: {one.command}"
