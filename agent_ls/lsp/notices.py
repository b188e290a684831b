"""Translates what policies, hooks and goals did to updates, most of them lines of the log.

Pure: the same event gives the same updates.
"""

from __future__ import annotations

from typing import Literal

from agent_ls.domain import events as e
from agent_ls.domain.hooks import HookOutcome
from agent_ls.lsp import wire

_COMPACTION = "compaction"
"""Of the notice that a compaction has been asked for; its outcome stands in its place."""
_SHORTEST = "The conversation is as short as it can be: the last answers stay as they are."


def of_policies(event: e.Event) -> list[wire.Update] | None:
    """Translate events of policies: gates, plans, rules, dry runs."""
    match event:
        case e.GateFailed():
            return [wire.GateFailedUpdate(origin=event.origin, text=event.text)]
        case e.PlanUpdated():
            entries = [wire.PlanEntry(content=one.text, status=one.status) for one in event.items]
            return [wire.PlanUpdate(entries=entries)]
        case e.PlanProposed():
            lines = "\n".join(f"- {one.title}" for one in event.calls)
            return [notice("info", event.origin, f"Added to the proposed plan:\n{lines}")]
        case e.AdvisoryRaised():
            return [notice("info", event.origin, event.text)]
        case e.GrantsRevoked():
            rules = ", ".join(event.grants)
            return [notice("info", "approval", f"No longer allowed unasked: {rules}. {event.why}")]
        case e.EffectSimulated():
            return [notice("info", "dry_run", f"Dry run, not done: {event.what}")]
        case e.CommandChangesLeftOut() | e.FilesLost():
            return [notice("warning", "review", event.text)]
        case e.PrefixSet() if event.reason != "first":
            return [notice("info", "prefix", f"The prompt's prefix changed: {event.reason}")]
        case _:
            return None


def of_outside(event: e.Event) -> list[wire.Update] | None:
    """Translate events of hooks, goals, background programs and monitors."""
    match event:
        case e.HookRan() if event.outcome is not HookOutcome.PASSED:
            is_broken = event.outcome in (HookOutcome.FAILED, HookOutcome.TIMED_OUT)
            words = f"{event.did}: {event.text}" if event.text else event.did
            level = "warning" if is_broken else "info"
            return [notice(level, f"hook {event.name}", words)]
        case e.BackgroundStarted():
            return [notice("info", "background", f"{event.text} Its command: {event.command}")]
        case e.BackgroundEnded():
            return [notice("info", "background", f"{event.name} {event.words}.")]
        case e.GoalCommandStarted():
            return [notice("info", "verification", f"Goal: {event.command} runs.")]
        case e.GoalChecked(proofs=(proof,), call_id=call_id) if call_id:
            words = f"Goal: {proof.of} {'passes' if proof.is_met else 'fails'}."
            return [notice("info", event.origin, words)]
        case e.GoalChecked():
            missing = [one.of for one in event.proofs if not one.is_met]
            words = f"Goal: {len(event.proofs) - len(missing)} of {len(event.proofs)} proven."
            more = f" Missing: {'; '.join(missing)}" if missing else ""
            return [notice("info", event.origin, words + more)]
        case e.MonitorAlerted():
            return [notice("warning", "external_monitor", event.text)]
        case _:
            return None


def of_requests(event: e.Event) -> list[wire.Update] | None:
    """Translate what the user asked of a session beside its prompts."""
    match event:
        case e.WrapUpRequested():
            return [notice("info", "wrap_up", f"Asked to come to an end by {event.by}.")]
        case e.CompactionRequested():
            return [notice("info", "compact", "Shortening the conversation", _COMPACTION)]
        case e.CompactionSettled():
            words = "" if event.is_shorter else _SHORTEST
            return [notice("info", "compact", words, _COMPACTION)]
        case _:
            return None


def notice(
    level: Literal["info", "warning", "error"],
    origin: str,
    text: str,
    notice_id: str = "",
    *,
    title: str = "",
) -> wire.NoticeUpdate:
    """Return a log line; one with an id replaces the earlier line with that id."""
    return wire.NoticeUpdate(
        level=level, origin=origin, text=text, title=title, notice_id=notice_id
    )


NO_COMPACTION = (notice("info", "compact", "", _COMPACTION),)
"""Takes the notice of a compaction back."""
