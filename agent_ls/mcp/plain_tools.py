"""Takes a server's definitions of tools as it sent them, before the library refuses them.

The library gives up a whole list for one tool whose schema has no ``type``, as many servers send
it. So it gets only what it needs of each tool; what the rest means is decided in ``definitions``.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams


class RawTools:
    """The tools in a server's newest answer, as it sent them."""

    def __init__(self) -> None:
        self._newest: list[dict[str, Any]] = []

    def take(self) -> list[dict[str, Any]]:
        """Return the tools of the newest answer that had some, and forget them."""
        found, self._newest = self._newest, []
        return found

    @asynccontextmanager
    async def watching(
        self, opened: AbstractAsyncContextManager[TransportStreams]
    ) -> AsyncGenerator[TransportStreams]:
        """Open a transport, and give the library plain tools instead of those that came."""
        sender, receiver = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        async with opened as (incoming, outgoing), anyio.create_task_group() as tasks:

            async def pass_on() -> None:
                async with sender:
                    async for message in incoming:
                        if isinstance(message, SessionMessage):
                            self._look_at(message.message)
                        await sender.send(message)

            tasks.start_soon(pass_on)
            yield receiver, outgoing
            tasks.cancel_scope.cancel()

    def _look_at(self, message: object) -> None:
        if not isinstance(message, types.JSONRPCResponse):
            return
        tools = message.result.get("tools")
        if isinstance(tools, list):
            listed = cast("list[object]", tools)
            self._newest = [cast("dict[str, Any]", one) for one in listed if _has_name(one)]
            # Without an output schema the library does not refuse results: the model reads them.
            message.result["tools"] = [
                {"name": one["name"], "inputSchema": {"type": "object"}} for one in self._newest
            ]


def _has_name(tool: object) -> bool:
    return isinstance(tool, dict) and isinstance(cast("dict[str, object]", tool).get("name"), str)
