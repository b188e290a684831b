"""Files that are not open in the editor: which of them have changed.

Other programs change files, and no editor tells of all of it. Those that somebody follows are
looked at now and then by what the file system says of them; reading them is the followers' part.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from agent_ls.workspace.seen_files import Signature, signature

_PAUSE_S = 2.0
"""Between two looks."""

Tell = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Stamp:
    """What is another when a file was written, replaced, or taken away."""

    place: Path
    signature: Signature | None
    """None: no file is there."""


@dataclass(frozen=True, slots=True)
class _Followed:
    """What somebody follows."""

    seen: Mapping[str, Stamp]
    gone: frozenset[Path]


class ClosedFiles:
    """The closed files that the faces of one editor follow."""

    def __init__(
        self,
        places: Callable[[Iterable[str]], Iterable[tuple[str, Path]]],
        *,
        pause_s: float = _PAUSE_S,
    ) -> None:
        """Take what finds those that are not open among paths as the agent names them."""
        self._places, self._pause_s = places, pause_s
        self._followed: dict[Tell, _Followed] = {}
        self._watching: asyncio.Task[None] | None = None

    async def stamps(self, paths: Iterable[str]) -> dict[str, Stamp]:
        """Return how those of these files are now that are not open, in their order.

        To be asked before a file is read: what is written after that makes another stamp.
        """
        places = dict(self._places(paths))
        now = await self._looked_at(places.values())
        return {path: now[place] for path, place in places.items()}

    def follow(
        self, tell: Tell, seen: Mapping[str, Stamp], gone: frozenset[Path] = frozenset()
    ) -> None:
        """Tell when some of these are not as they were seen, instead of those followed before, or
        one of the folders that are gone is there again.

        Each change is told once. Nothing is looked at while nobody follows anything.
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
