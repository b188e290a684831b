"""What to do when a request can never succeed: stop, and say what to fix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from agent_ls.domain.errors import ProviderFailure
from agent_ls.domain.sentences import sentence
from agent_ls.domain.stops import StopReason
from agent_ls.domain.verdicts import Accept, Fail, RecoveryVerdict
from agent_ls.loop.extension_points import Attempt
from agent_ls.loop.state.view import TurnView

_ADVICE: dict[ProviderFailure, str] = {
    ProviderFailure.AUTHENTICATION: "`agent-ls doctor` says where keys are looked for.",
    ProviderFailure.NO_KEY: "`agent-ls doctor` says where keys are looked for.",
    ProviderFailure.FORBIDDEN: "Choose another model, or ask its provider for access.",
    ProviderFailure.NO_CREDIT: "Add credit there, or choose another model.",
    ProviderFailure.NOT_SIGNED_IN: "",
    ProviderFailure.NO_MODEL: "",
    ProviderFailure.UNKNOWN_MODEL: "Set `model` to one that the provider has.",
    ProviderFailure.BAD_REQUEST: ("Take the option that it names out of the settings."),
}
"""Advice for the user, appended to the provider's message."""


_OPTIONS = ("temperature", "reasoning_effort", "max_tokens", "max_completion_tokens")
"""Fields of a request that a setting decides."""
_SAID_ALREADY = ("a web page", "redirects to", "et `model` (", "`ollama pull ")
"""Parts of messages that already say what to do."""


@dataclass(frozen=True, slots=True)
class FatalError:
    """Ends the turn at once on an error that a retry cannot fix.

    Source: S2 (authentication errors at once), S3 (only transient ones are retried).
    """

    name: ClassVar[str] = "fatal_error"

    async def judge(self, attempt: Attempt, view: TurnView) -> RecoveryVerdict:
        if attempt.error is None or attempt.error.failure not in _ADVICE:
            return Accept()
        said = attempt.error.message.strip() or f"The request for {view.session.model} failed."
        is_advised = any(words in said for words in _SAID_ALREADY)
        if attempt.error.failure is ProviderFailure.BAD_REQUEST:
            is_advised = is_advised or not any(option in said for option in _OPTIONS)
        advice = "" if is_advised else _ADVICE[attempt.error.failure]
        return Fail(StopReason.ERROR, f"{sentence(said)} {advice}".rstrip())
