"""What it takes to open a session again and to show it, by the CPU time of this process.

A part of ``steps``; the waits for the disk and the editor come on top.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from agent_ls.loop.state.folding import fold_all
from agent_ls.lsp.presenters.publisher import Publisher
from agent_ls.store.sql_store import open_store
from benchmarks.figures import Figure


def reopening(folder: Path) -> list[Figure]:
    """Return the figures of the longest session in the store below a folder."""
    store = next(folder.rglob("store.db"))
    return asyncio.run(_measured(store))


async def _measured(place: Path) -> list[Figure]:
    store = open_store(str(place))
    try:
        journals = [await store.load(one.session_id) for one in await store.sessions()]
        journal = max(journals, key=len)
        watch = _Watch()
        await store.load(journal[0].session_id)
        state = fold_all(journal)
        resume_ms = watch.lap_ms()
        publisher = Publisher(lambda _params: None, {}, lambda path: f"file:///{path}")
        found: list[Figure] = []
        for name in ("snapshot, the first", "snapshot, later"):
            watch.lap_ms()
            publisher.snapshot(state, journal).model_dump(mode="json", by_alias=True)
            found.append(Figure(name, watch.lap_ms(), "ms", goal=100))
        return [Figure("resume: read and fold", resume_ms, "ms", goal=300), *found]
    finally:
        await store.close()


class _Watch:
    def __init__(self) -> None:
        self._at = time.process_time()

    def lap_ms(self) -> float:
        """Return the CPU time since the last lap."""
        before, self._at = self._at, time.process_time()
        return 1000 * (self._at - before)
