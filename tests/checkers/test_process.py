"""A checker's program is run without a trace: no key goes in, no process stays behind."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import psutil
import pytest

from agent_ls.checkers.process import ProgramOutcome, run_program

# Starts a child that would live for ever, tells its number, and then waits for ever itself.
FAMILY = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(child.pid, file=open(sys.argv[1], "w"), flush=True)
child.wait()
"""


async def check(
    tmp_path: Path, script: str, *arguments: str, stdin: str = "", timeout_s: float = 60
) -> ProgramOutcome:
    """Run a Python script as a checker would be run."""
    return await run_program(
        [sys.executable, "-c", script, *arguments],
        cwd=tmp_path, path=os.environ["PATH"], stdin=stdin, timeout_s=timeout_s,
    )  # fmt: skip


async def child_of(told: Path) -> int:
    """Return the number of a process, which may have ended by now."""
    async with asyncio.timeout(60):
        while not (told.exists() and told.read_text().strip()):  # noqa: ASYNC110 - a file
            await asyncio.sleep(0.01)
    return int(told.read_text())


def is_dead(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


async def gone(pid: int) -> None:
    async with asyncio.timeout(60):
        while not is_dead(pid):  # noqa: ASYNC110 - a process
            await asyncio.sleep(0.01)


async def test_input_goes_in_and_both_outputs_come_out(tmp_path: Path) -> None:
    script = "import sys; print(sys.stdin.read()); print('é', file=sys.stderr); sys.exit(3)"
    done = await check(tmp_path, f"import sys; sys.stderr.reconfigure(encoding='utf8')\n{script}",
                       stdin="line\n" * 100_000)  # fmt: skip
    assert (done.end, done.exit_code, done.stderr) == ("exited", 3, "é\n")
    assert done.stdout == "line\n" * 100_000 + "\n"


async def test_no_key_and_nothing_that_steers_a_program_goes_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "AGENT_LS_API_KEY", "NODE_OPTIONS", "RUFF_CONFIG", "PYTHONPATH"):
        monkeypatch.setenv(name, "canary")
    done = await check(tmp_path, "import os; print(dict(os.environ))")
    assert "canary" not in done.stdout
    assert "'PATH'" in done.stdout


async def test_when_time_is_up_children_end_too(tmp_path: Path) -> None:
    told = tmp_path / "child"
    running = asyncio.ensure_future(check(tmp_path, FAMILY, str(told), timeout_s=2))
    child = await child_of(told)
    assert (await running).end == "timed_out"
    await gone(child)


async def test_when_it_is_cancelled_children_end_too(tmp_path: Path) -> None:
    told = tmp_path / "child"
    running = asyncio.ensure_future(check(tmp_path, FAMILY, str(told)))
    child = await child_of(told)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await gone(child)


@pytest.mark.parametrize("is_daemon", [False, True], ids=["left-behind", "daemon"])
async def test_what_it_leaves_behind_does_not_keep_its_answer(
    tmp_path: Path, is_daemon: bool
) -> None:
    """Although it holds the pipes open, in a session of its own or not."""
    told = tmp_path / "child"
    script = FAMILY.replace("child.wait()", "print('done')")
    script = script.replace("Popen(", f"Popen(start_new_session={is_daemon}, args=")
    done = await check(tmp_path, script, str(told), timeout_s=600)
    assert (done.end, done.exit_code, done.stdout) == ("exited", 0, "done\n")
    child = await child_of(told)
    if is_daemon:
        os.kill(child, signal.SIGKILL)
    await gone(child)


async def test_output_without_end_is_not_collected(tmp_path: Path) -> None:
    script = "import sys\nwhile True: sys.stdout.write('x' * 1_000_000)"
    assert (await check(tmp_path, script)).end == "too_much"


async def test_a_program_that_cannot_start_says_why(tmp_path: Path) -> None:
    done = await run_program([tmp_path / "nothing"], cwd=tmp_path, path="", stdin="", timeout_s=5)
    assert (done.end, done.exit_code) == ("not_started", None)
    assert done.stderr == "No such file or directory"
