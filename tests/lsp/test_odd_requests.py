"""Frames that nobody should send, to a whole server: each is answered, none breaks anything."""

from __future__ import annotations

import pytest

from benchmarks.fuzz import MOST_BYTES, Tally, fuzz

pytestmark = pytest.mark.e2e

FRAMES = 5_000


async def check(seed: int, frames: int) -> Tally:
    tally = await fuzz(frames, seed)
    assert tally.frames >= frames
    assert not tally.deaths, tally.deaths[0]
    assert not tally.mistakes, tally.mistakes[0]
    assert tally.peak_bytes < MOST_BYTES
    return tally


async def test_no_odd_frame_is_a_mistake_of_the_server() -> None:
    await check(1, FRAMES)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 7))
async def test_no_odd_frame_of_many_is_a_mistake_of_the_server(seed: int) -> None:
    await check(seed, 12 * FRAMES)
