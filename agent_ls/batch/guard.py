"""Runs one command and kills it when standard input closes. Started by its path.

A worker that is killed cannot end the run that it started. The run must not end in order then, for
only a turn that stays open can go on elsewhere. It imports nothing of the project.
Descriptor 3 is the command's standard input.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from contextlib import suppress

_INPUT = 3
_KILLED = 137


def main() -> int:
    """Run ``argv[1:]`` and return its exit code; 137 if it was killed."""
    wake, wakened = os.pipe()
    os.set_blocking(wakened, False)
    signal.set_wakeup_fd(wakened, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        # They only wake the loop below; the command gets the defaults back.
        signal.signal(number, lambda _number, _frame: None)
    child = os.posix_spawn(
        sys.argv[1],
        sys.argv[1:],
        os.environ,
        file_actions=[(os.POSIX_SPAWN_DUP2, _INPUT, 0), (os.POSIX_SPAWN_CLOSE, _INPUT)],
        setsid=True,
        setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],
    )
    os.close(_INPUT)
    while True:
        ready, _, _ = select.select([0, wake], [], [])
        signals = os.read(wake, 4_096) if wake in ready else b""
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
        if 0 in ready or signal.SIGTERM in signals:
            with suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return _KILLED


if __name__ == "__main__":
    sys.exit(main())
