"""Looks again at what checkers found when the person has changed a text, or undone a change.

It only takes findings away, those that the person has mended: what is new in a text of the
person's own is not the agent's business. While a turn runs, its own checks do this.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable

from agent_ls.domain import events as e
from agent_ls.domain.findings import Finding
from agent_ls.loop.ports.checks import CompileChecks
from agent_ls.loop.state import SessionState
from agent_ls.lsp.documents import DocumentEvent, DocumentEventKind

_log = logging.getLogger(__name__)

_PAUSE_S = 1.0
"""How long typing must pause before checkers are run."""


class Rechecks:
    """One editor's looks, no two at once; a Reader of all sessions."""

    def __init__(
        self,
        states: Callable[[], Iterable[SessionState]],
        text_of: Callable[[str], Awaitable[str | None]],
        mended: Callable[[str, list[Finding]], None],
        *,
        pause_s: float = _PAUSE_S,
    ) -> None:
        """Take the open sessions' states, how a file reads now, and whom to tell what is gone."""
        self._pause_s = pause_s
        self._states, self._text_of, self._mended = states, text_of, mended
        self._checks: CompileChecks | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None

    def use(self, checks: CompileChecks | None) -> None:
        """Ask these checkers from now on; None: nobody."""
        self.close()
        self._checks = checks

    def close(self) -> None:
        """Stop looking."""
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            self._task.cancel()
        self._timer = self._task = None

    def on_document(self, event: DocumentEvent) -> None:
        """Look again when the person pauses, if there is anything to look for."""
        if event.kind is not DocumentEventKind.OPENED:
            self._look_soon()

    def on_event(self, stored: e.StoredEvent) -> None:
        """Look again when changes of the agent's were undone, which no document may show."""
        if isinstance(stored.event, e.ReviewApplied):
            self._look_soon()

    def on_ephemeral(self, session_id: str, piece: e.Ephemeral) -> None:
        """Ignore what streams."""

    def _look_soon(self) -> None:
        if not self._concerned():
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(self._pause_s, self._begin)

    def _concerned(self) -> list[SessionState]:
        return [one for one in self._states() if one.findings and not one.is_running]

    def _begin(self) -> None:
        self._timer = None
        if self._task is not None and not self._task.done():
            # What it looks at is older than the last change.
            self._task.cancel()
        self._task = asyncio.get_running_loop().create_task(self._look())

    async def _look(self) -> None:
        if self._checks is None:
            return
        for state in self._concerned():
            try:
                self._mended(state.session_id, await self._gone(state, self._checks))
            except Exception:
                _log.exception("could not look again for what checkers had found")

    async def _gone(self, state: SessionState, checks: CompileChecks) -> list[Finding]:
        """Return the findings that are there no more; none where nobody knows."""
        texts = {path: await self._text_of(path) for path in state.findings}
        report = await checks.introduced(dict.fromkeys(texts), texts, anew=True)
        there = {one.fingerprint for one in report.findings}
        return [
            one
            for found in state.findings.values()
            for one in found
            if one.checker in report.checkers and one.fingerprint not in there
        ]
