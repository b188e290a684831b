"""Drives one turn of agent-ls as an editor would: the way for other programs to measure it.

    python benchmarks/peer.py --endpoint http://127.0.0.1:8791/v1 --workspace DIR "Do this"

starts ``agent-ls serve``, opens the folder over LSP, sends the prompt by
``workspace/executeCommand``, and exits when the server reports the end of the turn and has shut
down. What the server is started with and the environment of this process are the same, so a
measuring program decides on home, path and network. Prints one line of JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

if not __package__:
    # Started by its path, from anywhere.
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.editor import Editor
from benchmarks.places import AGENT_LS, REPOSITORY

# A measured session is longer than what a user lets a turn cost without being asked.
UNLIMITED = (
    "policies.step_limit.max_steps=0",
    "policies.call_limit.max_calls=0",
    "policies.budget.max_tokens=0",
    "policies.budget.max_cost_usd=0",
)


@dataclass(frozen=True)
class Driven:
    """When things happened, by the machine's monotonic clock, and how the turn ended."""

    spawned_at: float
    prompted_at: float
    ended_at: float
    """The server reported the end of the turn."""
    exited_at: float
    exit_code: int
    said: str
    """The words of that report."""


def variables(endpoint: str, *, model: str, key: str, mode: str) -> dict[str, str]:
    """Return the environment that makes a server use this endpoint."""
    return {
        "AGENT_LS_API_BASE": endpoint,
        "AGENT_LS_API_KEY": key,
        "AGENT_LS_MODEL": model,
        "AGENT_LS_MODE": mode,
    }


def command(settings: tuple[str, ...] = UNLIMITED) -> list[str]:
    """Return how the server is started."""
    return [*AGENT_LS, "serve", *(word for one in settings for word in ("--set", one))]


def drive(
    root: Path, prompt: str, env: Mapping[str, str], *, limit_s: float, warm_up_s: float = 0.0
) -> Driven:
    """Carry out one prompt in a server of its own, that has been up for so long."""
    editor = Editor(command(), root, env=env)
    try:
        editor.initialize()
        editor.read_for(warm_up_s)
        prompted_at = time.monotonic()
        token = str(editor.execute("agent-ls.prompt", {"text": prompt})["turnId"])
        editor.until(lambda: token in editor.ended, limit_s, "the end of the turn")
        ended_at = time.monotonic()
        code = editor.close()
        return Driven(
            spawned_at=editor.started_at,
            prompted_at=prompted_at,
            ended_at=ended_at,
            exited_at=time.monotonic(),
            exit_code=code,
            said=editor.ended[token],
        )
    finally:
        editor.kill()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("prompt")
    parser.add_argument("--endpoint", required=True, help="base URL, /v1 included")
    # One whose window is known: without it, a long conversation is shortened by its length alone.
    parser.add_argument("--model", default="openai/scripted", help="a litellm model name")
    parser.add_argument("--key", default="none")
    parser.add_argument("--mode", default="auto")
    parser.add_argument("--workspace", type=Path, default=Path())
    parser.add_argument("--limit-s", type=float, default=170, help="end after so many seconds")
    parser.add_argument("--warm-up-s", type=float, default=0, help="wait before the prompt")
    options = parser.parse_args()
    found = variables(options.endpoint, model=options.model, key=options.key, mode=options.mode)
    env = {**os.environ, **found, "PYTHONPATH": str(REPOSITORY)}
    driven = drive(
        options.workspace.resolve(),
        options.prompt,
        env,
        limit_s=options.limit_s,
        warm_up_s=options.warm_up_s,
    )
    print(json.dumps(asdict(driven)))
    return driven.exit_code


if __name__ == "__main__":
    raise SystemExit(main())
