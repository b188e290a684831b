"""Warns once that a cost limit cannot hold, because the model's price is unknown."""

from __future__ import annotations

from collections.abc import Callable

from agent_ls.domain.events import AttemptFinished, Ephemeral, StoredEvent


class UnpricedBudget:
    """A reader that warns if a cost limit is set and a model's price is unknown."""

    def __init__(self, say: Callable[[str], None], limit_usd: float = 0.0) -> None:
        """``say`` prints the warning; ``limit_usd`` is the cost limit, 0 for none."""
        self.limit_usd = limit_usd
        self._say = say
        self._is_told = False

    def on_event(self, stored: StoredEvent) -> None:
        """Warn at the first attempt whose price is unknown."""
        event = stored.event
        if self._is_told or not self.limit_usd or not isinstance(event, AttemptFinished):
            return
        if event.usage.known_cost_usd is None:
            self._is_told = True
            self._say(
                f"The limit of {self.limit_usd:,.2f} USD does not hold: no price is known for this "
                "model. Give its prices in provider.models, or limit policies.budget.max_tokens."
            )

    def on_ephemeral(self, session_id: str, piece: Ephemeral) -> None:
        """Ignore streamed pieces."""
