"""What must not stop half-way comes to its end, however often somebody stops waiting for it."""

from __future__ import annotations

import asyncio

import pytest

from agent_ls.loop.shielding import finished, settled


async def check(how: str, *, cancels: int, fails: bool = False) -> tuple[object, bool]:
    """Wait for work, cancel the waiting so often, let the work end; return both ends."""
    begun, go_on = asyncio.Event(), asyncio.Event()
    over: list[bool] = []

    async def work() -> str:
        begun.set()
        await go_on.wait()
        over.append(True)
        if fails:
            raise ValueError("it failed")
        return "done"

    async def wait() -> str:
        return await (settled(work()) if how == "settled" else finished(work()))

    waiting = asyncio.create_task(wait())
    await begun.wait()
    for _ in range(cancels):
        waiting.cancel()
        # Twice round the loop: the cancellation has arrived, and nobody left.
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not waiting.done()
    go_on.set()
    (end,) = await asyncio.gather(waiting, return_exceptions=True)
    return (type(end) if isinstance(end, BaseException) else end), bool(over)


@pytest.mark.parametrize(
    ("how", "cancels", "fails", "expected"),
    [
        ("settled", 0, False, "done"),
        ("settled", 0, True, ValueError),
        ("settled", 1, False, asyncio.CancelledError),
        ("settled", 3, False, asyncio.CancelledError),
        ("settled", 2, True, asyncio.CancelledError),
        ("finished", 0, False, "done"),
        ("finished", 1, False, "done"),
        ("finished", 3, False, "done"),
        ("finished", 2, True, ValueError),
    ],
)
async def test_the_work_ends_and_the_waiting_ends_after_it(how, cancels, fails, expected) -> None:
    assert await check(how, cancels=cancels, fails=fails) == (expected, True)


async def test_work_that_was_itself_cancelled_is_not_waited_for() -> None:
    async def cancelled() -> None:
        raise asyncio.CancelledError

    for wait in (settled, finished):
        with pytest.raises(asyncio.CancelledError):
            await wait(cancelled())
