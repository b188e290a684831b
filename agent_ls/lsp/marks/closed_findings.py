"""What those files say that findings stand in and that are not open, and when that changes.

Owns reading them, each again only when it has changed; what follows is the business of who is told.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from agent_ls.domain import events as e
from agent_ls.loop.state.state import SessionState
from agent_ls.lsp.connection.uris import path_to_uri
from agent_ls.lsp.workspace.closed_files import ClosedFiles, Stamp


class Texts(Protocol):
    """What files say."""

    def saved_lines(self, path: str) -> Awaitable[list[str]]:
        """Return the lines of a file that is not open; none where there is no file."""
        ...


@dataclass(frozen=True, slots=True)
class _Known:
    stamp: Stamp
    lines: list[str]


class ClosedFindings:
    """The closed files with findings of one editor's sessions; a Reader of all of them."""

    def __init__(
        self,
        states: Callable[[], Iterable[SessionState]],
        texts: Texts,
        files: ClosedFiles,
        read: Callable[[str, list[str]], None],
        changed: Callable[[], None],
    ) -> None:
        """Take the open sessions' states, the texts, who follows files, whom to tell what a file
        says, by URI, at every look, and whom to tell that some say something else than before.
        """
        self._states, self._texts, self._files = states, texts, files
        self._tell_read, self._tell_changed = read, changed
        self._known: dict[str, _Known] = {}
        self._task: asyncio.Task[None] | None = None

    def look(self) -> None:
        """Look now, and again whenever one of them has changed."""
        self._stop()
        self._task = asyncio.get_running_loop().create_task(self._look())

    def close(self) -> None:
        """Stop looking."""
        self._stop()
        self._files.follow(self.look, {})

    def on_event(self, stored: e.StoredEvent) -> None:
        """Look when findings were reported, their file renamed, or something undone."""
        if isinstance(stored.event, e.FindingsReported | e.FileRenamed | e.ReviewApplied):
            self.look()

    def on_ephemeral(self, session_id: str, piece: e.Ephemeral) -> None:
        """Ignore what streams."""

    def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _look(self) -> None:
        paths = {path for state in self._states() for path in state.findings}
        stamps = await self._files.stamps(sorted(paths))
        found: dict[str, _Known] = {}
        for path, stamp in stamps.items():
            known = self._known.get(path)
            if known is None or known.stamp != stamp:
                known = _Known(stamp, await self._texts.saved_lines(path))
            found[path] = known
        # A look that was ended before has learnt nothing, and told nothing.
        before, self._known = self._known, found
        self._files.follow(self.look, stamps)
        for known in found.values():
            self._tell_read(path_to_uri(known.stamp.place), known.lines)
        if any(path in before and before[path].lines != found[path].lines for path in found):
            self._tell_changed()
