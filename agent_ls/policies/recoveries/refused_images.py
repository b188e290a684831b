"""What to do when a request is refused for its images: ask again without them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from agent_ls.domain.errors import ProviderFailure
from agent_ls.domain.sentences import sentence
from agent_ls.domain.stops import StopReason
from agent_ls.domain.verdicts import Accept, Fail, Reask, RecoveryVerdict
from agent_ls.loop.extension_points import Attempt
from agent_ls.loop.state.view import TurnView

_INSTEAD = {
    ProviderFailure.NO_IMAGES: "From here on only their names and sizes are told.",
    ProviderFailure.BAD_IMAGE: "Of all images so far only the names and sizes are told.",
}
_MOST = 3
"""An image may be refused in each of several steps, but a refusal of none is none of ours."""


@dataclass(frozen=True, slots=True)
class RefusedImages:
    """Asks again; the refusal in the journal has put words in the images' place.

    Otherwise the image would make the provider refuse every later request of the session.
    """

    name: ClassVar[str] = "refused_images"

    async def judge(self, attempt: Attempt, view: TurnView) -> RecoveryVerdict:
        if attempt.error is None or attempt.error.failure not in _INSTEAD:
            return Accept()
        said = sentence(attempt.error.message)
        if view.recoveries_since_answer(self.name) >= _MOST:
            return Fail(StopReason.ERROR, said)
        return Reask(f"({said} {_INSTEAD[attempt.error.failure]})")
