"""Folds a turn's events into the turn's state. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TypeVar

from agent_ls.domain import events as e
from agent_ls.domain.calls import Effect, ToolResult
from agent_ls.domain.messages import UserMessage
from agent_ls.domain.phases import Phase
from agent_ls.loop.state.state import CallState, TouchedFile, TurnState, with_changes

V = TypeVar("V")


def fold_turn(turn: TurnState, event: e.Event) -> TurnState:
    """Return the turn's state after one more event."""
    match event:
        case e.Moved():
            return with_changes(
                turn,
                phase=event.to,
                is_declined=False,
                stop=event.stop or turn.stop,
                why=event.why or turn.why,
                text_only=event.text_only if event.to is Phase.PREPARE else turn.text_only,
                recovers=event.recovers if event.to is Phase.COMPACT else turn.recovers,
            )
        case e.RequestPrepared():
            return with_changes(
                turn,
                request=event,
                step_id=event.step_id,
                step_number=event.number,
                answer=None,
                reasks=(),
                # A step without an answer passes its partial text on to the next step.
                partial_text="" if turn.answer is not None else turn.partial_text,
            )
        case e.AttemptFinished() | e.AdviceGiven():
            return with_changes(turn, usage=turn.usage + event.usage)
        case e.RecoveryChosen():
            return _fold_recovery(turn, event)
        case e.Answered():
            return with_changes(
                turn,
                answer=event.message,
                calls=tuple(CallState(call) for call in event.message.calls),
                reasks=(),
                due_calls=(),
            )
        case e.PlanProposed():
            return _fold_proposal(turn, event)
        case e.PlanResolved():
            return _fold_plan(turn, event)
        case e.FinalOutputGiven():
            return with_changes(turn, final_output=event)
        case e.TurnEnded():
            return with_changes(turn, phase=Phase.DONE, stop=event.stop, ended=event)
        case _:
            return _fold_call(turn, event)


def _fold_recovery(turn: TurnState, event: e.RecoveryChosen) -> TurnState:
    match event.action:
        case "reask":
            told = UserMessage(text=event.text, origin=event.origin)
            return with_changes(turn, reasks=(*turn.reasks, told))
        case "continue":
            return with_changes(turn, partial_text=turn.partial_text + event.partial, reasks=())
        case "switch_model":
            return with_changes(turn, model=event.model)
        case "fail_step":
            return with_changes(turn, model=turn.limits.model)
        case _:
            return turn


def _fold_call(turn: TurnState, event: e.Event) -> TurnState:
    match event:
        case e.ResumeDeclined():
            return with_changes(turn, is_declined=True)
        case e.EditIntended():
            return with_changes(turn, intents=with_entry(turn.intents, event.edit.path, event))
        case e.EditApplied():
            return _fold_edit(turn, event)
        case e.ReviewApplied(status="applied") if event.path in turn.touched:
            first = turn.touched[event.path]
            after = replace(first, after_blob=event.after_blob)
            return with_changes(turn, touched=with_entry(turn.touched, event.path, after))
        case e.CommandChanged():
            return _fold_command_change(turn, event)
        case e.ChildEnded():
            return _fold_child(turn, event)
        case e.ToolCallStarted():
            return _with_call(turn, event.call_id, effect=event.effect)
        case e.ToolCallFinished():
            return _with_call(turn, event.result.call_id, result=event.result)
        case _:
            return turn


def _fold_child(turn: TurnState, event: e.ChildEnded) -> TurnState:
    touched = dict(turn.touched)
    for file in event.files:
        first = touched.get(file.path)
        first = first or TouchedFile(file.before_blob, file.before_blob)
        touched[file.path] = first.changed(file.before_blob, file.after_blob)
    return with_changes(turn, usage=turn.usage + event.usage, touched=MappingProxyType(touched))


def _fold_proposal(turn: TurnState, event: e.PlanProposed) -> TurnState:
    """Add proposed calls; calls that are already proposed (a rerun) are ignored."""
    known = {one.call.id for plan in turn.proposals for one in plan.calls}
    if all(one.call.id in known for one in event.calls):
        return turn
    return with_changes(turn, proposals=(*turn.proposals, event))


def _fold_plan(turn: TurnState, event: e.PlanResolved) -> TurnState:
    plans = [plan for plan in turn.proposals if plan.plan_id == event.plan_id]
    decided = [one for plan in plans for one in plan.calls]
    runs = {*event.approved, *event.each, *event.unasked}
    allowed = dict(zip(event.approved, event.digests, strict=False))
    return with_changes(
        turn,
        proposals=tuple(plan for plan in turn.proposals if plan.plan_id != event.plan_id),
        allowed_calls=MappingProxyType({**turn.allowed_calls, **allowed}),
        released_calls=turn.released_calls | set(event.each),
        due_calls=(*turn.due_calls, *(one.call for one in decided if one.call.id in runs)),
    )


def _fold_edit(turn: TurnState, event: e.EditApplied) -> TurnState:
    """Clear the edit's intent, and keep the content from before the turn's first touch."""
    intent = turn.intents.get(event.path)
    turn = with_changes(turn, intents=without_entry(turn.intents, event.path))
    if event.status != "applied" or intent is None:
        return turn
    first = turn.touched.get(event.path) or TouchedFile(intent.before_blob, intent.before_blob)
    touched = dict(turn.touched)
    touched[event.path] = first.changed(intent.before_blob, event.after_blob)
    if intent.edit.kind == "move":
        # The old path has no file now. The new path had none before, unless the file moves back.
        touched[event.path] = TouchedFile(first.before_blob, None)
        known = touched.get(intent.edit.new_path)
        was = known.before_blob if known else None
        touched[intent.edit.new_path] = TouchedFile(was, event.after_blob)
    return with_changes(turn, touched=MappingProxyType(touched))


def _fold_command_change(turn: TurnState, event: e.CommandChanged) -> TurnState:
    """Record what a command did to a text, unless the content before is unknown."""
    if event.images is not None:
        # Checkers, diffs and reports handle texts only; binary files appear only in the review.
        return turn
    first = turn.touched.get(event.path)
    if first is None and not event.is_before_known:
        return turn
    first = first or TouchedFile(event.before_blob, event.before_blob)
    changed = first.changed(event.before_blob, event.after_blob)
    touched = {**turn.touched, event.path: changed}
    return with_changes(turn, touched=MappingProxyType(touched))


def _with_call(
    turn: TurnState,
    call_id: str,
    *,
    effect: Effect | None = None,
    result: ToolResult | None = None,
) -> TurnState:
    calls = tuple(
        replace(
            one,
            effect=effect or one.effect,
            # The first result is the only one.
            result=one.result or result,
        )
        if one.call.id == call_id
        else one
        for one in turn.calls
    )
    return with_changes(turn, calls=calls)


def with_entry(mapping: Mapping[str, V], key: str, value: V) -> Mapping[str, V]:
    """Return a copy of the mapping with ``key`` set to ``value``."""
    return MappingProxyType({**mapping, key: value})


def without_entry(mapping: Mapping[str, V], key: str) -> Mapping[str, V]:
    """Return a copy of the mapping without ``key``."""
    return MappingProxyType({k: v for k, v in mapping.items() if k != key})
