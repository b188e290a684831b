"""The programs that this process has started, without the servers that the tests keep beside it."""

from __future__ import annotations

from contextlib import suppress

import psutil


def launchers() -> list[psutil.Process]:
    """Return the processes that start programs for this one."""
    found: list[psutil.Process] = []
    for one in psutil.Process().children():
        # One that has just ended is none any more.
        with suppress(psutil.NoSuchProcess):
            if any("launcher.py" in word for word in one.cmdline()):
                found.append(one)
    return found


def programs() -> list[psutil.Process]:
    """Return what they have started, and what that has started."""
    found: list[psutil.Process] = []
    for launcher in launchers():
        with suppress(psutil.NoSuchProcess):
            found += launcher.children(recursive=True)
    return found
