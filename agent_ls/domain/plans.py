"""The agent's plan: a full list, replaced as a whole."""

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
    """One call of a proposed plan, as the person sees it before anything of it runs."""

    call: ToolCall
    title: str
    """One line."""
    payload: str = ""
    """What exactly it would do as far as that is known yet: the diff, or the arguments."""
    digest: str = ""
    """Binds the person's yes to what was shown; empty when it could not be told beforehand."""
