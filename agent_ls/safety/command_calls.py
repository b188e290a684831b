"""Which calls run a shell command, and what the rules say of it.

Owns the way from a planned call to ``commands.decide``; the rules themselves stand there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from agent_ls.domain.errors import WorkspaceError
from agent_ls.domain.verdicts import Allow, Ask, Deny
from agent_ls.loop.ports.workspace import Root, Workspace
from agent_ls.loop.sockets import PlannedCall
from agent_ls.safety.command_places import judge_places
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
    return await asyncio.to_thread(decide_command, command, cwd, workspace.roots)


def decide_command(command: str, cwd: Path, roots: Sequence[Root]) -> CommandVerdict:
    """Return what the command's shape says, or what the places it names say where that is more.

    Looks at the disk, so call it off the event loop.
    """
    verdict = decide(command, cwd, roots)
    if isinstance(verdict, Deny):
        return verdict
    if isinstance(verdict, Allow):
        # What is plainly read-only was looked at place by place already.
        return Allow(reads_only=True)
    match judge_places(command, cwd, roots):
        case Deny() as refused:
            return refused
        case Ask(reason=reason):
            return Ask(f"{verdict.reason} {reason}", broad=False)
        case None:
            return verdict
