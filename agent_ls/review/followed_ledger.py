"""The ledger of a session that goes on: read from its journal once, then fed as things happen.

Owns when the journal is read, and that a reading which fails or is broken off leaves no half of it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence
from operator import itemgetter

from agent_ls.domain import events as e
from agent_ls.domain.edits import MoveFile
from agent_ls.loop.calls.edit_recorder import EditRecorder
from agent_ls.loop.ports.store import Blobs, Journals, Store
from agent_ls.loop.state.recorder import Recorder
from agent_ls.review.ledger import Ledger

_log = logging.getLogger(__name__)

_COUNTS = (
    e.TurnStarted,
    e.Answered,
    e.EditIntended,
    e.EditApplied,
    e.CommandChanged,
    e.BackgroundStarted,
    e.CommandChangesLeftOut,
    e.FilesLost,
    e.ChildStarted,
    e.ReviewDecided,
    e.ReviewApplied,
    e.FileRenamed,
)
"""What a ledger is made of."""


class FollowedLedger:
    """One session's ledger as of now; An EventListener of its events and of its sub-agents'."""

    def __init__(
        self, recorder: Recorder, journals: Journals, blobs: Blobs, edits: EditRecorder
    ) -> None:
        """Follow the session; its journal is read when the ledger is first asked for.

        ``edits`` settles those during which an earlier process died.
        """
        self._session_id = recorder.session_id
        self._journals, self._blobs, self._edits = journals, blobs, edits
        self._ledger = Ledger(blobs.get_blob)
        self._fed: list[e.StoredEvent] = []
        """What the ledger has taken in of this process, should it have to begin anew."""
        self._pending: list[e.StoredEvent] = []
        self._first = self._missing = recorder.state.seq
        """Events up to this one are in the store only; 0: they are in the ledger."""
        self._reading: asyncio.Future[None] | None = None
        """Goes on when nobody waits for it any more; None: nothing is read."""
        self.version = 0
        """Grows whenever the ledger may have changed."""
        self._named = set[str]()
        """The names of files in what this process has seen happen."""
        recorder.follow(self, with_children=True)

    def on_event(self, stored: e.StoredEvent) -> None:
        """Keep what the ledger is made of."""
        if isinstance(stored.event, _COUNTS):
            self._pending.append(stored)
            self._named.update(_names_in(stored.event))
            self.version += 1

    def on_ephemeral(self, session_id: str, piece: e.Ephemeral) -> None:
        """Ignore what streams."""

    def may_have(self, path: str) -> bool:
        """Say whether a file may have changes; False saves waiting for the newest ledger."""
        return (
            bool(self._missing)
            or path in self._named
            or any(chain.path == path for chain in self._ledger.chains)
            # A folder that is renamed gives new names to files that this event does not name.
            or any(isinstance(one.event, e.FileRenamed) for one in self._pending)
        )

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
        return self._ledger

    async def close(self) -> None:
        """Wait until what was begun is read."""
        while self._reading is not None:
            await asyncio.wait([self._reading])

    async def _read_wholly(self) -> None:
        try:
            await self._read()
        except BaseException:
            # The store failed: half an event may be taken in.
            self._ledger, self._missing = Ledger(self._blobs.get_blob), self._first
            self._pending, self._fed = [*self._fed, *self._pending], []
            raise
        finally:
            self._reading = None

    async def _read(self) -> None:
        if self._missing:
            await _take_in(self._ledger, self._journals, self._session_id, self._missing)
            self._missing = 0
            for edit, intent in self._ledger.unsettled():
                await self._edits.settle(edit, intent)
        while self._pending:
            await self._ledger.feed(self._pending[0])
            self._fed.append(self._pending.pop(0))


async def has_open_changes(session_id: str, store: Store) -> bool:
    """Say whether a stored session has changes that nobody has decided about.

    Errors: ``StoreError`` when the journal cannot be read.
    """
    ledger = await stored_ledger(session_id, store)
    return any(file.open() for turn in ledger.turns.values() for file in turn.files.values())


async def stored_ledger(session_id: str, store: Store) -> Ledger:
    """Return the ledger of a stored session, also of one that another process writes.

    Errors: ``StoreError`` when the journal cannot be read.
    """
    ledger = Ledger(store.get_blob)
    await _take_in(ledger, store, session_id)
    return ledger


async def _take_in(
    ledger: Ledger, journals: Journals, session_id: str, last: int | None = None
) -> None:
    """Feed a ledger the events of a session and its sub-agents, in the order of time.

    Stops after the session's event ``last``; counts missing events.
    """
    journal = await journals.load(session_id)
    ledger.lost_events += _lost_of(journal)
    own = [one for one in journal if last is None or one.seq <= last]
    found = await _with_children(ledger, journals, own, 0)
    for _, stored in sorted(found, key=itemgetter(0)):
        await ledger.feed(stored)


async def _with_children(
    ledger: Ledger, journals: Journals, journal: Sequence[e.StoredEvent], since_ms: int
) -> list[tuple[int, e.StoredEvent]]:
    """Return the relevant events of a journal and of all sub-agents below, each with its time.

    A time is never before that of an earlier event of the same journal, nor before the sub-agent
    began, even if the clock was set back.
    """
    found: list[tuple[int, e.StoredEvent]] = []
    children: dict[str, list[tuple[int, e.StoredEvent]]] = {}
    for one in journal:
        since_ms = max(since_ms, one.at_ms)
        event = one.event
        if isinstance(event, e.ChildEnded):
            inner = children.get(event.child_id, [])
            since_ms = max([since_ms, *(at_ms for at_ms, _ in inner)])
            # If its journal is gone, at least one event is missing for each file that it changed.
            ledger.lost_events += 0 if inner else len(event.files)
        elif isinstance(event, _COUNTS):
            found.append((since_ms, one))
        if isinstance(event, e.ChildStarted):
            stored = await journals.load(event.child_id)
            ledger.lost_events += _lost_of(stored)
            inner = await _with_children(ledger, journals, stored, since_ms)
            children[event.child_id] = inner
            found += inner
    return found


def _lost_of(journal: Sequence[e.StoredEvent]) -> int:
    """Return how many events are missing from a journal before its last one."""
    return journal[-1].seq - len(journal) if journal else 0


def _names_in(event: e.Event) -> Iterator[str]:
    """Yield the names that files have before and after what happened."""
    if isinstance(event, e.EditIntended | e.ReviewDecided) and event.edit is not None:
        yield event.edit.path
        if isinstance(event.edit, MoveFile):
            yield event.edit.new_path
    if isinstance(event, e.CommandChanged | e.ReviewDecided):
        yield event.path


def _ended(reading: asyncio.Future[None]) -> None:
    if not reading.cancelled() and (error := reading.exception()) is not None:
        # Callers that wait get the error; the log is for when none waits any more.
        _log.info("the changes could not be read: %s", error)
