"""Carries the single steps of a review out, each with its event, and none of them by half.

Owns that one decision comes after the other: two at once would each find half of the other's.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Coroutine, Iterable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from agent_ls.domain import events as e
from agent_ls.domain.edits import EditOutcome, FileEdit
from agent_ls.domain.errors import StoreError, WorkspaceError
from agent_ls.domain.ids import Ids
from agent_ls.domain.images import PutImage
from agent_ls.domain.review import ReviewDecision
from agent_ls.loop.calls.edit_recorder import EditRecorder

_log = logging.getLogger(__name__)

T = TypeVar("T")

OF_ONE_FILE = (WorkspaceError, StoreError, OSError)
"""What keeps one file from its decision, while each of the others is tried all the same."""

PATIENCE_S = 5.0
"""A decision waits no longer for an earlier one of which no step is done."""

MOST_STEPS = 6
"""How often a file's next step is planned: it may change under one, or need several."""


class Carrying:
    """The steps of one session's review that are under way."""

    def __init__(self, edits: EditRecorder, ids: Ids) -> None:
        """Take what records each edit."""
        self._edits, self._ids = edits, ids
        self._steps: set[asyncio.Future[Any]] = set()
        self._decisions: set[asyncio.Future[None]] = set()
        self._steps_done = 0
        self._next = asyncio.Lock()
        """Held by the one that waits longest: those behind it wait for their turn to wait."""
        self._asleep = set[asyncio.Future[Any]]()
        """What nobody who waits by now waits for any more."""

    @asynccontextmanager
    async def one_decision(self) -> AsyncGenerator[None]:
        """Be the last decision: those before are over, or wait for an editor that sleeps."""
        earlier = [*self._decisions, *self._steps]
        over = asyncio.get_running_loop().create_future()
        self._decisions.add(over)
        if not self._next.locked():
            self._asleep.clear()
        try:
            async with self._next:
                await self._end_of(earlier)
            yield
        finally:
            self._decisions.discard(over)
            over.set_result(None)

    async def _end_of(self, earlier: Iterable[asyncio.Future[Any]]) -> None:
        while left := [one for one in earlier if not one.done() and one not in self._asleep]:
            done_before = self._steps_done
            await asyncio.wait(left, timeout=PATIENCE_S)
            if self._steps_done == done_before:
                self._asleep.update(left)

    async def close(self) -> None:
        """Wait until what was begun is recorded."""
        while self._steps:
            await asyncio.wait(self._steps)

    async def settled(self, work: Coroutine[Any, Any, T]) -> T:
        """Await a step that must not stop half-way, whoever stops waiting for it."""
        task = asyncio.ensure_future(work)
        self._steps.add(task)
        task.add_done_callback(self._ended)
        return await asyncio.shield(task)

    def _ended(self, task: asyncio.Future[Any]) -> None:
        self._steps.discard(task)
        self._steps_done += 1
        if not task.cancelled() and (error := task.exception()) is not None:
            # Whoever waits is told; this is for the case that nobody does any more.
            _log.info("a step of the review failed: %s", error)

    def decided(
        self, decision: ReviewDecision, turn_id: str, path: str, hunks: tuple[str, ...]
    ) -> e.ReviewDecided:
        """Return the event of a decision about a file."""
        return e.ReviewDecided(
            review_id=self._ids.new("rev"),
            decision=decision,
            turn_id=turn_id,
            path=path,
            hunks=hunks,
        )

    async def applied(self, event: e.ReviewDecided, edit: FileEdit | PutImage) -> EditOutcome:
        """Carry an edit out that follows from a decision, both recorded."""
        if isinstance(edit, PutImage):
            return await self._edits.put(edit, event)
        return await self._edits.apply(edit, event)
