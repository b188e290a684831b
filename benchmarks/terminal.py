"""How long a user at a terminal waits for the first frame, and for the first request of a task.

    python -m benchmarks.terminal [--repetitions 7] [--json]

Times run from the spawn: to the first words that a pseudo-terminal shows, and to the first byte
that the model gets of `agent-ls run`. The bare interpreter is started in turn with them.
"""

from __future__ import annotations

import argparse
import os
import pty
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from benchmarks.figures import Figure, finish, median
from benchmarks.machine import private_environment
from benchmarks.model import Plan, RunningModel
from benchmarks.places import AGENT_LS

_FIRST_WORDS = b"starting"
_LIMIT_S = 60.0


def measure(repetitions: int) -> list[Figure]:
    """Return the median milliseconds, and their ratio to the bare interpreter's."""
    floor: list[float] = []
    frames: list[float] = []
    with tempfile.TemporaryDirectory(prefix="agent-ls-bench-") as name:
        place = Path(name).resolve()
        shop = place / "shop"
        shop.mkdir()
        for number in range(100):
            (shop / f"file{number}.py").write_text("x = 1\n")
        with RunningModel(Plan([]), place) as model:
            env = {**private_environment(place), "AGENT_LS_SANDBOX": "off", "TERM": "xterm"}
            env |= {"AGENT_LS_MODEL": "openai/scripted", "AGENT_LS_API_BASE": model.base_url}
            # The first of each only fills the caches of the machine.
            for _ in range(repetitions + 1):
                floor.append(_bare_ms(env))
                frames.append(_first_frame_ms(shop, env))
            begun = [_run(shop, env) for _ in range(repetitions + 1)]
            seen = sorted(one.first_byte_at for one in model.finish())
    asked = [(next(at for at in seen if at > one) - one) * 1_000 for one in begun[1:]]
    bare, frame = median(floor[1:]), median(frames[1:])
    against = "the bare interpreter, median"
    return [
        Figure("bare interpreter", bare, "ms"),
        Figure("first frame", frame, "ms", goal=300),
        Figure("first frame", frame / bare, "×", against=against),
        Figure("first request of a task", median(asked), "ms", goal=1_000),
        Figure("first request of a task", median(asked) / bare, "×", against=against),
    ]


def _bare_ms(env: Mapping[str, str]) -> float:
    begun_s = time.monotonic()
    subprocess.run([sys.executable, "-c", "pass"], env=env, check=True)
    return (time.monotonic() - begun_s) * 1_000


def _run(shop: Path, env: Mapping[str, str]) -> float:
    """Carry out a task of one answer; return when it was started."""
    begun_s = time.monotonic()
    command = [*AGENT_LS, "run", "Say that you are done.", "--quiet"]
    subprocess.run(
        command, cwd=shop, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=True
    )
    return begun_s


def _first_frame_ms(shop: Path, env: Mapping[str, str]) -> float:
    begun_s = time.monotonic()
    process, terminal = pty.fork()
    if process == 0:
        try:
            os.chdir(shop)
            os.execve(AGENT_LS[0], list(AGENT_LS), dict(env))
        finally:
            os._exit(127)
    shown = b""
    try:
        while _FIRST_WORDS not in shown:
            left_s = begun_s + _LIMIT_S - time.monotonic()
            if not select.select([terminal], [], [], max(left_s, 0))[0]:
                raise RuntimeError(f"no first frame: {shown!r}")
            shown += os.read(terminal, 65_536)
        return (time.monotonic() - begun_s) * 1_000
    except OSError as error:
        raise RuntimeError(f"it ended without a first frame: {shown!r}") from error
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        os.close(terminal)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    return finish("terminal", measure(options.repetitions), as_json=options.json)


if __name__ == "__main__":
    raise SystemExit(main())
