"""``commands``: lists the custom commands of the user and of a folder, and prompts of servers."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from agent_ls.assembly import open_disk_workspace, open_tool_servers
from agent_ls.cli.options import folder_of
from agent_ls.cli.output import print_json
from agent_ls.domain.commands import CommandList
from agent_ls.extension.claude_home import agreed_home, unread_home, unread_words
from agent_ls.extension.commands import FileCommands
from agent_ls.mcp.commands import ServerCommands
from agent_ls.safety.text import visible_line
from agent_ls.session.custom_commands import called, waiting_words
from agent_ls.settings import Settings, load_settings, user_file


def commands(arguments: argparse.Namespace) -> int:
    """Print how each command is called, what it does and where it is; returns the exit code."""
    folder, own = folder_of(arguments), user_file().parent
    settings = load_settings(folders=[folder]).settings
    consent = settings.claude_home
    found = asyncio.run(_found(folder, settings))
    if (unread := unread_home(consent)) is not None:
        sys.stderr.write(f"agent-ls: {visible_line(unread_words(unread))}\n")
    for problem in found.problems.values():
        sys.stderr.write(f"agent-ls: {visible_line(problem)}\n")
    if arguments.json:
        print_json([one.model_dump(mode="json") for one in found.commands.values()])
        return 0
    if found.waiting:
        sys.stderr.write(f"agent-ls: {waiting_words(found)}\n")
    elif not found.commands:
        sys.stderr.write(f"There are none yet. Write one as {own / 'commands' / 'NAME.md'}.\n")
    for one in found.commands.values():
        said = f"{called(one)}  {one.description}".rstrip()
        sys.stdout.write(f"{visible_line(said)}\n    {visible_line(one.source)}\n")
    return 0


async def _found(folder: Path, settings: Settings) -> CommandList:
    """Return the commands of files and of tool servers, which are started for it once."""
    workspace = open_disk_workspace([folder])
    consent = settings.claude_home
    files = FileCommands(user_file().parent, workspace, lambda: agreed_home(consent))
    async with open_tool_servers(settings, workspace, _warn) as servers:
        return await ServerCommands(files, servers).listed()


def _warn(words: str) -> None:
    sys.stderr.write(f"agent-ls: {visible_line(words)}\n")
