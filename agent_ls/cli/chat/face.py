"""Opens the screen, and puts a session on it."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress

from agent_ls.cli.chat.asking import ScreenAnswers
from agent_ls.cli.chat.paint import Painter
from agent_ls.cli.chat.screen import Screen
from agent_ls.cli.chat.view import SessionView
from agent_ls.observers.unpriced import UnpricedBudget
from agent_ls.session.session import Session

_HANG_UP = 129
"""The exit code of a process whose terminal was closed."""


class Face:
    """One session on the screen; another one can take its place."""

    def __init__(
        self,
        screen: Screen,
        place: str = "this folder",
        *,
        tells_why: bool = True,
        budget_usd: float = 0,
    ) -> None:
        """``place`` is the workspace as the user reads it.

        ``tells_why``: say why a turn did not end well; False where the caller does.
        ``budget_usd``: the limit of which the user is told where it cannot hold; 0: none.
        """
        self.screen, self.painter, self._place = screen, Painter(), place
        self._budget_usd = budget_usd
        self._watched: list[Session] = []
        """Those whose prices are watched."""
        self._tells_why = tells_why
        self.view: SessionView | None = None

    def say(self, text: str, style: str = "") -> None:
        """Print a plain text."""
        self.screen.print(self.painter.words(text, self.screen.columns, style))

    def show_markdown(self, text: str) -> None:
        """Print a text in Markdown."""
        self.screen.print("\n" + self.painter.markdown(text, self.screen.columns))

    def show_diff(self, text: str, *, is_titled: bool = False) -> None:
        """Print a diff; ``is_titled``: what stands above it names its file."""
        drawn = self.painter.diff(text, self.screen.columns, is_titled=is_titled)
        self.screen.print(drawn if is_titled else f"\n{drawn}")

    def leave(self) -> None:
        """End the screen."""
        self.screen.leave()

    async def close(self) -> None:
        """Show what came of the session until now, and nothing more of it."""
        if self.view is not None:
            await self.view.close()

    async def put(self, session: Session) -> SessionView:
        """Show this session from now on."""
        await self.close()
        view = self.view = SessionView(
            self.screen, self.painter, session, tells_why=self._tells_why
        )
        answers = ScreenAnswers(
            self.screen,
            self.painter,
            session,
            view.settled,
            lambda: self.view is view,
            self._place,
        )
        if not any(one is session for one in self._watched):
            self._watched.append(session)
            session.follow(UnpricedBudget(self.say, self._budget_usd))
        session.follow(_WhileShown(self, view, view))
        session.follow(_WhileShown(self, view, answers))
        self.screen.live, self.screen.status = view.live, view.status
        self.screen.is_busy = lambda: session.is_busy and not session.is_cut_off
        self.screen.ask(None)
        if session.is_busy and not session.is_cut_off:
            answers.ask_pending()
        return view


class _WhileShown:
    """Passes events to a reader as long as its session is the one on the screen."""

    def __init__(self, face: Face, view: SessionView, reader: SessionView | ScreenAnswers) -> None:
        self._face, self._view, self._reader = face, view, reader
        self.on_event = self._when_shown(reader.on_event)
        self.on_ephemeral = self._when_shown(reader.on_ephemeral)

    def _when_shown(self, do: Callable[..., None]) -> Callable[..., None]:
        def done(*given: object) -> None:
            if self._face.view is self._view:
                do(*given)

        return done


class ScreenLog(logging.Handler):
    """Prints the program's warnings above the composer, where they leave the drawing whole."""

    def __init__(self, face: Face) -> None:
        super().__init__(logging.WARNING)
        self._face, self._loop = face, asyncio.get_running_loop()

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record, from whatever thread it comes."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._face.say, record.getMessage(), "dim")


@asynccontextmanager
async def logged(face: Face) -> AsyncGenerator[None]:
    """Send warnings to the screen for the length of a block."""
    handler, logger = ScreenLog(face), logging.getLogger("agent_ls")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def leave_on_hang_up(screen: Screen) -> None:
    """End the screen when its terminal is closed."""
    # Windows' event loop has no signal handlers, and Windows no such signal.
    with suppress(NotImplementedError, AttributeError):
        asyncio.get_running_loop().add_signal_handler(
            signal.SIGHUP, lambda: screen.leave(_HANG_UP, is_gone=True)
        )
