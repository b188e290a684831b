"""A time limit stands still while the user is asked, for as long as any question waits."""

from __future__ import annotations

import asyncio

import pytest

from agent_ls.loop.pausing import paused


async def test_a_limit_goes_on_when_the_last_of_two_questions_ends() -> None:
    limit, other = asyncio.timeout(0.2), asyncio.timeout(0.2)
    async with limit, other:
        first, second = paused(limit, other), paused(limit)
        first.__enter__()
        second.__enter__()
        await asyncio.sleep(0.25)
        first.__exit__(None, None, None)
        assert (limit.when(), other.when() is None) == (None, False)
        await asyncio.sleep(0.1)
        second.__exit__(None, None, None)
        left_s = (limit.when() or 0) - asyncio.get_running_loop().time()
        assert 0.1 < left_s <= 0.2


async def limited(limit: asyncio.Timeout, pause_s: float) -> None:
    async with limit:
        with paused(limit):
            await asyncio.sleep(pause_s)
        await asyncio.sleep(5)


async def test_what_is_left_of_the_time_counts_afterwards() -> None:
    began_s = asyncio.get_running_loop().time()
    with pytest.raises(TimeoutError):
        await limited(asyncio.timeout(0.1), 0.2)
    assert 0.3 <= asyncio.get_running_loop().time() - began_s < 2


async def test_a_limit_that_is_none_stays_so() -> None:
    limit = asyncio.timeout(None)
    async with limit:
        with paused(limit), paused(limit):
            await asyncio.sleep(0)
        assert limit.when() is None


async def over(limit: asyncio.Timeout) -> None:
    async with limit:
        try:
            await asyncio.sleep(5)
        finally:
            with paused(limit):
                assert limit.expired()


async def test_a_limit_that_is_over_stays_over() -> None:
    limit = asyncio.timeout(0.01)
    with pytest.raises(TimeoutError):
        await over(limit)
    assert limit.expired()
