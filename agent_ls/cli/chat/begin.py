"""``agent-ls`` alone: a conversation at the terminal, drawn or line by line.

Draws the first frame before anything heavy is loaded.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path

from agent_ls import __version__
from agent_ls.cli.chat.folder_name import short_folder
from agent_ls.cli.output import can_draw, forget_terminal

_BANNER = "\x1b[1magent-ls\x1b[0m {version} · {folder}\n"


def chat(arguments: argparse.Namespace) -> int:
    """Talk until the user leaves; return the exit code."""
    if not arguments.plain and can_draw():
        folder = short_folder(Path(arguments.workspace).resolve())
        sys.stdout.write(_BANNER.format(version=__version__, folder=folder))
        sys.stdout.flush()
        # The first line stands before what draws the others is loaded.
        import asyncio

        return asyncio.run(_drawn(arguments))
    from agent_ls.cli.chat.plain import talk_in_lines

    return talk_in_lines(arguments)


async def _drawn(arguments: argparse.Namespace) -> int:
    import asyncio

    from agent_ls.cli.chat.completing import PromptCompleter
    from agent_ls.cli.chat.own_commands import OWN
    from agent_ls.cli.chat.screen import Doing, Screen

    early: list[tuple[str, bool]] = []
    completer = PromptCompleter(OWN)
    doing = Doing(lambda text, waits: early.append((text, waits)), lambda: False)
    screen = Screen(doing, completer=completer)
    screen.footer = lambda: "  starting …"
    ended = asyncio.ensure_future(screen.run())
    try:
        # In a thread: the screen draws and takes keys meanwhile.
        conversation = await asyncio.to_thread(import_module, "agent_ls.cli.chat.conversation")
        if not ended.done():
            await conversation.converse(screen, ended, arguments, completer, early)
    finally:
        screen.leave()
        code = await ended
        if screen.is_gone:
            forget_terminal()
    return code
