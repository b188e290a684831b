"""The only way to change state: ``emit``.

An event is numbered and folded, shown to the readers and given to the store. The recorder owns the
order of a session's events, not their meaning.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from agent_ls.domain.errors import JournalHalted
from agent_ls.domain.events import Ephemeral, Event, StoredEvent, is_durable
from agent_ls.loop.ports.clock import Clock
from agent_ls.loop.ports.event_listener import EventListener
from agent_ls.loop.ports.store import Journals
from agent_ls.loop.state.folding import fold, fold_all
from agent_ls.loop.state.state import SessionState

_log = logging.getLogger(__name__)


class Recorder:
    """The journal of one session and the state folded from it."""

    def __init__(
        self, session_id: str, store: Journals, clock: Clock, journal: Iterable[StoredEvent] = ()
    ) -> None:
        """Continue ``journal``, or begin an empty one."""
        self.session_id = session_id
        self.state: SessionState = fold_all(journal)
        self._store = store
        self._clock = clock
        self._halted: JournalHalted | None = None
        self._readers: list[EventListener] = []
        self._family: list[EventListener] = []
        """Readers that also follow the sub-agents' sessions."""
        self._broken: set[int] = set()

    @property
    def is_halted(self) -> bool:
        """Say whether the store rejects further events: the session must be loaded again."""
        return self._halted is not None

    def follow(self, reader: EventListener, *, with_children: bool = False) -> None:
        """Show every later event to ``reader``, optionally with those of later sub-agents."""
        self._readers.append(reader)
        if with_children:
            self._family.append(reader)

    def child(self, session_id: str, journal: Iterable[StoredEvent] = ()) -> Recorder:
        """Return the recorder of a sub-agent's session, followed by the family readers."""
        child = Recorder(session_id, self._store, self._clock, journal)
        for reader in self._family:
            child.follow(reader, with_children=True)
        return child

    async def emit(self, event: Event) -> None:
        """Number ``event``, fold it, show it to the readers and store it.

        Numbering and folding happen before the first suspension, so that concurrent emitters keep
        one order. For durable event types it returns once the event survives a crash.
        Errors: ``StoreError`` when it cannot be stored.
        """
        stored = StoredEvent(
            session_id=self.session_id,
            seq=self.state.seq + 1,
            at_ms=self._clock.now_ms(),
            event=event,
        )
        self.state = fold(self.state, stored)
        for reader in self._readers:
            self._isolate(reader, lambda reader=reader: reader.on_event(stored))
        if self._halted is not None:
            # Another process owns the journal now: the event is shown, but not stored.
            raise JournalHalted(str(self._halted))
        try:
            await self._store.append([stored], durable=is_durable(event))
        except JournalHalted as error:
            self._halted = error
            raise

    def emit_ephemeral(self, piece: Ephemeral) -> None:
        """Show a live update without storing it."""
        for reader in self._readers:
            self._isolate(reader, lambda reader=reader: reader.on_ephemeral(self.session_id, piece))

    def _isolate(self, reader: EventListener, show: Callable[[], None]) -> None:
        try:
            show()
        except Exception:
            if id(reader) not in self._broken:
                self._broken.add(id(reader))
                _log.exception("%s failed on an event; it is told once", type(reader).__name__)
