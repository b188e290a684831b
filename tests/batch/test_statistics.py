"""Intervals against values that others computed."""

from __future__ import annotations

import pytest

from agent_ls.batch.statistics import mean, share


@pytest.mark.parametrize(
    ("hits", "count", "low", "high"),
    [
        # From Wilson's formula in R: binom::binom.confint(method = "wilson").
        (7, 10, 0.3967781, 0.8922087),
        (0, 10, 0.0, 0.2775328),
        (10, 10, 0.7224672, 1.0),
        (50, 100, 0.4038315, 0.5961685),
    ],
)
def test_a_share_has_wilsons_interval(hits: int, count: int, low: float, high: float) -> None:
    found = share(hits, count)
    assert (found.value, found.low, found.high) == pytest.approx(
        (hits / count, low, high), abs=1e-6
    )


def test_nothing_known_is_an_interval_of_everything() -> None:
    assert (share(0, 0).low, share(0, 0).high) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("values", "half"),
    [
        ([1.0, 2.0, 3.0], 2.4841),
        ([1.0, 2.0, 3.0, 4.0, 5.0], 1.9632),
        # Fifteen values: t with 14 degrees of freedom is 2.1448.
        ([float(one) for one in range(1, 16)], 2.4767),
    ],
)
def test_a_mean_has_students_interval(values: list[float], half: float) -> None:
    found = mean(values)
    assert found.high - found.value == pytest.approx(half, rel=5e-3)
    assert found.low == pytest.approx(max(0.0, found.value - half), rel=5e-2, abs=2e-2)


def test_one_value_has_no_interval_and_none_is_nothing() -> None:
    assert (mean([2.0]).low, mean([2.0]).high) == (2.0, 2.0)
    assert mean([]).value == 0.0
