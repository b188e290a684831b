"""Draws one turn of ``run``: the same screen as a conversation's, which ends with the turn."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

from agent_ls.cli.chat.face import Face, leave_on_hang_up, logged
from agent_ls.cli.chat.screen import Doing, Screen
from agent_ls.cli.chat.view import SessionView
from agent_ls.domain.errors import AgentLsError
from agent_ls.domain.stops import EXIT_CANCELLED
from agent_ls.session.session import Session


@asynccontextmanager
async def drawn(session: Session, place: str, last_words: str) -> AsyncGenerator[SessionView]:
    """Draw the session's turn for the length of a block; ``place`` is its folder.

    A user who leaves before its end ends the process, which prints ``last_words``.
    """
    loop = asyncio.get_running_loop()
    work: set[asyncio.Task[None]] = set()

    async def said(text: str, waits: bool) -> None:
        try:
            await session.submit(text, when_busy="follow_up" if waits else "steer")
        except AgentLsError as error:
            face.say(f"agent-ls: {error}", "red")

    def send(text: str, waits: bool) -> None:
        task = asyncio.ensure_future(said(text, waits))
        work.add(task)
        task.add_done_callback(work.discard)

    def stop() -> bool:
        cancelling.append(asyncio.ensure_future(session.cancel("terminal")))
        return True

    def left(_ended: asyncio.Future[int]) -> None:
        if not is_over:
            with suppress(OSError):
                sys.stderr.write(f"{last_words}\n")
                sys.stderr.flush()
            os._exit(EXIT_CANCELLED)

    cancelling: list[asyncio.Task[bool]] = []
    is_over = False
    screen = Screen(Doing(send, stop))
    screen.empty = "More words steer it · Tab sends them as the next turn"
    face = Face(screen, place, tells_why=False)
    screen.footer = lambda: f"  mode {session.state.mode} · {session.state.model}"
    ended = asyncio.ensure_future(screen.run())
    ended.add_done_callback(left)
    leave_on_hang_up(screen)
    # Windows' event loop has no signal handlers; there the default applies.
    with suppress(NotImplementedError):
        loop.add_signal_handler(signal.SIGTERM, stop)
    async with logged(face):
        view = await face.put(session)
        try:
            yield view
        finally:
            await view.close()
            is_over = True
            screen.leave()
            await ended
