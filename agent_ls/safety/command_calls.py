"""Which calls run a shell command, and what the rules say of it.

Owns the way from a planned call to ``commands.decide``; the rules themselves stand there.
"""

from __future__ import annotations

import asyncio

from agent_ls.domain.errors import WorkspaceError
from agent_ls.domain.verdicts import Deny
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.loop.sockets import PlannedCall
from agent_ls.safety.commands import CommandVerdict, decide

COMMAND_TOOL = "run_command"


async def decide_call(planned: PlannedCall, workspace: Workspace) -> CommandVerdict | None:
    """Return what the rules say of the call's command; None for a call that runs none."""
    if planned.tool.name != COMMAND_TOOL:
        return None
    command = str(getattr(planned.arguments, "command", ""))
    folder = str(getattr(planned.arguments, "cwd", "."))
    try:
        _, cwd = workspace.locate(folder)
    except WorkspaceError as error:
        return Deny(str(error), whatever_tool=True)
    return await asyncio.to_thread(decide, command, cwd, workspace.roots)
