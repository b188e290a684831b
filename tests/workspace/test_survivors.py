"""Nothing of a command survives a stop, or the server's death, by two seconds."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path
from typing import Literal

import psutil
import pytest

from agent_ls.safety.sandbox.probe import SandboxOptions, probe

pytestmark = pytest.mark.heavy

Sandboxes = Literal["off", "bubblewrap", "landlock"]

_LIMIT_S = 2.0
_READY_S = 30.0
_SERVER = """
import asyncio, sys
from pathlib import Path
from agent_ls.safety.sandbox.builder import open_builder
from agent_ls.safety.sandbox.probe import SandboxOptions, probe
from agent_ls.workspace.runner import ShellRunner

async def main(command, folder, is_stopped, name):
    options = SandboxOptions(use=name)
    sandbox = probe(options).sandbox
    builder = open_builder(sandbox, options, lambda: [folder]) if sandbox else None
    runner = ShellRunner(builder)
    running = asyncio.create_task(
        runner.run(command, cwd=folder, timeout_s=600)
    )
    if is_stopped:
        await asyncio.to_thread(sys.stdin.readline)
        running.cancel()
    await asyncio.wait([running])

asyncio.run(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3] == "stopped", sys.argv[4]))
"""
_COMMANDS = [
    pytest.param("sleep {mark} & sleep {mark}", id="children"),
    pytest.param("(setsid nohup sleep {mark} >/dev/null 2>&1 &); sleep {mark}", id="a-daemon"),
    pytest.param("(env -i setsid sleep {mark} &); sleep {mark}", id="a-daemon-without-its-mark"),
    pytest.param(
        "(setsid sh -c 'trap \"\" TERM HUP INT; sleep {mark}; sleep {mark}' &); sleep {mark}",
        id="a-deaf-daemon",
    ),
    pytest.param("trap '' TERM HUP INT; while :; do sleep {mark}; done", id="a-deaf-command"),
    pytest.param("f() {{ sleep {mark} & sleep 0.05; f & }}; f; sleep {mark}", id="it-breeds"),
]


def _living(mark: str, but: int) -> list[str]:
    found: list[str] = []
    for one in psutil.process_iter():
        try:
            line = " ".join(one.cmdline())
            if mark in line and one.pid != but and one.status() != psutil.STATUS_ZOMBIE:
                found.append(line)
        except psutil.Error:
            continue
    return found


def _until(holds: bool, mark: str, but: int, limit_s: float) -> list[str]:
    """Wait until processes with the mark live, or until none does; return those that live."""
    deadline_s = time.monotonic() + limit_s
    while bool(living := _living(mark, but)) is not holds and time.monotonic() < deadline_s:
        threading.Event().wait(0.05)
    return living


@pytest.mark.parametrize("command", _COMMANDS)
@pytest.mark.parametrize("end", ["killed", "stopped"])
@pytest.mark.parametrize("sandbox", ["off", "bubblewrap", "landlock"])
def test_nothing_survives(
    tmp_path: Path, command: str, end: Literal["killed", "stopped"], sandbox: Sandboxes
) -> None:
    if sandbox != "off" and probe(SandboxOptions(use=sandbox)).sandbox is None:
        pytest.skip(f"{sandbox} does not work here")
    mark = f"{os.getpid()}.{uuid.uuid4().int % 10**9}"
    arguments = [
        sys.executable,
        "-c",
        _SERVER,
        command.format(mark=mark),
        str(tmp_path),
        end,
        sandbox,
    ]
    server = subprocess.Popen(arguments, stdin=subprocess.PIPE, text=True)
    try:
        assert server.stdin is not None
        assert _until(True, f"sleep {mark}", server.pid, _READY_S)
        if end == "killed":
            server.kill()
        else:
            server.stdin.write("stop\n")
            server.stdin.flush()
        assert _until(False, mark, server.pid, _LIMIT_S) == []
    finally:
        server.kill()
        server.wait()
        server.stdin.close()
