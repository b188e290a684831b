"""``acp``: speaks the Agent Client Protocol; takes over standard output before other imports."""

from __future__ import annotations

import argparse
import asyncio
import logging
from typing import NoReturn

from agent_ls.domain.errors import SettingsError
from agent_ls.extras import install_command
from agent_ls.processes.stdio import leave, take_stdio


def acp(arguments: argparse.Namespace) -> NoReturn:
    """Serve the client on standard input and output until it leaves, then end the process.

    Errors: ``SettingsError`` when the extra is not installed.
    """
    pipes = take_stdio()
    logging.basicConfig(level=logging.WARNING, format="%(name)s: %(message)s")
    # Late: what a library prints on import must go to standard error.
    from agent_ls.cli.options import command_line_settings

    try:
        from agent_ls.acp.serve import serve
    except ModuleNotFoundError as error:
        if error.name != "acp":
            raise
        raise SettingsError(
            "agent-ls acp needs packages that are not installed. To install them: "
            f"{install_command('acp')}"
        ) from None
    asyncio.run(serve(pipes, command_line_settings(arguments)))
    leave(0)
