"""How much may happen without asking."""

from __future__ import annotations

from enum import StrEnum


class Mode(StrEnum):
    """The permission modes, from the most careful to the freest."""

    PLAN = "plan"
    """Reads run; writes and commands are refused and belong into the plan."""
    ASK_ALL = "ask-all"
    """Everything asks, reads too, one after the other."""
    ASK = "ask"
    """Reads and read-only commands run; edits and other commands ask."""
    ACCEPT_EDITS = "accept-edits"
    """Edits run too; commands that are not read-only ask."""
    AUTO = "auto"
    """Everything runs but what always asks."""


_STRICTEST_FIRST = tuple(Mode)


def strictest(one: Mode, other: Mode) -> Mode:
    """Return the mode that allows less."""
    return min(one, other, key=_STRICTEST_FIRST.index)
