"""The events of which clients see a line in the log and no more."""

from __future__ import annotations

from typing import Literal

from agent_ls.domain import events as e
from agent_ls.domain.hooks import HookOutcome
from agent_ls.lsp import wire


def notice(
    level: Literal["info", "warning", "error"], origin: str, text: str, notice_id: str = ""
) -> wire.NoticeUpdate:
    """Return a line of the log, in the place of an earlier one with the same id if it has one."""
    return wire.NoticeUpdate(level=level, origin=origin, text=text, notice_id=notice_id)


def of_acting(
    event: e.OutputStored
    | e.PlanProposed
    | e.PlanResolved
    | e.FinalOutputGiven
    | e.GrantsRevoked
    | e.EffectSimulated
    | e.CommandChanged
    | e.CommandChangesLeftOut,
) -> list[wire.Update]:
    """Return what clients see of plans that wait, and of rules and effects that do not hold."""
    match event:
        case e.OutputStored() | e.FinalOutputGiven() | e.PlanResolved() | e.CommandChanged():
            # What commands changed is shown by the review.
            return []
        case e.CommandChangesLeftOut():
            return [notice("warning", "review", event.text)]
        case e.PlanProposed():
            lines = "\n".join(f"- {one.title}" for one in event.calls)
            return [notice("info", event.origin, f"Added to the proposed plan:\n{lines}")]
        case e.GrantsRevoked():
            rules = ", ".join(event.grants)
            return [notice("info", "approval", f"No longer allowed unasked: {rules}. {event.why}")]
        case e.EffectSimulated():
            return [notice("info", "dry_run", f"Dry run, not done: {event.what}")]


def of_outside(
    event: e.HookRan | e.GoalCommandStarted | e.GoalChecked | e.WrapUpRequested | e.MonitorAlerted,
) -> list[wire.Update]:
    """Tell of what came from elsewhere than the model and its calls."""
    match event:
        case e.HookRan():
            return _of_hook(event)
        case e.GoalCommandStarted() | e.GoalChecked():
            return [_of_goal(event)]
        case e.WrapUpRequested():
            return [notice("info", "wrap_up", f"Asked to come to an end by {event.by}.")]
        case e.MonitorAlerted():
            return [notice("warning", "external_monitor", event.text)]


def _of_hook(event: e.HookRan) -> list[wire.Update]:
    """Tell of a hook that did something, or that did not work."""
    if event.outcome is HookOutcome.PASSED:
        return []
    level = "warning" if event.outcome in (HookOutcome.FAILED, HookOutcome.TIMED_OUT) else "info"
    words = f"{event.did}: {event.text}" if event.text else event.did
    return [notice(level, f"hook {event.name}", words)]


def _of_goal(event: e.GoalCommandStarted | e.GoalChecked) -> wire.NoticeUpdate:
    """Say what is run for the goal, and how much of it holds."""
    if isinstance(event, e.GoalCommandStarted):
        return notice("info", "verification", f"Goal: {event.command} runs.")
    missing = [one.of for one in event.proofs if not one.is_met]
    met = len(event.proofs) - len(missing)
    words = f"Goal: {met} of {len(event.proofs)} proven."
    return notice(
        "info", event.origin, f"{words} Missing: {'; '.join(missing)}" if missing else words
    )
