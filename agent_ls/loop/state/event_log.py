"""A turn's events as an immutable value, with cheap appends and lookup by event type.

Logs of one turn share storage; an older log never shows later events.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, TypeVar, cast, overload

from agent_ls.domain.events import Event, StoredEvent

E = TypeVar("E")


class Tally(Protocol):
    """An aggregate over events, built up by seeing them in order."""

    def __init__(self) -> None: ...

    def see(self, event: Event) -> None:
        """Take one more event into account."""


T = TypeVar("T", bound=Tally)


class _Shared:
    """Storage shared by logs: all events, and the positions of each event type."""

    __slots__ = ("all", "places", "tallies")

    def __init__(self, events: Iterable[StoredEvent] = ()) -> None:
        self.all: list[StoredEvent] = []
        self.places: dict[type[object], list[int]] = {}
        self.tallies: dict[type[Tally], tuple[int, Tally]] = {}
        for stored in events:
            self.append(stored)

    def append(self, stored: StoredEvent) -> None:
        self.places.setdefault(type(stored.event), []).append(len(self.all))
        self.all.append(stored)


class EventLog(Sequence[StoredEvent]):
    """Events in order, oldest first."""

    __slots__ = ("_length", "_shared")

    def __init__(self, events: Iterable[StoredEvent] = ()) -> None:
        self._shared = _Shared(events)
        self._length = len(self._shared.all)

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> StoredEvent: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[StoredEvent]: ...
    def __getitem__(self, index: int | slice) -> StoredEvent | Sequence[StoredEvent]:
        if isinstance(index, slice):
            return [self._shared.all[one] for one in range(*index.indices(self._length))]
        return self._shared.all[range(self._length)[index]]

    def __iter__(self) -> Iterator[StoredEvent]:
        for index in range(self._length):
            yield self._shared.all[index]

    def __reversed__(self) -> Iterator[StoredEvent]:
        for index in range(self._length - 1, -1, -1):
            yield self._shared.all[index]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, EventLog):
            return NotImplemented
        return len(self) == len(other) and all(map(StoredEvent.__eq__, self, other))

    __hash__ = None  # pyright: ignore[reportAssignmentType] - as large as a conversation

    def appended(self, stored: StoredEvent) -> EventLog:
        """Return a log with one more event; this log does not change."""
        log = EventLog.__new__(EventLog)
        # Appending to an older log would overwrite newer events, so it gets its own storage.
        log._shared = self._shared if len(self._shared.all) == self._length else _Shared(self)
        log._shared.append(stored)
        log._length = self._length + 1
        return log

    def of(self, kind: type[E]) -> list[E]:
        """Return the events of exactly this type, oldest first."""
        return self._between(kind, 0)

    def each(self, kind: type[E]) -> Iterator[E]:
        """Yield the events of exactly this type, oldest first."""
        for index in self._shared.places.get(kind, ()):
            if index >= self._length:
                return
            yield cast("E", self._shared.all[index].event)

    def newest(self, kind: type[E]) -> Iterator[E]:
        """Yield the events of exactly this type, newest first."""
        places = self._shared.places.get(kind, [])
        for place in range(bisect_left(places, self._length) - 1, -1, -1):
            yield cast("E", self._shared.all[places[place]].event)

    def since(self, kind: type[E], marker: type[object]) -> list[E]:
        """Return the events of one type after the last ``marker``, oldest first."""
        places = self._shared.places.get(marker, [])
        last = bisect_left(places, self._length)
        return self._between(kind, places[last - 1] + 1 if last else 0)

    def tallied(self, kind: type[T]) -> T:
        """Return a tally over all these events; read it at once, because it is shared and updated.

        Each event is seen once: otherwise every step would count a long turn from its beginning.
        """
        seen, tally = self._shared.tallies.get(kind, (0, None))
        if tally is None or seen > self._length:
            seen, tally = 0, kind()
        for index in range(seen, self._length):
            tally.see(self._shared.all[index].event)
        self._shared.tallies[kind] = (self._length, tally)
        return cast("T", tally)

    def _between(self, kind: type[E], first: int) -> list[E]:
        places = self._shared.places.get(kind, [])
        chosen = places[bisect_left(places, first) : bisect_left(places, self._length)]
        return [cast("E", self._shared.all[index].event) for index in chosen]
