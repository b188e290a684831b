"""Nothing of a command survives a stop, or the server's death."""

from __future__ import annotations

import os
import re
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

_LIMIT_S = 30.0
"""Takes a tenth of a second; whether that is kept up on a busy machine is no question here."""
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
            if re.search(mark, line) and one.pid != but and one.status() != psutil.STATUS_ZOMBIE:
                found.append(line)
        except psutil.Error:
            continue
    return found


def _until(holds: bool, mark: str, but: int) -> list[str]:
    """Wait until processes with the mark live, or until none does; return those that live."""
    deadline_s = time.monotonic() + _LIMIT_S
    while bool(living := _living(mark, but)) is not holds and time.monotonic() < deadline_s:
        threading.Event().wait(0.05)
    return living


@pytest.mark.parametrize("command", _COMMANDS)
@pytest.mark.parametrize("end", ["killed", "killed while it starts", "stopped"])
@pytest.mark.parametrize("sandbox", ["off", "bubblewrap", "landlock"])
def test_nothing_survives(tmp_path: Path, command: str, end: str, sandbox: Sandboxes) -> None:
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
        # The first that can be seen is what starts the sandbox, with the whole command behind it.
        seen = f"sleep {mark}" if end == "killed while it starts" else f"^sleep {mark}"
        assert _until(True, seen, server.pid)
        if end == "stopped":
            server.stdin.write("stop\n")
            server.stdin.flush()
        else:
            server.kill()
        assert _until(False, mark, server.pid) == []
    finally:
        server.kill()
        server.wait()
        server.stdin.close()
