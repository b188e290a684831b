"""How much may happen without asking."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Mode(StrEnum):
    """The permission modes, from the most careful to the freest."""

    PLAN = "plan"
    """Reads run; writes and commands are refused and belong into the plan."""
    ASK_ALL = "ask-all"
    """Everything asks, reads too, one after the other."""
    ASK = "ask"
    """Reads run, and in the sandbox what looks, tests and builds; edits and other commands ask."""
    ACCEPT_EDITS = "accept-edits"
    """Edits run too, by tools and by commands in the sandbox; other commands ask."""
    AUTO = "auto"
    """Everything runs but what always asks."""


MODE_WORDS: Mapping[Mode, tuple[str, str]] = {
    Mode.PLAN: ("Plan", "Reads and plans; changes nothing."),
    Mode.ASK_ALL: ("Ask always", "Asks before everything, reading too."),
    Mode.ASK: (
        "Ask",
        "Asks before edits. Tests, builds and scripts run unasked in the sandbox, where their "
        "changes of the workspace are under review; other commands ask.",
    ),
    Mode.ACCEPT_EDITS: (
        "Accept edits",
        "Edits by itself, also by commands such as mv, rm and git commit in the sandbox. Asks "
        "before what may lose work, installs or publishes.",
    ),
    Mode.AUTO: ("Auto", "Asks only for what is always asked."),
}
"""What a user reads about each mode: its name, and what it does. The same in every face."""

_STRICTEST_FIRST = tuple(Mode)


def strictest(one: Mode, other: Mode) -> Mode:
    """Return the mode that allows less."""
    return min(one, other, key=_STRICTEST_FIRST.index)
