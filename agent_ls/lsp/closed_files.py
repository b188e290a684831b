"""The files that findings stand in and that are not open: what they say, and when that changes.

Other programs change files, and no editor tells of all of it: these few are looked at now and
then, for as long as anything is shown in them. What follows is the business of who is told.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol

from agent_ls.domain import events as e
from agent_ls.loop.state import SessionState

_PAUSE_S = 2.0
"""Between two looks."""


class Files(Protocol):
    """What looking needs to know of the editor and the disk."""

    def open_uri(self, path: str) -> str | None:
        """Return the open document of a path as the agent names it."""
        ...

    def uri(self, path: str) -> str | None:
        """Return the URI of a path, open or not; None outside the roots."""
        ...

    def saved_lines(self, path: str) -> Awaitable[list[str]]:
        """Return the lines of a file that is not open; none where there is no file."""
        ...


class ClosedFiles:
    """The closed files with findings of one editor's sessions; a Reader of all of them."""

    def __init__(
        self,
        states: Callable[[], Iterable[SessionState]],
        files: Files,
        read: Callable[[str, list[str]], None],
        changed: Callable[[], None],
        *,
        pause_s: float = _PAUSE_S,
    ) -> None:
        """Take the open sessions' states, the files, whom to tell what a file says, by URI, and
        whom to tell that some say something else than before.
        """
        self._states, self._files, self._pause_s = states, files, pause_s
        self._tell_read, self._tell_changed = read, changed
        self._known: dict[str, list[str]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None

    def look(self) -> None:
        """Read them now, and again after each pause while there are any."""
        self.close()
        self._task = asyncio.get_running_loop().create_task(self._look())

    def close(self) -> None:
        """Stop looking."""
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            self._task.cancel()
        self._timer = self._task = None

    def on_event(self, stored: e.StoredEvent) -> None:
        """Read anew what findings were reported of, or what was undone."""
        match stored.event:
            case e.FindingsReported(paths=paths):
                for path in paths:
                    self._known.pop(path, None)
                self.look()
            case e.ReviewApplied():
                self.look()
            case _:
                pass

    def on_ephemeral(self, session_id: str, piece: e.Ephemeral) -> None:
        """Ignore what streams."""

    async def _look(self) -> None:
        paths = {path for state in self._states() for path in state.findings}
        has_changed = False
        for path in sorted(paths):
            uri = self._files.uri(path)
            if uri is None or self._files.open_uri(path) is not None:
                self._known.pop(path, None)
                continue
            lines, known = await self._files.saved_lines(path), self._known.get(path)
            if lines != known:
                self._known[path] = lines
                self._tell_read(uri, lines)
                has_changed |= known is not None
        self._known = {path: self._known[path] for path in self._known if path in paths}
        if has_changed:
            self._tell_changed()
        if paths:
            self._timer = asyncio.get_running_loop().call_later(self._pause_s, self.look)
