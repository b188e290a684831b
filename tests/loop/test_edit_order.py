"""Who edits a file waits for those who do, and nobody remembers it then."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path

from agent_ls.loop.edit_order import EditOrder


async def test_each_waits_for_those_before_it(tmp_path: Path) -> None:
    order, told = EditOrder(), list[str]()

    async def edit(name: str, *files: str) -> None:
        async with order.of(tmp_path / one for one in files):
            told.append(f"{name} begins")
            gc.collect()
            for _ in range(10):
                await asyncio.sleep(0)
            told.append(f"{name} ends")

    edits = [edit("one", "a", "b"), edit("two", "b", "a"), edit("three", "a"), edit("four", "c")]
    await asyncio.gather(*edits)
    one_file = [one for one in told if not one.startswith("four")]
    names = [one.split()[0] for one in one_file]
    assert names[::2] == names[1::2], told
    # Another file waits for nobody.
    assert told.index("four ends") < told.index("two ends")


async def test_a_file_that_nobody_edits_any_more_is_forgotten(tmp_path: Path) -> None:
    def locks() -> int:
        gc.collect()
        return sum(isinstance(one, asyncio.Lock) for one in gc.get_objects())

    order = EditOrder()
    before = locks()
    # Each look at everything there is takes long where many tests have been collected.
    for number in range(3):
        async with order.of([tmp_path / str(number)]):
            assert locks() == before + 1
    assert locks() == before
