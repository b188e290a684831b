"""The ledger of a session that goes on: read from its journal once, then fed as things happen.

Owns when the journal is read, and that a reading which fails or is broken off leaves no half of it.
"""

from __future__ import annotations

import asyncio
import logging

from agent_ls.domain import events as e
from agent_ls.loop.calls.edit_recorder import EditRecorder
from agent_ls.loop.ports.store import Blobs, Journals
from agent_ls.loop.state.recorder import Recorder
from agent_ls.review.fold import COUNTS, LedgerFold, lost_of
from agent_ls.review.ledger import Ledger

_log = logging.getLogger(__name__)


class FollowedLedger:
    """One session's ledger as of now; a Reader of its events."""

    def __init__(
        self,
        recorder: Recorder,
        journals: Journals,
        blobs: Blobs,
        edits: EditRecorder,
    ) -> None:
        """Follow the session; its journal is read when the ledger is first asked for.

        ``edits`` settles those during which an earlier process died.
        """
        self._session_id = recorder.session_id
        self._journals, self._blobs, self._edits = journals, blobs, edits
        self._fold = self._empty()
        self._fed: list[e.StoredEvent] = []
        """What the ledger has taken in of this process, should it have to begin anew."""
        self._pending: list[e.StoredEvent] = []
        self._first = self._missing = recorder.state.seq
        """Events up to this one are in the store only; 0: they are in the ledger."""
        self._reading: asyncio.Future[None] | None = None
        """Goes on when nobody waits for it any more; None: nothing is read."""
        self.version = 0
        """Another one whenever the ledger may have changed."""
        recorder.follow(self)

    def on_event(self, stored: e.StoredEvent) -> None:
        """Keep what the ledger is made of."""
        if isinstance(stored.event, COUNTS):
            self._pending.append(stored)
            self.version += 1

    def on_ephemeral(self, session_id: str, piece: e.Ephemeral) -> None:
        """Ignore what streams."""

    async def newest(self) -> Ledger:
        """Return the ledger with everything that happened so far.

        Errors: ``StoreError`` when the journal cannot be read.
        """
        while self._missing or self._pending or self._reading is not None:
            if self._reading is None:
                self._reading = asyncio.ensure_future(self._read_wholly())
                self._reading.add_done_callback(_ended)
            # Those who stop waiting, such as an editor at each key, leave the others a ledger
            # that gets on.
            await asyncio.shield(self._reading)
        return self._fold.ledger

    async def foreseen(self) -> Ledger:
        """Return the ledger as it were if the sub-agents that work at the moment ended now.

        Errors: as ``newest``.
        """
        await self.newest()
        return await self._fold.foreseen()

    async def close(self) -> None:
        """Wait until what was begun is read."""
        while self._reading is not None:
            await asyncio.wait([self._reading])

    async def _read_wholly(self) -> None:
        try:
            await self._read()
        except BaseException:
            # The store failed: half an event may be taken in.
            self._fold, self._missing = self._empty(), self._first
            self._pending, self._fed = [*self._fed, *self._pending], []
            raise
        finally:
            self._reading = None

    def _empty(self) -> LedgerFold:
        return LedgerFold(self._journals.load, self._blobs.get_blob)

    async def _read(self) -> None:
        if self._missing:
            journal = await self._journals.load(self._session_id)
            self._fold.ledger.lost_events += lost_of(journal)
            for one in journal:
                if one.seq <= self._missing and isinstance(one.event, COUNTS):
                    await self._fold.feed(one)
            self._missing = 0
            for edit, intent in self._fold.ledger.unsettled():
                await self._edits.settle(edit, intent)
        while self._pending:
            await self._fold.feed(self._pending[0])
            self._fed.append(self._pending.pop(0))


def _ended(reading: asyncio.Future[None]) -> None:
    if not reading.cancelled() and (error := reading.exception()) is not None:
        # Whoever waits is told; this is for the case that nobody does any more.
        _log.info("the changes could not be read: %s", error)
