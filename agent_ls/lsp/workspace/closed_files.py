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


@dataclass(frozen=True, slots=True)
class _Followed:
    """The files and missing folders of one follower."""

    seen: Mapping[str, Stamp]
    gone: frozenset[Path]


class ClosedFiles:
    """The closed files that the presenters of one editor follow."""

    def __init__(
        self,
        places: Callable[[Iterable[str]], Iterable[tuple[str, Path]]],
        *,
        pause_s: float = _PAUSE_S,
    ) -> None:
        """``places`` yields the paths that are not open, with their resolved places."""
        self._places, self._pause_s = places, pause_s
        self._followed: dict[Tell, _Followed] = {}
        self._watching: asyncio.Task[None] | None = None

    async def stamps(self, paths: Iterable[str]) -> dict[str, Stamp]:
        """Return the current stamps of the given files that are not open, in order.

        Take a stamp before reading the file: a later write then changes it.
        """
        places = dict(self._places(paths))
        now = await self._looked_at(places.values())
        return {path: now[place] for path, place in places.items()}

    def follow(
        self, tell: Tell, seen: Mapping[str, Stamp], gone: frozenset[Path] = frozenset()
    ) -> None:
        """Call ``tell`` when a file differs from its stamp or a folder in ``gone`` is back.

        Replaces what ``tell`` followed before. Each change is reported once. Nothing is polled
        while nothing is followed.
        """
        self._followed.pop(tell, None)
        if seen or gone:
            self._followed[tell] = _Followed(seen, gone)
        if self._watching is not None and (not self._followed or self._watching.done()):
            self._watching.cancel()
            self._watching = None
        if self._followed and self._watching is None:
            self._watching = asyncio.get_running_loop().create_task(self._watch())

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(self._pause_s)
            followed = dict(self._followed)
            stamps = (stamp for one in followed.values() for stamp in one.seen.values())
            now = await self._looked_at({stamp.place for stamp in stamps})
            gone = await _still_gone({place for one in followed.values() for place in one.gone})
            for tell, before in followed.items():
                seen = {path: now[stamp.place] for path, stamp in before.seen.items()}
                after = _Followed(seen, gone.intersection(before.gone))
                if self._followed.get(tell) is before and after != before:
                    self._followed[tell] = after
                    tell()

    async def _looked_at(self, places: Collection[Path]) -> dict[Path, Stamp]:
        if not places:
            return {}
        return await asyncio.to_thread(lambda: {one: Stamp(one, signature(one)) for one in places})


async def _still_gone(folders: Collection[Path]) -> frozenset[Path]:
    if not folders:
        return frozenset()
    return await asyncio.to_thread(lambda: frozenset(one for one in folders if not one.is_dir()))
