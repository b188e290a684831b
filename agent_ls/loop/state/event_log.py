"""A turn's events as a value: appending costs nothing, and each kind is found at once.

Logs of one turn share what they hold; an older one never shows what came after it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, TypeVar, cast, overload

from agent_ls.domain.events import Event, StoredEvent

E = TypeVar("E")


class Tally(Protocol):
    """What some question needs to know of the events, made from nothing by seeing them in order."""

    def __init__(self) -> None:
        """Begin with no events."""
        ...

    def see(self, event: Event) -> None:
        """Take one more event into account."""
        ...


T = TypeVar("T", bound=Tally)


class _Shared:
    """All events that any log on top of it holds, and where each kind stands among them."""

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
        """Take the events."""
        self._shared = _Shared(events)
        self._length = len(self._shared.all)

    def __len__(self) -> int:
        """Return how many there are."""
        return self._length

    @overload
    def __getitem__(self, index: int) -> StoredEvent: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[StoredEvent]: ...
    def __getitem__(self, index: int | slice) -> StoredEvent | Sequence[StoredEvent]:
        """Return one event, or some."""
        if isinstance(index, slice):
            return [self._shared.all[one] for one in range(*index.indices(self._length))]
        return self._shared.all[range(self._length)[index]]

    def __iter__(self) -> Iterator[StoredEvent]:
        """Yield the events, oldest first."""
        for index in range(self._length):
            yield self._shared.all[index]

    def __reversed__(self) -> Iterator[StoredEvent]:
        """Yield the events, newest first."""
        for index in range(self._length - 1, -1, -1):
            yield self._shared.all[index]

    def __eq__(self, other: object) -> bool:
        """Say whether both hold equal events."""
        if not isinstance(other, EventLog):
            return NotImplemented
        return len(self) == len(other) and all(map(StoredEvent.__eq__, self, other))

    __hash__ = None  # pyright: ignore[reportAssignmentType] - as large as a conversation

    def appended(self, stored: StoredEvent) -> EventLog:
        """Return a log with one more event; this one stays what it is."""
        log = EventLog.__new__(EventLog)
        # Who continues an older log goes another way from there.
        log._shared = self._shared if len(self._shared.all) == self._length else _Shared(self)
        log._shared.append(stored)
        log._length = self._length + 1
        return log

    def of(self, kind: type[E]) -> list[E]:
        """Return the events of exactly this kind, oldest first."""
        return self._between(kind, 0)

    def each(self, kind: type[E]) -> Iterator[E]:
        """Yield the events of exactly this kind, oldest first."""
        for index in self._shared.places.get(kind, ()):
            if index >= self._length:
                return
            yield cast("E", self._shared.all[index].event)

    def newest(self, kind: type[E]) -> Iterator[E]:
        """Yield the events of exactly this kind, newest first."""
        places = self._shared.places.get(kind, [])
        for place in range(bisect_left(places, self._length) - 1, -1, -1):
            yield cast("E", self._shared.all[places[place]].event)

    def since(self, kind: type[E], marker: type[object]) -> list[E]:
        """Return the events of one kind after the last ``marker``, oldest first."""
        places = self._shared.places.get(marker, [])
        last = bisect_left(places, self._length)
        return self._between(kind, places[last - 1] + 1 if last else 0)

    def tallied(self, kind: type[T]) -> T:
        """Return a tally of all these events, to be read at once; it sees each of them once.

        A long turn would otherwise be counted from its beginning at every step.
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
