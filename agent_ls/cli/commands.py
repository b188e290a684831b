"""``commands``: lists the custom commands of the user and of a folder."""

from __future__ import annotations

import argparse
import asyncio
import sys

from agent_ls.assembly import open_disk_workspace
from agent_ls.cli.options import folder_of
from agent_ls.cli.output import print_json
from agent_ls.extension.claude_home import agreed_home, unread_home, unread_words
from agent_ls.extension.commands import FileCommands
from agent_ls.safety.text import visible_line
from agent_ls.session.custom_commands import called
from agent_ls.settings import load_settings, user_file


def commands(arguments: argparse.Namespace) -> int:
    """Print how each command is called, what it does and where it is; returns the exit code."""
    folder, own = folder_of(arguments), user_file().parent
    workspace = open_disk_workspace([folder])
    consent = load_settings(folders=[folder]).settings.claude_home
    files = FileCommands(own, workspace, lambda: agreed_home(consent))
    found = asyncio.run(files.listed())
    if (unread := unread_home(consent)) is not None:
        sys.stderr.write(f"agent-ls: {visible_line(unread_words(unread))}\n")
    for problem in found.problems.values():
        sys.stderr.write(f"agent-ls: {visible_line(problem)}\n")
    if arguments.json:
        print_json([one.model_dump(mode="json") for one in found.commands.values()])
        return 0
    if not found.commands:
        sys.stderr.write(f"There are none yet. Write one as {own / 'commands' / 'NAME.md'}.\n")
    for one in found.commands.values():
        said = f"{called(one)}  {one.description}".rstrip()
        sys.stdout.write(f"{visible_line(said)}\n    {visible_line(one.source)}\n")
    return 0
