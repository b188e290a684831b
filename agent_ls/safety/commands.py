"""Decides whether a shell command may run unasked, by what holds it.

In a sandbox the names of its programs choose the view. Where none holds it, only plain words that
read the workspace run unasked. Decides and never runs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from agent_ls.domain.errors import WorkspaceError
from agent_ls.domain.verdicts import Allow, Ask, Deny
from agent_ls.loop.extension_points import PlannedCall
from agent_ls.loop.ports.commands import Boundary
from agent_ls.loop.ports.workspace import Root, Workspace
from agent_ls.safety.catastrophes import catastrophe
from agent_ls.safety.command_places import judge_places
from agent_ls.safety.git_config import CLEAN_GIT, HELD_GIT
from agent_ls.safety.named_programs import is_plain_read
from agent_ls.safety.view_table import CommandClass
from agent_ls.safety.views import classify

CommandVerdict = Allow | Ask | Deny
COMMAND_TOOL = "run_command"


def read_only_env(boundary: Boundary) -> dict[str, str]:
    """Return the environment of a command that only reads, to be added to the runner's own."""
    clean = HELD_GIT if boundary == "sandbox" else CLEAN_GIT
    return {**clean, "PAGER": "cat", "GOTOOLCHAIN": "local"}


_WITHOUT = {
    "off": "No sandbox is on (sandbox.use is off), so only simple commands that read the workspace "
    "run without a question.",
    "missing": "No sandbox works on this machine (`agent-ls doctor` says how to get one), so only "
    "simple commands that read the workspace run without a question.",
    "sandbox": "Outside the sandbox only simple commands that read the workspace run without a "
    "question.",
}


async def decide_call(
    planned: PlannedCall, workspace: Workspace, boundary: Boundary = "off", *, edits: bool = False
) -> CommandVerdict | None:
    """Return the verdict on the call's command; None if the tool runs no command.

    ``edits``: the mode lets edits run unasked.
    """
    if planned.tool.name != COMMAND_TOOL:
        return None
    command = str(getattr(planned.arguments, "command", ""))
    is_outside = bool(getattr(planned.arguments, "outside_sandbox", False))
    try:
        _, cwd = workspace.locate(str(getattr(planned.arguments, "cwd", ".")))
    except WorkspaceError as error:
        return Deny(str(error), whatever_tool=True)
    return await asyncio.to_thread(
        decide_command,
        *(command, cwd, workspace.roots, boundary),
        edits=edits,
        is_outside=is_outside,
    )


def decide_command(
    command: str,
    cwd: Path,
    roots: Sequence[Root],
    boundary: Boundary = "off",
    *,
    edits: bool = False,
    is_outside: bool = False,
) -> CommandVerdict:
    """Say whether a shell command may run in ``cwd``: allow, ask with a reason, or deny.

    Shape: Deny for what would destroy more than a project. An Ask that no grant answers for text
    that the user must see. Looks at the disk, so call it off the event loop.
    """
    if destroyed := catastrophe(command):
        return Deny(f"This command is never run: {destroyed}.")
    try:
        if boundary == "sandbox" and not is_outside:
            return _held(classify(command, cwd, roots), edits=edits)
        if is_plain_read(command, cwd, roots):
            return Allow(reads_only=True)
        if found := judge_places(command, cwd, roots):
            return found if isinstance(found, Deny) else Ask(found, broad=False)
        return Ask(_WITHOUT[boundary], broad=not classify(command, cwd, roots).must_ask)
    except (OSError, ValueError) as error:
        return Ask(f"The command cannot be checked: {error}.", broad=False)


def _held(found: CommandClass, *, edits: bool) -> CommandVerdict:
    match found.kind:
        case "read-only":
            return Allow(reads_only=True)
        case "workspace-write":
            return Allow()
        case "edit" if edits:
            # With consent git may write its own folder.
            return Allow(consent="mode")
        case _:
            return Ask(f"It asks because {found.reason}.", broad=not found.must_ask)
