"""``trace``: prints each step's input, time, usage and calls, as lines or as JSON."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Iterator
from typing import Any

from agent_ls.cli.output import print_json
from agent_ls.cli.stored import open_stored
from agent_ls.domain.usage import Usage
from agent_ls.observers.call_summary import short, summary_of
from agent_ls.observers.report.words import money
from agent_ls.observers.trace import AttemptTrace, CallTrace, SessionTrace, StepTrace, TurnTrace
from agent_ls.observers.tracing import trace_of


def trace(arguments: argparse.Namespace) -> int:
    """Print the trace."""
    session = asyncio.run(_traced(arguments))
    if arguments.json:
        print_json(rows(session))
    else:
        sys.stdout.writelines(f"{line}\n" for line in lines(session))
    return 0


async def _traced(arguments: argparse.Namespace) -> SessionTrace:
    async with open_stored(arguments) as (_, journal):
        return trace_of(journal)


def lines(session: SessionTrace) -> Iterator[str]:
    """Yield the trace as a table for a user."""
    yield f"{session.session_id}  {session.model}  mode {session.mode}"
    for turn in session.turns:
        yield f"\n▶ {short(turn.prompt)}"
        for step in turn.steps:
            yield _line(step)
            for call in step.calls:
                about = summary_of(call.tool, call.arguments_json)
                took = f"{call.duration_ms} ms"
                yield f"        {call.outcome:<10} {took:>9}  {call.tool} {short(about, 60)}"
        usage = turn.usage
        yield (
            f"  {turn.status} ({turn.stop or 'not ended'}) after {turn.duration_ms / 1000:.1f} s, "
            f"{usage.total_tokens:,} tokens, {_money(usage)}"
        )


def _money(usage: Usage) -> str:
    return money(usage.cost_usd, of_tokens=usage.total_tokens)


def _line(step: StepTrace) -> str:
    usage = step.usage
    took = sum(one.duration_ms for one in step.attempts)
    hooks = f", hooks {step.hooks_ms} ms" if step.hooks else ""
    what = "closing words" if step.is_closing else f"{step.input.messages} messages"
    return (
        f"  {step.number:>3}  {step.finish or 'open':<12} {what}, "
        f"in {usage.input_tokens:,} (cached {usage.cache_read_tokens:,}), "
        f"out {usage.output_tokens:,}, {_money(usage)}, "
        f"model {took} ms, gap {step.gap_ms} ms{hooks}"
    )


def rows(session: SessionTrace) -> dict[str, Any]:
    """Return the trace for JSON, without the texts of prompts, answers and results."""
    return {
        **_fields(session, "session_id", "model", "mode", "usage"),
        "turns": [_turn(turn) for turn in session.turns],
    }


def _fields(record: object, *names: str) -> dict[str, Any]:
    """Return fields by name; the value of a name that ends in ``?`` is None if empty."""
    found: dict[str, Any] = {}
    for name in names:
        value: Any = getattr(record, name.removesuffix("?"))
        value = value.as_dict() if isinstance(value, Usage) else value
        found[name.removesuffix("?")] = (value or None) if name.endswith("?") else value
    return found


def _turn(turn: TurnTrace) -> dict[str, Any]:
    side = ("kind", "origin", "model?", "session_id?", "started_ms", "duration_ms", "failure?")
    return {
        **_fields(turn, "turn_id", "started_ms", "duration_ms", "status"),
        "stop_reason": turn.stop or None,
        "usage": turn.usage.as_dict(),
        "steps": [_step(step) for step in turn.steps],
        "waits": [
            {
                **_fields(wait, "kind", "asked_by", "call_id?", "started_ms", "duration_ms"),
                "answered_by": wait.answered_by,
                "answer": wait.answer if wait.kind == "approval" else None,
            }
            for wait in turn.waits
        ],
        "sides": [_fields(one, *side, "steps", "usage") for one in turn.sides],
        "notes": [_fields(note, "at_ms", "kind", "origin") for note in turn.notes],
    }


def _step(step: StepTrace) -> dict[str, Any]:
    return {
        **_fields(step, "step_id", "number", "is_closing", "started_ms", "duration_ms", "gap_ms"),
        "input": {
            **_fields(step.input, "messages", "estimated_tokens"),
            "slots": len(step.input.slots),
            "text_only": step.input.text_only,
        },
        "hooks_ms": step.hooks_ms,
        "hooks": [_fields(one, "name", "moment", "duration_ms", "outcome") for one in step.hooks],
        "finish_reason": step.finish or None,
        **_fields(step, "model", "usage"),
        "attempts": [_attempt(one) for one in step.attempts],
        "calls": [_call(one) for one in step.calls],
    }


def _attempt(one: AttemptTrace) -> dict[str, Any]:
    return {
        **_fields(one, "started_ms", "duration_ms"),
        "finish_reason": one.finish or None,
        **_fields(one, "failure?", "recovery?", "wait_s", "usage"),
    }


def _call(call: CallTrace) -> dict[str, Any]:
    edit = ("path", "status", "added_lines", "removed_lines")
    return {
        **_fields(call, "call_id", "tool"),
        "about": summary_of(call.tool, call.arguments_json),
        **_fields(call, "effect?", "decision", "decided_by", "outcome", "duration_ms"),
        "edits": [_fields(one, *edit) for one in call.edits],
    }
