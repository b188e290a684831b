"""Tracks which parts of a goal are proven now, from the turn's events.

An applied edit or review decision clears all proofs, and so does any command that may change
something: one that only looks does not, nor does one of the goal's own.
"""

from __future__ import annotations

from collections.abc import Mapping

from agent_ls.domain.calls import Effect
from agent_ls.domain.events import (
    EditApplied,
    Event,
    GoalChecked,
    GoalCommandStarted,
    ReviewApplied,
    SessionResumed,
    ToolCallFinished,
    ToolCallStarted,
)
from agent_ls.domain.goals import Proof
from agent_ls.loop.state.view import TurnView


def proofs(view: TurnView) -> Mapping[str, Proof]:
    """Return the newest proof of each command and criterion since the last change.

    Shape: by command or criterion text, met and failed. Empty without a goal.
    """
    return dict(view.turn.events.tallied(_Proven).found)


def cut_off_commands(view: TurnView) -> frozenset[str]:
    """Return the goal's commands that were running when a process died, until the next check."""
    return frozenset(view.turn.events.tallied(_Proven).cut_off)


class _Proven:
    def __init__(self) -> None:
        self.found: dict[str, Proof] = {}
        self.cut_off: set[str] = set()
        self._begun: set[str] = set()
        self._changes_nothing: set[str] = set()
        """Ids of calls that only look, or ran one of the goal's commands."""

    def see(self, event: Event) -> None:
        match event:
            case GoalCommandStarted(command=command):
                self._begun.add(command)
            case SessionResumed():
                self.cut_off |= self._begun
            case GoalChecked(proofs=checked, call_id=call_id):
                self.found.update((one.of, one) for one in checked)
                # A gate checks all commands, a call one.
                settled = {one.of for one in checked} if call_id else self._begun | self.cut_off
                self._begun, self.cut_off = self._begun - settled, self.cut_off - settled
                self._changes_nothing.add(call_id)
            case EditApplied(status="applied") | ReviewApplied(status="applied"):
                self.found.clear()
            case ToolCallStarted(reads_only=True, call_id=call_id):
                self._changes_nothing.add(call_id)
            case ToolCallFinished(effect=Effect.EXECUTE | Effect.DELEGATE, result=result):
                if result.call_id not in self._changes_nothing:
                    self.found.clear()
            case _:
                pass


def unproven(view: TurnView) -> tuple[str, ...]:
    """Return the goal's commands and judged criteria without a proof since the last change."""
    goal = view.turn.goal
    if goal is None:
        return ()
    known = proofs(view)
    wanted = (*goal.commands, *goal.judged)
    return tuple(one for one in wanted if one not in known or not known[one].is_met)
