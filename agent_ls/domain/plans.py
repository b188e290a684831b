"""The agent's plan, always replaced as a whole, and proposed calls."""

from __future__ import annotations

from enum import StrEnum

from agent_ls.domain.calls import ToolCall
from agent_ls.domain.record import Record


class PlanStatus(StrEnum):
    """Where one item stands."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    BLOCKED = "blocked"


class PlanItem(Record):
    """One line of the plan."""

    text: str
    status: PlanStatus = PlanStatus.PENDING

    @property
    def is_open(self) -> bool:
        """Say whether the agent still has to carry it out: neither completed nor blocked."""
        return self.status in (PlanStatus.PENDING, PlanStatus.IN_PROGRESS)


class ProposedCall(Record):
    """One call of a proposed plan, as the user sees it before it runs."""

    call: ToolCall
    title: str
    """One line."""
    payload: str = ""
    """What the call would do, as far as known: the diff, or the arguments."""
    digest: str = ""
    """Binds the approval to what was shown; empty when there was no preview."""
