"""Runs ``agent-ls`` commands in forks of one process that has imported the program already.

Serves in place of the launcher of programs, see ``processes/launcher.py``; a request's command are
the words behind ``agent-ls``. When the other end of the socket is gone, every run is killed: it
must not end in order then, for only a turn that stays open can go on elsewhere.
"""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import sys
from contextlib import suppress
from typing import Any

from agent_ls.cli.main import main as agent_ls
from agent_ls.domain.record import build_records
from agent_ls.processes.launcher import serve
from agent_ls.processes.sealing import seal

_PR_SET_PDEATHSIG = 1
_STANDARD, _MANY = 3, 2**16
_PRELOADED = (
    "agent_ls.cli.run",
    "agent_ls.loop.evidence.progress",
    "agent_ls.store.database",
    "agent_ls.store.journal",
    "agent_ls.store.projections",
    "agent_ls.store.queries",
    "agent_ls.store.upcasts",
    "agent_ls.store.validation",
)
"""What a run imports when it needs it."""


class _Forked(BaseException):
    """Leaves the server's loop in a new process."""

    def __init__(self, request: dict[str, Any]) -> None:
        super().__init__()
        self.request = request


def main() -> int:
    """Serve until the other end of the socket is closed; in a fork, run a command."""
    # Before the variables are changed: a fork shares the memory in which they are.
    seal()
    for name in _PRELOADED:
        __import__(name)
    build_records()
    # What is never looked at again stays shared with the forks.
    gc.freeze()
    try:
        running = serve(_forked)
        for group in running:
            with suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)
        for group in running:
            # Not every container has somebody who reaps it; unreaped, its session seems alive.
            with suppress(ChildProcessError):
                os.waitpid(group, 0)
    except _Forked as forked:
        request = forked.request
    else:
        return 0
    return _run(request)


def _forked(request: dict[str, Any], descriptors: list[int]) -> int:
    """Fork, and return once the new process can be killed by its group."""
    parent = os.getpid()
    reads, writes = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writes)
        os.read(reads, 1)
        os.close(reads)
        return pid
    try:
        os.setsid()
        if sys.platform == "linux":
            # Nobody else would end it if this server were killed.
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent or len(descriptors) != _STANDARD:
            raise OSError("not a whole request, or its server is gone")
        for number, one in enumerate(descriptors):
            os.dup2(one, number)
        os.close(writes)
    except BaseException:
        # It must never serve beside its parent.
        os._exit(1)
    raise _Forked(request)


def _run(request: dict[str, Any]) -> int:
    signal.set_wakeup_fd(-1)
    os.closerange(_STANDARD, _MANY)
    for number in (signal.SIGCHLD, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv[1:] = request["command"]
    return agent_ls()


if __name__ == "__main__":
    sys.exit(main())
