"""What to do when the model or its provider declined: end the turn, and say so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from agent_ls.domain.errors import ProviderFailure
from agent_ls.domain.model_io import FinishReason
from agent_ls.domain.sentences import sentence
from agent_ls.domain.stops import StopReason
from agent_ls.domain.verdicts import Accept, Fail, RecoveryVerdict
from agent_ls.loop.extension_points import Attempt
from agent_ls.loop.state.view import TurnView

_MAX_QUOTED_CHARS = 2_000


@dataclass(frozen=True, slots=True)
class Refusal:
    """Ends the turn and quotes what was said.

    Source: S3, content filter; a filter stop without a word looks like a hang.
    """

    name: ClassVar[str] = "refusal"

    async def judge(self, attempt: Attempt, view: TurnView) -> RecoveryVerdict:
        if attempt.error is not None:
            if attempt.error.failure is not ProviderFailure.CONTENT_FILTER:
                return Accept()
            what = attempt.error.message.strip() or "The provider's content filter stopped this."
            return _fail(what, attempt.text)
        if attempt.finish is FinishReason.CONTENT_FILTER:
            return _fail("The provider's content filter stopped the answer.", attempt.text)
        if attempt.finish is FinishReason.REFUSAL:
            return _fail("The model declined to answer.", attempt.text)
        return Accept()


def _fail(what: str, said: str) -> Fail:
    """Return the end of the turn, quoting the answer so far if there is one."""
    quoted = said.strip()[:_MAX_QUOTED_CHARS]
    words = f" It said: {sentence(quoted)}" if quoted else ""
    return Fail(StopReason.REFUSAL, f"{what}{words} Rephrase the prompt, or choose another model.")
