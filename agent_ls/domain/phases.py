"""The seven phases of a turn, DONE, and the allowed transitions."""

from __future__ import annotations

from enum import StrEnum


class Phase(StrEnum):
    """Where a turn stands."""

    CHECK = "check"
    """May we take another step?"""
    COMPACT = "compact"
    """Can the context shrink enough?"""
    PREPARE = "prepare"
    """What exactly do we send?"""
    CALL = "call"
    """Did we get a usable response?"""
    ACT = "act"
    """Which calls may run, and what came of them?"""
    JUDGE = "judge"
    """Is the answer acceptable?"""
    CLOSE = "close"
    """What should the user be told?"""
    DONE = "done"


SUCCESSORS: dict[Phase, frozenset[Phase]] = {
    # To ACT for the calls that a custom command makes first.
    Phase.CHECK: frozenset({Phase.PREPARE, Phase.ACT, Phase.COMPACT, Phase.CLOSE, Phase.DONE}),
    Phase.COMPACT: frozenset({Phase.CHECK, Phase.CLOSE, Phase.DONE}),
    Phase.PREPARE: frozenset({Phase.CALL, Phase.DONE}),
    Phase.CALL: frozenset(
        {Phase.ACT, Phase.JUDGE, Phase.CHECK, Phase.COMPACT, Phase.CLOSE, Phase.DONE}
    ),
    Phase.ACT: frozenset({Phase.CHECK, Phase.JUDGE, Phase.DONE}),
    Phase.JUDGE: frozenset({Phase.CHECK, Phase.ACT, Phase.CLOSE, Phase.DONE}),
    Phase.CLOSE: frozenset({Phase.DONE}),
    Phase.DONE: frozenset(),
}
"""The transition table of moves. Cancellation and defects may go to DONE from any phase."""
