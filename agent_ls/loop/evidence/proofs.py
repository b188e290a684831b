"""Tracks which parts of a goal are proven now, from the turn's events.

An applied edit or review decision, or any command that is not the goal's own, clears all proofs.
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
    TurnStarted,
)
from agent_ls.domain.goals import Goal, Proof
from agent_ls.domain.plain_json import object_in
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
        self._goal: Goal | None = None
        self._begun: set[str] = set()
        self._running: dict[str, ToolCallStarted] = {}

    def see(self, event: Event) -> None:
        match event:
            case TurnStarted(goal=goal):
                self._goal = goal
            case GoalCommandStarted(command=command):
                self._begun.add(command)
            case SessionResumed():
                self.cut_off |= self._begun
            case GoalChecked(proofs=checked):
                self.found.update((one.of, one) for one in checked)
                self._begun, self.cut_off = set(), set()
            case EditApplied(status="applied") | ReviewApplied(status="applied"):
                self.found.clear()
            case ToolCallStarted(call_id=call_id) as started:
                self._running[call_id] = started
            case ToolCallFinished():
                self._finished(event)
            case _:
                pass

    def _finished(self, event: ToolCallFinished) -> None:
        started = self._running.pop(event.result.call_id, None)
        if self._goal is None or event.effect not in (Effect.EXECUTE, Effect.DELEGATE):
            return
        proof = _by_call(self._goal, started, event)
        if proof is None:
            self.found.clear()
        else:
            self.found[proof.of] = proof


def unproven(view: TurnView) -> tuple[str, ...]:
    """Return the goal's commands and judged criteria without a proof since the last change."""
    goal = view.turn.goal
    if goal is None:
        return ()
    known = proofs(view)
    wanted = (*goal.commands, *goal.judged)
    return tuple(one for one in wanted if one not in known or not known[one].is_met)


def _by_call(
    goal: Goal, started: ToolCallStarted | None, finished: ToolCallFinished
) -> Proof | None:
    """Return what a call proved by running one of the goal's commands; None: it ran none."""
    if started is None:
        return None
    arguments = object_in(started.arguments_json)
    match arguments, finished.result.data:
        case {"command": str(command)}, {"exit_code": int(code)}:
            # A goal command counts only in the workspace folder, where the goal runs it.
            if command.strip() in goal.commands and arguments.get("cwd", ".") in ("", "."):
                return Proof(
                    of=command.strip(),
                    is_met=code == 0,
                    by="command",
                    evidence=finished.result.text[-_MAX_EVIDENCE_CHARS:],
                )
            return None
        case _:
            return None


_MAX_EVIDENCE_CHARS = 2_000
