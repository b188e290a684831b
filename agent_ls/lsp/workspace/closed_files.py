"""Watches files that are not open in the editor for changes.

Editors do not report all changes by other programs, so followed files are polled by their file
system stamps. Followers read the files themselves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from agent_ls.workspace.seen_files import Signature, signature

_PAUSE_S = 2.0
"""Interval between two polls."""

Tell = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Stamp:
    """A file's state; it differs after the file was written, replaced or deleted."""

    place: Path
    signature: Signature | None
    """None: there is no file."""


class ClosedFiles:
    """The closed files that the faces of one editor follow."""

    def __init__(
        self,
        places: Callable[[Iterable[str]], Iterable[tuple[str, Path]]],
        *,
        pause_s: float = _PAUSE_S,
    ) -> None:
        """``places`` yields the paths that are not open, with their resolved places."""
        self._places, self._pause_s = places, pause_s
        self._followed: dict[Tell, Mapping[str, Stamp]] = {}
        self._watching: asyncio.Task[None] | None = None

    async def stamps(self, paths: Iterable[str]) -> dict[str, Stamp]:
        """Return the current stamps of the given files that are not open, in order.

        Take a stamp before reading the file: a later write then changes it.
        """
        places = dict(self._places(paths))
        now = await self._looked_at(places.values())
        return {path: now[place] for path, place in places.items()}

    def follow(self, tell: Tell, seen: Mapping[str, Stamp]) -> None:
        """Call ``tell`` when a file differs from its stamp.

        Replaces what ``tell`` followed before. Each change is reported once. Nothing is polled
        while nothing is followed.
        """
        self._followed.pop(tell, None)
        if seen:
            self._followed[tell] = seen
        if self._watching is not None and (not self._followed or self._watching.done()):
            self._watching.cancel()
            self._watching = None
        if self._followed and self._watching is None:
            self._watching = asyncio.get_running_loop().create_task(self._watch())

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(self._pause_s)
            followed = dict(self._followed)
            stamps = (stamp for seen in followed.values() for stamp in seen.values())
            now = await self._looked_at({stamp.place for stamp in stamps})
            for tell, before in followed.items():
                seen = {path: now[stamp.place] for path, stamp in before.items()}
                if self._followed.get(tell) is before and seen != before:
                    self._followed[tell] = seen
                    tell()

    async def _looked_at(self, places: Collection[Path]) -> dict[Path, Stamp]:
        if not places:
            return {}
        return await asyncio.to_thread(lambda: {one: Stamp(one, signature(one)) for one in places})
