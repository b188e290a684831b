"""When agents edit which files: what becomes of one then is no command's doing."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path


class AgentEdits:
    """The files that agents edit or have edited, by place."""

    def __init__(self) -> None:
        """Begin with none."""
        self._under_way = Counter[Path]()
        self._ended_ns: dict[Path, int] = {}

    @contextmanager
    def under_way(self, places: Iterable[Path]) -> Generator[None]:
        """Edit these files meanwhile."""
        places = list(places)
        self._under_way.update(places)
        try:
            yield
        finally:
            self._ended_ns.update(dict.fromkeys(places, time.time_ns()))
            self._under_way -= Counter(places)

    def is_since(self, place: Path, since_ns: int) -> bool:
        """Say whether one edits this file, or has since a moment by the wall clock."""
        return place in self._under_way or self._ended_ns.get(place, 0) >= since_ns

    def __iter__(self) -> Iterator[Path]:
        """Yield the files that were edited."""
        return iter(list(self._ended_ns))
