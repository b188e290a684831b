"""Ids: a prefix and a ULID, so that they sort by time and show what they identify.

Only the format is defined here; clock and randomness are passed in.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Literal

Prefix = Literal["ses", "trn", "stp", "cal", "apr", "qst", "rev", "bat", "pmt"]

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_RANDOM_BITS = 80


class Ids:
    """Creates ids that are unique and, per instance, strictly increasing."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        """``now_ms`` is the wall clock in milliseconds."""
        self._now_ms = now_ms
        self._last = 0

    def new(self, prefix: Prefix) -> str:
        """Return ``<prefix>_<26 characters>``, greater than every earlier id of this instance."""
        value = (self._now_ms() << _RANDOM_BITS) | secrets.randbits(_RANDOM_BITS)
        # Ids must sort in creation order, even within one millisecond or after the clock is set
        # back.
        value = max(value, self._last + 1)
        self._last = value
        digits = [_ALPHABET[(value >> shift) & 31] for shift in range(125, -1, -5)]
        return f"{prefix}_{''.join(digits)}"
