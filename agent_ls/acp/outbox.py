"""Sends a session's updates in order, joining the pieces of streamed text."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from acp import schema

_log = logging.getLogger(__name__)

_MERGE_S: Final = 0.03

Update = (
    schema.UserMessageChunk
    | schema.AgentMessageChunk
    | schema.AgentThoughtChunk
    | schema.ToolCallStart
    | schema.ToolCallProgress
    | schema.AgentPlanUpdate
    | schema.AvailableCommandsUpdate
    | schema.CurrentModeUpdate
    | schema.SessionInfoUpdate
    | schema.UsageUpdate
)
Later = Callable[[], Awaitable[Update]]
"""An update that has to be read from the store when its turn comes."""


class Outbox:
    """The updates of one session that are not sent yet."""

    def __init__(self, send: Callable[[Update], Awaitable[None]]) -> None:
        self._send = send
        self._waiting: list[Update | Later] = []
        self._task: asyncio.Task[None] | None = None
        self._hurry = asyncio.Event()

    def put(self, update: Update | Later) -> None:
        """Send an update soon, after all earlier ones."""
        last = self._waiting[-1] if self._waiting else None
        if (joined := _joined(last, update)) is not None:
            self._waiting[-1] = joined
        else:
            self._waiting.append(update)
        if self._task is None:
            self._task = asyncio.create_task(self._run())

    async def flush(self) -> None:
        """Return when everything is sent, or the client is gone."""
        while self._task is not None:
            self._hurry.set()
            await asyncio.shield(self._task)

    async def _run(self) -> None:
        try:
            while self._waiting:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._hurry.wait(), _MERGE_S)
                waiting, self._waiting = self._waiting, []
                for one in waiting:
                    await self._deliver(one)
        except ConnectionError as error:
            _log.info("an update was not sent: %s", error)
            self._waiting.clear()
        finally:
            self._task = None
            self._hurry.clear()

    async def _deliver(self, one: Update | Later) -> None:
        try:
            await self._send(await one() if callable(one) else one)
        except ConnectionError:
            raise
        except Exception as error:
            # The turn goes on, and so do the other updates.
            _log.error("an update was not sent", exc_info=error)


def _joined(last: Update | Later | None, update: Update | Later) -> Update | None:
    """Return both as one update; None when they have to be sent one after the other."""
    match last, update:
        case (
            schema.AgentMessageChunk(content=schema.TextContentBlock() as one),
            schema.AgentMessageChunk(content=schema.TextContentBlock() as two),
        ) | (
            schema.AgentThoughtChunk(content=schema.TextContentBlock() as one),
            schema.AgentThoughtChunk(content=schema.TextContentBlock() as two),
        ):
            content = schema.TextContentBlock(type="text", text=one.text + two.text)
            return last.model_copy(update={"content": content})
        case schema.ToolCallProgress(tool_call_id=one), schema.ToolCallProgress(tool_call_id=two):
            return update if one == two and _is_output(last) and _is_output(update) else None
        case _:
            return None


def _is_output(update: schema.ToolCallProgress) -> bool:
    """Say whether an update holds nothing but a running call's whole output so far."""
    return update.model_fields_set <= {"session_update", "tool_call_id", "content"}
