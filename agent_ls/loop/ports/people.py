"""What is asked of the person, and what the person said once and for all."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Literal, Protocol

from agent_ls.domain.approvals import ApprovalAnswer, ApprovalRequest, Question, QuestionAnswer


class Approver(Protocol):
    """Brings a question to the person, by whatever face there is, and waits."""

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Wait for the decision; without a person answers ``reject_once`` by ``nobody``."""
        ...

    async def ask(self, question: Question) -> QuestionAnswer:
        """Wait for the answer; without a person answers by ``nobody``."""
        ...


class Rules(Protocol):
    """What the person said once and for all about calls in these folders."""

    def decision(self, grant: str, folders: Sequence[Path]) -> Literal["allow", "reject"] | None:
        """Return what holds for a grant when exactly these folders are open; None: nothing."""
        ...

    def granted(self, folders: Sequence[Path]) -> tuple[str, ...]:
        """Return the grants that are always allowed there."""
        ...

    def add(
        self, grant: str, folders: Sequence[Path], decision: Literal["allow", "reject"]
    ) -> None:
        """Write a rule down; the newest for a grant holds.

        Errors: ``SettingsError`` when it cannot be written down.
        """
        ...

    def revoke(self, grants: Collection[str], folders: Sequence[Path]) -> None:
        """Allow these there no longer; what is rejected stays so.

        Errors: ``SettingsError`` when that cannot be written down.
        """
        ...
