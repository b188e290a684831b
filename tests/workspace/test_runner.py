"""What a command gets, what of it comes back, and that nothing of it is left behind."""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from agent_ls.loop.ports.commands import CommandOutcome
from agent_ls.processes.launching import Program, start
from agent_ls.safety.sandbox.builder import SandboxBuilder, open_builder
from agent_ls.safety.sandbox.probe import SandboxOptions
from agent_ls.safety.secrets import mask
from agent_ls.workspace.runner import ShellRunner, command_environment
from tests.support.sandboxes import installed_bubblewrap

_runners: list[ShellRunner] = []


@pytest.fixture(autouse=True, params=["free", "confined"])
def runner(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[None]:
    """Run every test without a sandbox and in one: the same holds in both."""
    builder: SandboxBuilder | None = None
    if request.param == "confined":
        folder = tmp_path.resolve()
        builder = open_builder(installed_bubblewrap(), SandboxOptions(), lambda: [folder])
    _runners[:] = [ShellRunner(builder)]
    yield
    if builder is not None:
        builder.end()


async def check(command: str, folder: Path, timeout_s: float = 20.0) -> CommandOutcome:
    return await _runners[0].run(command, cwd=folder, timeout_s=timeout_s)


def _alive(mark: str) -> list[str]:
    """Return the command lines of living processes that hold ``mark``."""
    found: list[str] = []
    for one in psutil.process_iter():
        try:
            line = " ".join(one.cmdline())
            if mark in line and one.status() != psutil.STATUS_ZOMBIE:
                found.append(line)
        except psutil.Error:
            continue
    return found


@pytest.mark.parametrize(
    ("command", "exit_code", "output"),
    [
        pytest.param("echo one; echo two >&2", 0, "one\ntwo\n", id="both-streams-in-order"),
        pytest.param("exit 7", 7, "", id="exit-code"),
        pytest.param("printf 'a\\377b'", 0, "a\ufffdb", id="bytes-that-are-no-text"),
        pytest.param("cat; echo end", 0, "end\n", id="standard-input-is-closed"),
        pytest.param("echo 'äöü €'", 0, "äöü €\n", id="text-beyond-ascii"),
        pytest.param("nosuchprogram 2>/dev/null", 127, "", id="unknown-program"),
        pytest.param("kill -9 $$", 137, "", id="killed-by-a-signal"),
        pytest.param("yes | head -1", 0, "y\n", id="broken-pipes-end-quietly"),
        pytest.param("trap 'echo t' TERM; kill -TERM $$", 0, "t\n", id="signals-can-be-trapped"),
    ],
)
async def test_a_command_gives_its_output_and_exit_code(
    tmp_path: Path, command: str, exit_code: int, output: str
) -> None:
    outcome = await check(command, tmp_path)
    assert (outcome.exit_code, outcome.output, outcome.end) == (exit_code, output, "exited")


async def test_a_command_runs_in_the_given_folder(tmp_path: Path) -> None:
    (tmp_path / "here").touch()
    assert (await check("ls here", tmp_path)).output == "here\n"


async def test_output_is_shown_while_it_comes(tmp_path: Path) -> None:
    shown: list[str] = []
    await _runners[0].run("echo one", cwd=tmp_path, timeout_s=20, on_output=shown.append)
    assert "".join(shown) == "one\n"


async def test_very_much_output_keeps_its_beginning_and_its_end(tmp_path: Path) -> None:
    outcome = await check("echo first; yes | head -c 20000000; echo last", tmp_path)
    assert outcome.output.startswith("first\n")
    assert outcome.output.endswith("last\n")
    assert "bytes left out" in outcome.output
    assert len(outcome.output) < 8 * 2**20


async def test_keys_of_the_server_do_not_reach_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "canary-key")
    monkeypatch.setenv("AGENT_LS_API_KEY", "canary-key")
    monkeypatch.setenv("BASH_ENV", str(tmp_path / "start-up"))
    assert "canary-key" not in (await check("env", tmp_path)).output
    assert not any("KEY" in name or name == "BASH_ENV" for name in command_environment())


async def test_start_up_files_are_not_read(tmp_path: Path) -> None:
    (tmp_path / ".bashrc").write_text("echo from-bashrc\n")
    (tmp_path / ".bash_profile").write_text("echo from-profile\n")
    outcome = await _runners[0].run("true", cwd=tmp_path, timeout_s=20, env={"HOME": str(tmp_path)})
    assert outcome.output == ""


@pytest.mark.heavy
@pytest.mark.parametrize(
    "command",
    [
        pytest.param("sleep {mark}", id="the-command-itself"),
        pytest.param("sleep {mark} & wait", id="a-background-child"),
        pytest.param("setsid sleep {mark} & wait", id="a-child-in-its-own-session"),
        pytest.param("trap '' TERM; sleep {mark} & while :; do wait; done", id="term-is-ignored"),
        pytest.param("(setsid nohup sleep {mark} >/dev/null 2>&1 &); sleep {mark}", id="a-daemon"),
        pytest.param(
            "(env -i setsid sleep {mark} &); sleep {mark}", id="a-daemon-without-its-mark"
        ),
        pytest.param(
            "(setsid sh -c 'trap \"\" TERM; sleep {mark}' &); sleep {mark}", id="a-deaf-one"
        ),
        pytest.param("kill -STOP $PPID; sleep {mark}", id="the-supervisor-is-stopped"),
        pytest.param("f() {{ sleep {mark} & sleep 0.01; f & }}; f; sleep {mark}", id="it-breeds"),
    ],
)
async def test_a_time_out_ends_the_command_with_all_it_started(
    tmp_path: Path, command: str
) -> None:
    mark = f"{os.getpid()}.{uuid.uuid4().int % 10**9}"
    outcome = await check(command.format(mark=mark), tmp_path, timeout_s=0.4)
    assert (outcome.end, outcome.exit_code) == ("timed_out", None)
    assert _alive(mark) == []


async def test_a_command_that_kills_its_supervisor_gains_nothing(tmp_path: Path) -> None:
    mark = f"{os.getpid()}.{uuid.uuid4().int % 10**9}"
    outcome = await check(f"setsid sleep {mark} & kill -9 $PPID; sleep {mark}", tmp_path)
    assert (outcome.end, outcome.exit_code) == ("exited", None)
    assert _alive(mark) == []


async def test_an_orderly_end_takes_what_runs_in_the_background_with_it(tmp_path: Path) -> None:
    mark = f"{os.getpid()}.{uuid.uuid4().int % 10**9}"
    outcome = await check(f"setsid sleep {mark} & echo done", tmp_path)
    assert (outcome.end, outcome.exit_code) == ("exited", 0)
    assert outcome.output == "done\n[ended with the command: sleep]\n"
    assert _alive(mark) == []


async def test_what_ends_by_itself_in_time_is_not_spoken_of(tmp_path: Path) -> None:
    outcome = await check("(sleep 0.05; touch late) & echo done", tmp_path)
    assert outcome.output == "done\n"
    assert (tmp_path / "late").exists()


async def test_cancelled_commands_leave_no_open_descriptors(tmp_path: Path) -> None:
    await check("true", tmp_path)
    before, count = psutil.Process().num_fds(), 5
    for _ in range(count):
        started = asyncio.Event()
        run = _runners[0].run(
            "echo started; sleep 600",
            cwd=tmp_path,
            timeout_s=600,
            on_output=lambda _text, started=started: started.set(),
        )
        task = asyncio.create_task(run)
        async with asyncio.timeout(60):
            await started.wait()
        task.cancel()
        await asyncio.wait([task])
    assert psutil.Process().num_fds() < before + count


async def test_a_cancelled_command_is_gone_when_the_cancellation_arrives(tmp_path: Path) -> None:
    mark = f"{os.getpid()}.{uuid.uuid4().int % 10**9}"
    started = asyncio.Event()
    run = _runners[0].run(
        f"echo started; sleep {mark}",
        cwd=tmp_path,
        timeout_s=20,
        on_output=lambda _text: started.set(),
    )
    task = asyncio.create_task(run)
    async with asyncio.timeout(60):
        await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert _alive(mark) == []


async def test_a_command_is_gone_that_is_cancelled_before_its_start_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = asyncio.Event()

    async def told_late(*given: Any, **named: Any) -> Program:
        program = await start(*given, **named)
        begun.set()
        async with asyncio.timeout(60):
            while not (tmp_path / "runs").exists():  # noqa: ASYNC110 - the file tells nobody
                await asyncio.sleep(0.02)
        return program

    monkeypatch.setattr("agent_ls.workspace.runner.start", told_late)
    mark = f"{os.getpid()}.{uuid.uuid4().int % 10**9}"
    before = psutil.Process().num_fds()
    task = asyncio.create_task(check(f"touch runs; sleep {mark}", tmp_path))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert _alive(mark) == []
    assert psutil.Process().num_fds() <= before + 1


_KEY = (
    "-----BEGIN PRIVATE KEY-----\n"
    + "aB3d" * 16
    + "\n"
    + "Zy9x" * 16
    + "\n-----END PRIVATE KEY-----\n"
)


@pytest.mark.heavy
@pytest.mark.parametrize("is_in_one_line", [True, False])
async def test_no_part_of_a_secret_is_left_where_output_is_cut(
    tmp_path: Path, is_in_one_line: bool
) -> None:
    secret = "ghp_" + "aB3dE6gH9j" * 4
    keys = [secret + " ", _KEY.replace("\n", " ") if is_in_one_line else _KEY]
    half = 2**20
    for number, key in enumerate(keys):
        for at in (5, len(key) // 2, len(key) - 5):
            # The key stands across the end of what is kept of the beginning, then of the end.
            blank = " " if is_in_one_line else "\n"
            front = "x y\n" * 100 + blank * (half - 400 - at) + key
            back = key + blank * (half - len(key) + at)
            (tmp_path / "out").write_text(front + blank * half + back)
            outcome = await check("cat out", tmp_path)
            assert outcome.is_cut
            masked = mask(outcome.output)
            assert "aB3d" not in masked
            assert "Zy9x" not in masked
            assert "E6gH" not in masked, number
