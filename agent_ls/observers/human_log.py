"""The log for a person: one short line per thing that happened, as it happens.

Source: seed 002, human log (level 25). Deltas are not its business.
"""

from __future__ import annotations

import json
from typing import TextIO, cast

from agent_ls.domain import events as e
from agent_ls.safety.text import visible_line

_MAX_CHARS = 120
_MAIN_ARGUMENTS = ("path", "command", "pattern", "query", "question", "handle")


class HumanLog:
    """Writes the lines to a text stream."""

    def __init__(self, stream: TextIO, *, with_answers: bool = True) -> None:
        """Take where to write; without answers where these are shown as they stream."""
        self._stream = stream
        self._with_answers = with_answers
        self._tools: dict[str, str] = {}

    def on_event(self, stored: e.StoredEvent) -> None:
        """Write the event's line, if it has one."""
        if line := self._line(stored.event):
            self._stream.write(line + "\n")
            self._stream.flush()

    def on_ephemeral(self, session_id: str, piece: e.Ephemeral) -> None:
        """Streamed pieces are shown elsewhere."""

    def _line(self, event: e.Event) -> str:
        match event:
            case e.RequestPrepared():
                return f"→ step {event.number}: asking the model ({event.estimated_tokens} tokens)"
            case e.AttemptFinished():
                return _attempt(event)
            case e.RecoveryChosen():
                return f"↻ {event.origin}: {event.action} {_short(event.text)}"
            case e.Answered():
                self._tools |= {call.id: call.tool for call in event.message.calls}
                is_shown = self._with_answers and event.message.text
                return f"← {_short(event.message.text)}" if is_shown else ""
            case e.ToolCallStarted():
                return f"  {event.tool} {_summary(event.arguments_json)}"
            case e.ToolCallFinished():
                return self._result(event)
            case e.CallDecided(decision="deny"):
                return f"  denied by {event.origin}: {_short(event.reason)}"
            case _:
                return _rarer(event)

    def _result(self, event: e.ToolCallFinished) -> str:
        result = event.result
        sign = "✗" if result.error else "✓"
        name = self._tools.get(result.call_id, "call")
        return f"  {sign} {name} ({result.duration_ms} ms) {_short(result.text)}"


def _rarer(event: e.Event) -> str:
    """Return the line of what happens less than once a step."""
    match event:
        case e.TurnStarted():
            return f"● {_short(event.prompt)}"
        case e.SessionResumed():
            return f"● resumed; {len(event.interrupted_calls)} calls had been interrupted"
        case e.GateFailed():
            return f"! {event.origin}: {_short(event.text)}"
        case e.AdvisoryRaised():
            return f"! {event.origin}: {_short(event.text)}"
        case e.Compacted():
            return f"! compacted: {event.before_tokens} → {event.after_tokens} tokens"
        case e.FindingsReported():
            return "".join(f"! not checked: {_short(problem)}" for problem in event.problems)
        case e.CancelRequested():
            return f"■ stopping ({event.by})"
        case e.Moved(to="close"):
            return f"■ closing: {_short(event.why)}"
        case e.TurnEnded():
            return f"■ {event.status}: {event.stop}"
        case _:
            return ""


def _attempt(event: e.AttemptFinished) -> str:
    if event.failure:
        return f"✗ model: {event.failure}: {_short(event.message)}"
    usage = event.usage
    return (
        f"  model: {event.finish}, {usage.input_tokens} in ({usage.cache_read_tokens} cached), "
        f"{usage.output_tokens} out, ${usage.cost_usd:.4f}, {event.duration_ms} ms"
    )


def _summary(arguments_json: str) -> str:
    """Return the argument that says most of a call."""
    try:
        arguments = json.loads(arguments_json)
    except ValueError:
        return _short(arguments_json)
    if not isinstance(arguments, dict):
        return _short(arguments_json)
    known = cast("dict[str, object]", arguments)
    for name in _MAIN_ARGUMENTS:
        if name in known:
            return _short(str(known[name]))
    return ""


def _short(text: str) -> str:
    """Return a text's first line with everything odd in it made visible, cut to fit."""
    line = visible_line(text.strip().partition("\n")[0])
    return line if len(line) <= _MAX_CHARS else line[:_MAX_CHARS] + "…"
