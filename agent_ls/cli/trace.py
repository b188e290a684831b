"""``trace``: what each step of a session was sent, took, used and did, as lines or as JSON."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Iterator
from typing import Any

from agent_ls.cli.stored import open_stored
from agent_ls.domain.errors import AgentLsError
from agent_ls.domain.stops import EXIT_CONFIGURATION
from agent_ls.domain.usage import Usage
from agent_ls.observers.call_summary import short, summary_of
from agent_ls.observers.report.words import money
from agent_ls.observers.trace import AttemptTrace, CallTrace, SessionTrace, StepTrace, TurnTrace
from agent_ls.observers.tracing import trace_of


def trace(arguments: argparse.Namespace) -> int:
    """Print the trace."""
    try:
        session = asyncio.run(_traced(arguments))
    except AgentLsError as error:
        sys.stderr.write(f"agent-ls: {error}\n")
        return EXIT_CONFIGURATION
    if arguments.json:
        sys.stdout.write(json.dumps(rows(session), indent=2, ensure_ascii=False) + "\n")
    else:
        sys.stdout.writelines(f"{line}\n" for line in lines(session))
    return 0


async def _traced(arguments: argparse.Namespace) -> SessionTrace:
    async with open_stored(arguments) as (_, journal):
        return trace_of(journal)


def lines(session: SessionTrace) -> Iterator[str]:
    """Yield the trace as a table for a person."""
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
    """Return the trace as values for JSON; texts of prompts, answers and results stay out."""
    return {
        "session_id": session.session_id,
        "model": session.model,
        "mode": session.mode,
        "usage": session.usage.told(),
        "turns": [_turn(turn) for turn in session.turns],
    }


def _turn(turn: TurnTrace) -> dict[str, Any]:
    return {
        "turn_id": turn.turn_id,
        "started_ms": turn.started_ms,
        "duration_ms": turn.duration_ms,
        "status": turn.status,
        "stop_reason": turn.stop or None,
        "usage": turn.usage.told(),
        "steps": [_step(step) for step in turn.steps],
        "waits": [
            {
                "kind": wait.kind,
                "asked_by": wait.asked_by,
                "call_id": wait.call_id or None,
                "started_ms": wait.started_ms,
                "duration_ms": wait.duration_ms,
                "answered_by": wait.answered_by,
                "answer": wait.answer if wait.kind == "approval" else None,
            }
            for wait in turn.waits
        ],
        "sides": [
            {
                "kind": side.kind,
                "origin": side.origin,
                "model": side.model or None,
                "session_id": side.session_id or None,
                "started_ms": side.started_ms,
                "duration_ms": side.duration_ms,
                "failure": side.failure or None,
                "steps": side.steps,
                "usage": side.usage.told(),
            }
            for side in turn.sides
        ],
        "notes": [
            {"at_ms": note.at_ms, "kind": note.kind, "origin": note.origin} for note in turn.notes
        ],
    }


def _step(step: StepTrace) -> dict[str, Any]:
    return {
        "step_id": step.step_id,
        "number": step.number,
        "is_closing": step.is_closing,
        "started_ms": step.started_ms,
        "duration_ms": step.duration_ms,
        "gap_ms": step.gap_ms,
        "input": {
            "messages": step.input.messages,
            "estimated_tokens": step.input.estimated_tokens,
            "slots": len(step.input.slots),
            "text_only": step.input.text_only,
        },
        "hooks_ms": step.hooks_ms,
        "hooks": [
            {
                "name": one.name,
                "moment": one.moment,
                "duration_ms": one.duration_ms,
                "outcome": one.outcome,
            }
            for one in step.hooks
        ],
        "finish_reason": step.finish or None,
        "model": step.model,
        "usage": step.usage.told(),
        "attempts": [_attempt(one) for one in step.attempts],
        "calls": [_call(one) for one in step.calls],
    }


def _attempt(one: AttemptTrace) -> dict[str, Any]:
    return {
        "started_ms": one.started_ms,
        "duration_ms": one.duration_ms,
        "finish_reason": one.finish or None,
        "failure": one.failure or None,
        "recovery": one.recovery or None,
        "wait_s": one.wait_s,
        "usage": one.usage.told(),
    }


def _call(call: CallTrace) -> dict[str, Any]:
    return {
        "call_id": call.call_id,
        "tool": call.tool,
        "about": summary_of(call.tool, call.arguments_json),
        "effect": call.effect or None,
        "decision": call.decision,
        "decided_by": call.decided_by,
        "outcome": call.outcome,
        "duration_ms": call.duration_ms,
        "edits": [
            {
                "path": one.path,
                "status": one.status,
                "added_lines": one.added_lines,
                "removed_lines": one.removed_lines,
            }
            for one in call.edits
        ],
    }
