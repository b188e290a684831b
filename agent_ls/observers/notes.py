"""Turns events outside the steps into notes.

An event of an unknown kind becomes a plain note, so that nothing is left out.
"""

from __future__ import annotations

import json

from agent_ls.domain import events as ev
from agent_ls.domain.phases import Phase
from agent_ls.observers.trace import Note

_KNOWN = (
    ev.CallDecided,
    ev.PlanUpdated,
    ev.ApprovalResolved,
    ev.QuestionResolved,
    ev.EditApplied,
    ev.OutputStored,
)
"""Events without a plain note, because something else already shows them."""


def note_of(event: ev.Event, at_ms: int) -> Note | None:  # noqa: C901 - one arm for each kind of event
    """Return the note for an event; None if it needs none."""
    match event:
        case ev.GateFailed(origin=origin, text=text):
            return Note(at_ms, "gate", origin, text)
        case ev.NudgeAdded(origin=origin, text=text):
            return Note(at_ms, "nudge", origin, text)
        case ev.AdvisoryRaised(origin=origin, text=text):
            return Note(at_ms, "advisory", origin, text)
        case ev.RecoveryChosen(origin=origin, action=action, text=text, wait_s=wait_s):
            wait = f"after {wait_s:g} s" if wait_s else ""
            return Note(at_ms, f"recovery: {action}", origin, " ".join(filter(None, (wait, text))))
        case ev.Compacted():
            size = f"{event.before_tokens:,} → {event.after_tokens:,} tokens"
            return Note(
                at_ms, "compaction", event.origin, f"{size} ({event.why})\n\n{event.summary}"
            )
        case ev.FindingsReported():
            owed = [f"{name} still looks." for name in event.unanswered]
            text = "\n".join([*event.problems, *owed])
            return Note(at_ms, "findings", ", ".join(event.paths), text, event.findings)
        case ev.Moved(to=to, stop=stop, why=why):
            if to is not Phase.CLOSE:
                return None
            return Note(at_ms, "closing", stop.value if stop else "", why)
        case ev.GoalChecked(origin=origin, proofs=proofs):
            lines = (f"{'✓' if one.is_met else '✗'} {one.of}" for one in proofs)
            return Note(at_ms, "goal", origin, "\n".join(lines))
        case ev.PlanProposed(origin=origin, calls=calls):
            return Note(at_ms, "plan", origin, "\n".join(one.title for one in calls))
        case ev.PlanResolved():
            runs = f"{len(event.approved)} allowed as shown, {len(event.each)} one by one"
            more = f", {len(event.unasked)} without asking" if event.unasked else ""
            return Note(at_ms, "plan answered", "", runs + more)
        case ev.FinalOutputGiven(value=value):
            return Note(at_ms, "final output", "", json.dumps(value, indent=2, ensure_ascii=False))
        case ev.OutputStored(path=path, replaces=str()):
            return Note(at_ms, "conflict", ".".join(path), "overwrote what ran at the same time")
        case ev.GrantsRevoked(grants=grants, why=why):
            return Note(at_ms, "no longer allowed unasked", ", ".join(grants), why)
        case ev.EffectSimulated(what=what):
            return Note(at_ms, "dry run", "", what)
        case ev.MonitorAlerted(pattern=pattern, text=text):
            return Note(at_ms, "monitor", pattern, text)
        case ev.PromptQueued(text=text, kind=kind):
            return Note(at_ms, kind, "user", text)
        case ev.CancelRequested(by=by):
            return Note(at_ms, "cancel", by)
        case ev.ModeChanged(mode=mode):
            return Note(at_ms, "mode", "user", mode.value)
        case ev.ModelChanged(model=model):
            return Note(at_ms, "model", "user", model)
        case ev.EffortChanged(effort=effort):
            return Note(at_ms, "effort", "user", effort or "as the setting says")
        case ev.PrefixSet(reason=reason):
            return None if reason == "first" else Note(at_ms, "prefix", "prepare", reason)
        case ev.SessionResumed(interrupted_calls=calls):
            return Note(at_ms, "resumed", "session", f"interrupted calls: {len(calls)}")
        case _:
            return _other(event, at_ms)


def _other(event: ev.Event, at_ms: int) -> Note | None:
    if isinstance(event, _KNOWN):
        return None
    told = [getattr(event, name, "") for name in ("text", "why", "reason", "message")]
    text = next((one for one in told if isinstance(one, str) and one), "")
    return Note(at_ms, event.type, str(getattr(event, "origin", "")), text)
