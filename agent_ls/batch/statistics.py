"""Intervals for evaluations: how far a share or a mean of a few tasks can be trusted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

_Z = 1.959964
"""For 95 %."""
_T = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}
"""Student's t for 95 %, by degrees of freedom; from 10 on a formula is close enough."""


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its 95 % interval."""

    value: float
    low: float
    high: float


def share(hits: int, count: int) -> Interval:
    """Return the share of hits with Wilson's interval, which holds for few tasks as well."""
    if not count:
        return Interval(0.0, 0.0, 1.0)
    found, squared = hits / count, _Z * _Z
    centre = (found + squared / (2 * count)) / (1 + squared / count)
    spread = math.sqrt(found * (1 - found) / count + squared / (4 * count * count))
    half = _Z * spread / (1 + squared / count)
    return Interval(found, max(0.0, centre - half), min(1.0, centre + half))


def mean(values: Sequence[float]) -> Interval:
    """Return the mean with Student's interval; of one value, the value alone."""
    count = len(values)
    if not count:
        return Interval(0.0, 0.0, 0.0)
    found = math.fsum(values) / count
    if count == 1:
        return Interval(found, found, found)
    variance = math.fsum((one - found) ** 2 for one in values) / (count - 1)
    freedom = count - 1
    # Cornish and Fisher's expansion of t around the normal distribution.
    factor = _T.get(freedom) or _Z + 2.3723 / freedom + 2.8225 / freedom**2
    half = factor * math.sqrt(variance / count)
    return Interval(found, max(0.0, found - half), found + half)
