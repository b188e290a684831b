"""What an event says about the worth of a step: exit codes, checkers, gates and judgements.

Source: S4, "Step Structure" (validation of a step).
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import JsonValue

from agent_ls.domain import events as ev
from agent_ls.domain.calls import ToolResult
from agent_ls.domain.confidence import judgement_in
from agent_ls.domain.evaluations import evaluation_in
from agent_ls.domain.hooks import HookPoint

_EVALUATES = "self_evaluation"
_JUDGES = ("confidence", _EVALUATES)
"""Policies whose side model says how sure it is."""
_MAX_FINDINGS = 20
_MAX_CHARS = 4_000

Item = dict[str, JsonValue]


def validations_in(event: ev.Event, command: str = "") -> Iterator[Item]:
    """Yield what an event adds to the validation of its step.

    ``command`` is that of a finished call, if it ran one.
    """
    match event:
        case ev.RecoveryChosen(origin=origin, action=action, text=text):
            yield {"recovery": origin, "action": action, "text": _cut(text)}
        case ev.GateFailed(origin=origin, text=text):
            yield {"gate": origin, "passed": False, "text": _cut(text)}
        case ev.GoalChecked():
            yield _of_goal(event)
        case ev.FindingsReported():
            yield _of_findings(event)
        case ev.HookRan(point=HookPoint.POST_EDIT, name=name, text=text):
            yield {"hook": name, "outcome": event.did, "text": _cut(text)}
        case ev.AdviceGiven(origin=origin, failure=None, text=text) if origin in _JUDGES:
            said = judgement_in(text)
            item: Item = {"judge": origin, "score": said.score, "text": _cut(said.reason)}
            if origin == _EVALUATES and not evaluation_in(text).completed:
                # Its confidence is how sure it is; the work has failed all the same.
                item |= {"completed": False, "score": 0.0}
            yield item
        case ev.ToolCallFinished(result=result):
            yield from _of_result(result, command)
        case _:
            pass


def _of_goal(event: ev.GoalChecked) -> Item:
    item: Item = {
        "goal": event.origin,
        "met": [one.of for one in event.proofs if one.is_met],
        "failed": [one.of for one in event.proofs if not one.is_met],
    }
    if codes := {one.of: one.exit_code for one in event.proofs if one.exit_code is not None}:
        item["exit_codes"] = dict[str, JsonValue](codes)
    judged = [one for one in event.proofs if one.by == "model" and one.evidence]
    if judged:
        item["reasons"] = {one.of: _cut(one.evidence) for one in judged}
    return item


def _of_findings(event: ev.FindingsReported) -> Item:
    return {
        "checked": list(event.paths),
        "count": len(event.findings),
        "findings": [
            f"{item.path}:{item.start_line + 1}: {item.checker} {item.code} {item.message}"
            for item in event.findings[:_MAX_FINDINGS]
        ],
        "problems": list(event.problems),
        "unanswered": list(event.unanswered),
    }


def _of_result(result: ToolResult, command: str) -> Iterator[Item]:
    match result.data:
        case {"exit_code": code} if not result.not_run:
            yield {"command": _cut(command), "exit_code": code, "outcome": result.outcome}
        case {"checkers": [*names], "new_findings": new}:
            yield {"checkers": names, "new_findings": new}
        case _:
            pass


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_CHARS else f"{text[: _MAX_CHARS - 1]}…"
