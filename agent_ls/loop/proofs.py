"""What of a goal is proven now: counted from the turn's events, for checks, gates and observers.

A proof holds until something may have changed: an applied edit, or a command that is none of the
goal's own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from agent_ls.domain.calls import Effect
from agent_ls.domain.events import EditApplied, GoalChecked, ToolCallFinished, ToolCallStarted
from agent_ls.domain.goals import Goal, Proof
from agent_ls.loop.view import TurnView


def proofs(view: TurnView) -> Mapping[str, Proof]:
    """Return the newest word on each command and criterion since the last change.

    Shape: by command or criterion text, met and failed ones. Empty without a goal.
    """
    goal = view.turn.goal
    if goal is None:
        return {}
    found: dict[str, Proof] = {}
    running: dict[str, ToolCallStarted] = {}
    for stored in view.turn.events:
        match stored.event:
            case GoalChecked(proofs=checked):
                found.update((one.of, one) for one in checked)
            case EditApplied(status="applied"):
                found.clear()
            case ToolCallStarted(call_id=call_id) as started:
                running[call_id] = started
            case ToolCallFinished(effect=Effect.EXECUTE | Effect.DELEGATE) as event:
                proof = _by_call(goal, running.get(event.result.call_id), event)
                if proof is None:
                    found.clear()
                else:
                    found[proof.of] = proof
            case _:
                pass
    return found


def unproven(view: TurnView) -> tuple[str, ...]:
    """Return the goal's commands and judged criteria that are not proven since the last change."""
    goal = view.turn.goal
    if goal is None:
        return ()
    known = proofs(view)
    wanted = (*goal.commands, *goal.judged)
    return tuple(one for one in wanted if one not in known or not known[one].is_met)


def _by_call(
    goal: Goal, started: ToolCallStarted | None, finished: ToolCallFinished
) -> Proof | None:
    """Return what a call proved by running one of the goal's commands; None: another call."""
    if started is None:
        return None
    try:
        arguments = json.loads(started.arguments_json or "{}")
    except ValueError:
        return None
    match arguments, finished.result.data:
        case {"command": str(command)}, {"exit_code": int(code)}:
            # The goal's commands run in the workspace's folder; elsewhere they prove nothing.
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
