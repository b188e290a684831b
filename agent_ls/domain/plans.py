"""The agent's plan: a full list, replaced as a whole."""

from __future__ import annotations

from enum import StrEnum

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
