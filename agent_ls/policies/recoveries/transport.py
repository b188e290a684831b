"""What to do when a request failed on its way: wait, and send the same again."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.model_io import FinishReason
from agent_ls.domain.record import Record
from agent_ls.domain.verdicts import Accept, RecoveryVerdict, Retry, StepFailed
from agent_ls.loop.sockets import Attempt
from agent_ls.loop.view import TurnView

_JITTER_STEPS = 1_000
_MAX_DOUBLINGS = 30
"""Beyond this the longest wait has long been reached, and floats would run over."""


class TransportOptions(Record):
    """How often and how patiently a failed request is sent again."""

    tries: int = Field(default=5, ge=1)
    """Requests per step, the first one included, before the step counts as failed."""
    first_wait_s: float = Field(default=2.0, ge=0)
    """Wait before the second try; it doubles from try to try."""
    max_wait_s: float = Field(default=30.0, ge=0)
    """The longest wait of our own choosing."""
    max_retry_after_s: float = Field(default=60.0, ge=0)
    """The longest wait a provider may ask for with ``Retry-After``; more is cut to this."""
    jitter: float = Field(default=0.25, ge=0, le=1)
    """Up to this part is taken off a wait, so that many sessions do not come back together."""


@dataclass(frozen=True, slots=True)
class Transport:
    """Retries what may succeed later: 429, 5xx, lost connections, broken streams.

    Source: seed 003 back-off, seed 002 retries, seed 000 resilient call.
    """

    name: ClassVar[str] = "transport"
    options: TransportOptions = TransportOptions()

    async def judge(self, attempt: Attempt, view: TurnView) -> RecoveryVerdict:
        """Answer from the attempt's failure and how often this step was retried."""
        why = _failure(attempt)
        if why is None:
            return Accept()
        tried = view.recoveries(self.name) + 1
        if tried >= self.options.tries:
            return StepFailed(f"{why} Given up after {tried} {'try' if tried == 1 else 'tries'}.")
        wait_s = self._wait_s(attempt, tried, view.turn.step_id)
        return Retry(
            wait_s, f"{why} Trying again in {wait_s:.0f} s ({tried + 1} of {self.options.tries})."
        )

    def _wait_s(self, attempt: Attempt, tried: int, step_id: str) -> float:
        """Return the provider's own wish, else our back-off; never negative, never endless."""
        wish_s = attempt.error.retry_after_s if attempt.error else None
        if wish_s is not None and wish_s > 0 and not math.isnan(wish_s):
            return min(wish_s, self.options.max_retry_after_s)
        doubled = 2.0 ** min(tried - 1, _MAX_DOUBLINGS)
        wait_s = min(self.options.first_wait_s * doubled, self.options.max_wait_s)
        return wait_s * (1 - self.options.jitter * _fraction(f"{step_id}:{tried}"))


def _failure(attempt: Attempt) -> str | None:
    """Return what went wrong on the way, as a sentence; None when nothing did."""
    if attempt.error is not None:
        return f"{attempt.error.message.rstrip('.')}." if attempt.error.is_retryable else None
    if attempt.finish is FinishReason.ERROR:
        return "The provider ended the answer with an error of its own."
    return None


def _fraction(seed: str) -> float:
    """Return a number in 0..1 that looks random and is the same for the same try."""
    return zlib.crc32(seed.encode()) % _JITTER_STEPS / _JITTER_STEPS
