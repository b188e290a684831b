"""Conversations on both ends of the pipe, so that each request carries only what is new.

The two halves mirror each other: the server's says which messages the host still has, the host's
puts conversation and news together. They agree because orders arrive in the order they were sent;
a new host process starts both afresh.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from agent_ls.domain.messages import Message

SLOTS: Final = 8
"""How many conversations are remembered: a turn, its sub-agents, a summary."""


class SentHistories:
    """What the host was sent."""

    def __init__(self) -> None:
        self._slots: dict[int, Sequence[Message]] = {}
        """Oldest use first."""

    def place(self, messages: Sequence[Message]) -> tuple[int, int]:
        """Return the slot to use, and how many of its messages these begin with.

        Invariant: what is returned is sent, and sent before the next call.
        """
        kept, slot = max(
            ((_common(sent, messages), slot) for slot, sent in self._slots.items()),
            default=(0, 0),
        )
        if not kept:
            slot = len(self._slots) if len(self._slots) < SLOTS else next(iter(self._slots))
        self._slots.pop(slot, None)
        self._slots[slot] = messages
        return slot, kept


class ReceivedHistories:
    """What the server sent."""

    def __init__(self) -> None:
        self._slots: dict[int, tuple[Message, ...]] = {}

    def join(self, slot: int, kept: int, news: Sequence[Message]) -> tuple[Message, ...]:
        """Return the whole conversation, and remember it.

        Errors: ``LookupError`` when the halves disagree.
        """
        known = self._slots.get(slot, ())
        if kept > len(known):
            raise LookupError(f"slot {slot} has {len(known)} messages, not {kept}")
        self._slots[slot] = (*known[:kept], *news)
        return self._slots[slot]


def _common(sent: Sequence[Message], messages: Sequence[Message]) -> int:
    """Return how many messages both begin with; the same objects, which is quick to see."""
    count = 0
    for one, other in zip(sent, messages, strict=False):
        if one is not other:
            break
        count += 1
    return count
