"""Reads lines by a pattern of the person's own, in a process that can be ended."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from agent_ls.checkers.command_output import Said, of_groups, plain_lines
from agent_ls.checkers.process import run_program

_WORKER = Path(__file__).with_name("pattern_worker.py")
_LIMIT_S = 10.0
_MAX_SHOWN = 200
_MAX_REASON = 500


async def read_by_pattern(output: str, pattern: str, timeout_s: float) -> list[Said]:
    """Return what the lines say that match, after 10 s or ``timeout_s`` at the latest.

    Errors: ``ValueError`` with the reason.
    """
    limit_s = min(timeout_s, _LIMIT_S)
    outcome = await run_program(
        # -I and -S: nothing of the folder or the environment is imported.
        [sys.executable, "-I", "-S", _WORKER],
        cwd=_WORKER.parent,
        path="",
        stdin=await asyncio.to_thread(_request, output, pattern),
        timeout_s=limit_s,
    )
    shown = pattern if len(pattern) <= _MAX_SHOWN else f"{pattern[:_MAX_SHOWN]}…"
    match outcome.end:
        case "timed_out":
            raise ValueError(
                f"its pattern {shown} took longer than {limit_s:g} s with what it printed. Let no "
                "repeat hold another that fits the same text, such as (a+)+."
            )
        case "too_much":
            raise ValueError(f"its pattern {shown} finds more than can be read.")
        case "exited" if outcome.exit_code == 0:
            return await asyncio.to_thread(_said, outcome.stdout)
        case _:
            why = outcome.stderr.strip()[-_MAX_REASON:]
            raise ValueError(f"what it printed could not be read by its pattern {shown}: {why}")


def _request(output: str, pattern: str) -> str:
    return json.dumps({"pattern": pattern, "lines": plain_lines(output)})


def _said(printed: str) -> list[Said]:
    return [of_groups(json.loads(line)) for line in printed.splitlines()]
