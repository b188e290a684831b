"""The processes an editor brings with it: found by a mark they inherit, and always ended.

An editor starts its server in a session of its own and a browser starts a dozen children, so a
process group does not hold them together; an environment variable does.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping

import psutil

_VARIABLE = "EDITOR_TEST_RUN"


class Household:
    """Everything that one editor started, however far down."""

    def __init__(self) -> None:
        self._mark = secrets.token_hex(8)
        self._seen: dict[int, psutil.Process] = {}

    def environment(self, variables: Mapping[str, str]) -> dict[str, str]:
        """The variables with the mark that children inherit."""
        return {**variables, _VARIABLE: self._mark}

    def look(self) -> list[psutil.Process]:
        """The members that are alive now.

        A process that hides its environment, as one that holds keys does from an ordinary user,
        is found as a child of one that was seen.
        """
        for process in psutil.process_iter():
            try:
                if process.environ().get(_VARIABLE) == self._mark:
                    self._remember(process)
            except (psutil.Error, OSError):
                continue
        for process in list(self._seen.values()):
            try:
                for child in process.children(recursive=True):
                    self._remember(child)
            except psutil.Error:
                continue
        return [p for p in self._seen.values() if _is_alive(p)]

    def _remember(self, process: psutil.Process) -> None:
        if self._seen.get(process.pid) != process:
            self._seen[process.pid] = process

    def outlive(self, limit_s: float) -> list[str]:
        """The command lines that are still there after the limit; returns at once when none is."""
        deadline = time.monotonic() + limit_s
        while (alive := self.look()) and time.monotonic() < deadline:
            psutil.wait_procs(alive, timeout=0.1)
        return [_describe(process) for process in alive]

    def end(self) -> None:
        """Kill what is left."""
        for _ in range(5):
            if not (alive := self.look()):
                return
            for process in alive:
                try:
                    process.kill()
                except psutil.NoSuchProcess:
                    continue
            psutil.wait_procs(alive, timeout=2)


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _describe(process: psutil.Process) -> str:
    try:
        return f"{process.pid}: {' '.join(process.cmdline())[:200]}"
    except psutil.Error:
        return f"{process.pid}: {process}"
