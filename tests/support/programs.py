"""The programs that this process has started, without the servers that the tests keep beside it."""

from __future__ import annotations

import psutil


def launchers() -> list[psutil.Process]:
    """Return the processes that start programs for this one."""
    alive = (one for one in psutil.Process().children() if one.status() != psutil.STATUS_ZOMBIE)
    return [one for one in alive if any("launcher.py" in word for word in one.cmdline())]


def programs() -> list[psutil.Process]:
    """Return what they have started, and what that has started."""
    return [one for launcher in launchers() for one in launcher.children(recursive=True)]
