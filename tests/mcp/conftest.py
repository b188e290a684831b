"""Tool servers for real: a test says what its server does, and gets the part that holds it."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from agent_ls.assembly import open_disk_workspace
from agent_ls.mcp.configured import ServerOptions, ToolServerOptions
from agent_ls.mcp.pins import SavedPins
from agent_ls.mcp.servers import Servers
from agent_ls.workspace.runner import command_environment

PROGRAM = Path(__file__).with_name("server.py")


def server(mode: str, **more: Any) -> ServerOptions:
    """Return the settings of a server that behaves like this."""
    given: dict[str, Any] = {"command": sys.executable, "args": (str(PROGRAM), mode), **more}
    return ServerOptions.model_validate(given)


@asynccontextmanager
async def opened(
    place: Path,
    servers: dict[str, ServerOptions],
    tell: Callable[[str], None] = lambda _words: None,
    **more: Any,
) -> AsyncIterator[Servers]:
    """Open servers of the user's settings, with pins and a workspace below ``place``."""
    options = ToolServerOptions.model_validate({"servers": servers, **more})
    project = place / "project"
    project.mkdir(exist_ok=True)
    found = Servers(
        options,
        open_disk_workspace([project]),
        SavedPins(place / "pins.json"),
        command_environment(),
        tell=tell,
    )
    try:
        yield found
    finally:
        await found.close()


async def run(servers: Servers, tool: str, *, is_approved: bool = False, **arguments: Any) -> str:
    """Call a tool as the loop does, and return its text."""
    return (await output_of(servers, tool, is_approved=is_approved, **arguments)).text


async def output_of(
    servers: Servers, tool: str, *, is_approved: bool = False, ask: Any = None, **arguments: Any
) -> Any:
    """Call a tool and return its output; ``ask`` asks the user."""
    found = servers.tools[tool]
    context: Any = SimpleNamespace(is_approved=is_approved, ask=ask)
    return await found.run(found.Arguments.model_validate(arguments), context)
