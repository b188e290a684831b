"""Did the user ask to shorten the conversation?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from agent_ls.domain.verdicts import CheckVerdict, Compact, Proceed
from agent_ls.loop.state.view import TurnView


@dataclass(frozen=True, slots=True)
class AskedCompaction:
    """Asks for a compaction at the first step after the user's request."""

    name: ClassVar[str] = "asked_compaction"

    async def check(self, view: TurnView) -> CheckVerdict:
        asked = view.session.is_compaction_asked
        return Compact("The user asked for it.") if asked else Proceed()
