"""What to do when a request can never succeed: stop, and say what to mend."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from agent_ls.domain.errors import ProviderError, ProviderFailure
from agent_ls.domain.stops import StopReason
from agent_ls.domain.verdicts import Accept, Fail, RecoveryVerdict
from agent_ls.loop.sockets import Attempt
from agent_ls.loop.view import TurnView

_ADVICE: dict[ProviderFailure, str] = {
    ProviderFailure.AUTHENTICATION: (
        "The provider of {model} does not accept the key. Set a valid one in the provider's "
        "environment variable or in credentials.toml; `agent-ls doctor` says where it looks."
    ),
    ProviderFailure.FORBIDDEN: (
        "The key may not use {model}. Choose another model, or ask for access to this one."
    ),
    ProviderFailure.UNKNOWN_MODEL: (
        "There is no model {model} at this provider. Set `model` to a name it knows, with the "
        "provider in front, such as `openai/gpt-4.1` or `ollama_chat/qwen3`."
    ),
    ProviderFailure.BAD_REQUEST: (
        "The provider of {model} does not accept the request. If it names an option, such as "
        "temperature or reasoning_effort, take that option out of the settings."
    ),
}


@dataclass(frozen=True, slots=True)
class FatalError:
    """Ends the turn at once for what trying again cannot mend.

    Source: seed 002 (authentication errors at once), seed 003 (only transient ones are retried).
    """

    name: ClassVar[str] = "fatal_error"

    async def judge(self, attempt: Attempt, view: TurnView) -> RecoveryVerdict:
        """Answer from the class of the attempt's failure."""
        if attempt.error is None or attempt.error.failure not in _ADVICE:
            return Accept()
        advice = _ADVICE[attempt.error.failure].format(model=view.session.model or "the model")
        return Fail(StopReason.ERROR, f"{advice} It said: {_said(attempt.error)}")


def _said(error: ProviderError) -> str:
    """Return the provider's words with the status, or that there were none."""
    status = f" (status {error.status})" if error.status is not None else ""
    return f"{error.message.strip().rstrip('.') or 'nothing'}{status}."
