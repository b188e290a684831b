"""What to do when a request failed on its way: wait, then send it again."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.errors import ProviderFailure
from agent_ls.domain.events import Answered, RecoveryChosen
from agent_ls.domain.model_io import FinishReason
from agent_ls.domain.record import Record
from agent_ls.domain.stops import StopReason
from agent_ls.domain.verdicts import Accept, Fail, RecoveryVerdict, Retry, SwitchModel
from agent_ls.loop.extension_points import Attempt
from agent_ls.loop.options import ModelOptions
from agent_ls.loop.state.view import TurnView

_JITTER_STEPS = 1_000
_MAX_DOUBLINGS = 30
"""The longest wait is reached long before; more doublings would overflow a float."""


class Patience(Record):
    """What is different for one provider; None: as for all."""

    tries: int | None = Field(default=None, ge=1)
    """Requests without an answer, the first one included."""
    first_wait_s: float | None = Field(default=None, ge=0)
    """Wait before the second try."""
    max_wait_s: float | None = Field(default=None, ge=0)
    """The longest wait of our own choosing."""
    max_retry_after_s: float | None = Field(default=None, ge=0)
    """The longest wait the provider may ask for."""
    jitter: float | None = Field(default=None, ge=0, le=1)
    """Part of a wait that may be taken off."""


class TransportOptions(Record):
    """How often and how patiently a failed request is sent again."""

    tries: int = Field(default=5, ge=1)
    """Requests without an answer, the first one included, before the turn ends. One is enough where
    a time limit passed, a certificate is wrong, or an endpoint that has not answered in this turn
    cannot be reached: its name is unknown, or nothing listens on this machine."""
    first_wait_s: float = Field(default=2.0, ge=0)
    """Wait before the second try; it doubles from try to try."""
    max_wait_s: float = Field(default=30.0, ge=0)
    """The longest wait of our own choosing."""
    max_retry_after_s: float = Field(default=300.0, ge=0)
    """The longest wait a provider may ask for; more ends the turn, and its message says so."""
    jitter: float = Field(default=0.25, ge=0, le=1)
    """Up to this part is taken off a wait, so that many sessions do not come back together."""
    providers: Mapping[str, Patience] = Field(default_factory=dict[str, Patience])
    """Other numbers for single providers, by the first part of the model's name."""

    def of(self, model: str) -> TransportOptions:
        """Return the options for this model's provider."""
        own = self.providers.get(model.partition("/")[0])
        return self if own is None else self.model_copy(update=own.model_dump(exclude_none=True))


@dataclass(frozen=True, slots=True)
class Transport:
    """Retries what may succeed later: 429, 5xx, lost connections, broken streams.

    After the last try it asks the fallback model, which has its own tries; then the turn ends.
    Source: S3 back-off, S2 retries, S0 resilient call.
    """

    name: ClassVar[str] = "transport"
    options: TransportOptions = TransportOptions()
    models: ModelOptions = ModelOptions()

    async def judge(self, attempt: Attempt, view: TurnView) -> RecoveryVerdict:
        why = _failure(attempt)
        if why is None:
            return Accept()
        options = self.options.of(view.model)
        tried = _retries(view) + 1
        is_late = _asked_s(attempt) > options.max_retry_after_s
        if is_late:
            why = f"{why} It asks to wait {_asked_s(attempt):.0f} s."
        if tried < options.tries and not is_late and not _is_lasting(attempt, view):
            wait_s = _wait_s(attempt, tried, view.turn.step_id, options)
            return Retry(
                wait_s, f"{why} Trying again in {wait_s:.0f} s ({tried + 1} of {options.tries})."
            )
        given_up = why if tried == 1 else f"{why} Given up after {tried} tries."
        fallback = self.models.fallback
        if fallback and view.model != fallback and not _has_switched(view):
            return SwitchModel(fallback, f"{given_up} Asking {fallback} instead.")
        return Fail(StopReason.ERROR, f"{given_up} Nothing is lost: prompt again when it answers.")


def _is_lasting(attempt: Attempt, view: TurnView) -> bool:
    error = attempt.error
    if error is None or not error.is_lasting:
        return False
    # An endpoint that has answered in this turn exists, and may soon be back.
    return error.failure is not ProviderFailure.CONNECTION or view.steps == 0


def _retries(view: TurnView) -> int:
    count = 0
    for one in view.each_since(RecoveryChosen, Answered):
        if one.action == "switch_model":
            count = 0
        elif one.origin == Transport.name:
            count += 1
    return count


def _has_switched(view: TurnView) -> bool:
    chosen = view.each_since(RecoveryChosen, Answered)
    return any(one.action == "switch_model" for one in chosen)


def _wait_s(attempt: Attempt, tried: int, step_id: str, options: TransportOptions) -> float:
    """Return the wait that the provider asked for; else our back-off."""
    if wish_s := _asked_s(attempt):
        return wish_s
    doubled = 2.0 ** min(tried - 1, _MAX_DOUBLINGS)
    wait_s = min(options.first_wait_s * doubled, options.max_wait_s)
    return wait_s * (1 - options.jitter * _fraction(f"{step_id}:{tried}"))


def _asked_s(attempt: Attempt) -> float:
    """Return the wait that the provider asked for; 0 if it asked for none."""
    wish_s = attempt.error.retry_after_s if attempt.error else None
    return 0.0 if wish_s is None or math.isnan(wish_s) else max(0.0, wish_s)


def _failure(attempt: Attempt) -> str | None:
    """Return the failure as a sentence; None if there is none that a retry may fix."""
    if attempt.error is not None:
        return f"{attempt.error.message.rstrip('.')}." if attempt.error.is_retryable else None
    if attempt.finish is FinishReason.ERROR:
        return "The provider ended the answer with an error of its own."
    return None


def _fraction(seed: str) -> float:
    """Return a number from 0 to below 1: pseudo-random, but the same for the same seed."""
    return zlib.crc32(seed.encode()) % _JITTER_STEPS / _JITTER_STEPS
