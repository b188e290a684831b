"""Serves one client from the first message to the end of its input."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any, Final, cast

import acp
from acp.core import AgentSideConnection

from agent_ls.acp.agent import Agent
from agent_ls.acp.folders import Folders
from agent_ls.acp.transport import StdioTransport
from agent_ls.processes.stdio import Pipes

_CLOSE_S: Final = 10.0


async def serve(pipes: Pipes, command_line: Mapping[str, Any]) -> None:
    """Serve the client until it leaves; a running turn then stays open and can be resumed."""
    opened: list[Folders] = []

    def agent_of(client: acp.Client) -> acp.Agent:
        opened.append(Folders(client, command_line))
        # The package wants all methods of its protocol, and answers for those that are missing.
        return cast("acp.Agent", Agent(client, opened[0]))

    connection = AgentSideConnection(
        agent_of,
        StdioTransport(pipes),
        listening=False,
        # It counts closing and resuming of sessions as unstable, which clients use.
        use_unstable_protocol=True,
    )
    try:
        await connection.listen()
    finally:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(opened[0].close(), _CLOSE_S)
        await connection.close()
