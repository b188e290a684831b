"""Questions to the person, and the person's standing rules."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Literal, Protocol

from agent_ls.domain.approvals import ApprovalAnswer, ApprovalRequest, Question, QuestionAnswer
from agent_ls.domain.rules import PatternRule


class Approver(Protocol):
    """Shows a question to the person in whatever face is attached, and waits for the answer."""

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Wait for the decision; without a person returns ``reject_once`` by ``nobody``."""
        ...

    async def ask(self, question: Question) -> QuestionAnswer:
        """Wait for the answer; without a person returns one by ``nobody``."""
        ...


class Rules(Protocol):
    """The person's standing rules about calls in these folders."""

    def decision(self, grant: str, folders: Sequence[Path]) -> Literal["allow", "reject"] | None:
        """Return the rule for a grant when exactly these folders are open; None: no rule."""
        ...

    def granted(self, folders: Sequence[Path]) -> tuple[str, ...]:
        """Return the grants that are always allowed in these folders."""
        ...

    def patterns(self, folders: Sequence[Path]) -> tuple[PatternRule, ...]:
        """Return the rules by pattern that hold in these folders."""
        ...

    def add(
        self, grant: str, folders: Sequence[Path], decision: Literal["allow", "reject"]
    ) -> None:
        """Store a rule; the newest rule for a grant wins.

        Errors: ``SettingsError`` when it cannot be stored.
        """

    def revoke(self, grants: Collection[str], folders: Sequence[Path]) -> None:
        """Remove the *allow* rules for these grants; *reject* rules stay.

        Errors: ``SettingsError`` when that cannot be stored.
        """
