"""Who waits for checks that run at once goes only when all of them have come to their end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

import pytest

from agent_ls.checkers.together import together


@dataclass
class Programs:
    """Three that run until they are told to end: ``fails`` fails, the others take their time."""

    is_gone: asyncio.Event = field(default_factory=asyncio.Event)
    """Those that are broken off end only after this, as a program does that was killed."""
    fail: asyncio.Event = field(default_factory=asyncio.Event)
    ends: list[str] = field(default_factory=list)

    async def runs(self, name: str) -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            # Broken off once more, it would not wait for its end.
            await self.is_gone.wait()
            self.ends.append(name)
            raise
        return name

    async def fails(self) -> str:
        await self.fail.wait()
        raise ValueError("fails")


def cancelled(times: int) -> Callable[[asyncio.Task[Any], Programs], Coroutine[Any, Any, None]]:
    async def stop(waiting: asyncio.Task[Any], programs: Programs) -> None:
        for _ in range(times):
            waiting.cancel()
            await settled()

    return stop


async def one_fails(waiting: asyncio.Task[Any], programs: Programs) -> None:
    programs.fail.set()
    await settled()


async def one_fails_and_cancelled(waiting: asyncio.Task[Any], programs: Programs) -> None:
    await one_fails(waiting, programs)
    await cancelled(1)(waiting, programs)


async def settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("stop", "error"),
    [
        pytest.param(cancelled(1), asyncio.CancelledError, id="cancelled"),
        pytest.param(cancelled(3), asyncio.CancelledError, id="cancelled-several-times"),
        pytest.param(one_fails, ValueError, id="one-fails"),
        pytest.param(
            one_fails_and_cancelled, asyncio.CancelledError, id="cancelled-after-one-has-failed"
        ),
    ],
)
async def test_all_have_ended_when_who_waits_for_them_goes(
    stop: Callable[[asyncio.Task[Any], Programs], Coroutine[Any, Any, None]],
    error: type[BaseException],
) -> None:
    programs = Programs()
    works = [programs.runs("first"), programs.fails(), programs.runs("last")]
    waiting = asyncio.ensure_future(together(works))
    await settled()
    await stop(waiting, programs)
    assert not waiting.done()
    assert programs.ends == []
    programs.is_gone.set()
    with pytest.raises(error):
        await waiting
    assert sorted(programs.ends) == ["first", "last"]


async def test_what_each_returns_is_returned_in_order() -> None:
    is_second_done = asyncio.Event()

    async def first() -> str:
        await is_second_done.wait()
        return "first"

    async def second() -> str:
        is_second_done.set()
        return "second"

    assert await together([first(), second()]) == ["first", "second"]
    assert await together([]) == []
