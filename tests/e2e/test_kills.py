"""Killing the server at any moment loses no acknowledged edit, no session, and repeats nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from benchmarks.kills import kill

pytestmark = pytest.mark.e2e


def check(kills: int, seed: int, variables: Mapping[str, str] | None = None) -> None:
    """Kill so many servers in the middle of their work."""
    tally = asyncio.run(kill(kills, seed=seed, variables=variables))
    assert tally.kills >= kills
    assert tally.cut_off >= kills // 4, "too few kills fell into a turn to prove anything"
    assert not tally.wrong, "\n".join(tally.wrong)


@pytest.mark.story("kills")
@pytest.mark.timeout(600)
def test_thirty_kills_lose_nothing(warm_host: Mapping[str, str]) -> None:
    check(30, seed=1, variables=warm_host)


@pytest.mark.long
@pytest.mark.timeout(7_200)
def test_a_thousand_kills_lose_nothing() -> None:
    check(1_000, seed=2)
