"""Processes under measurement: a private home for each, their memory, their end.

Every run has fresh HOME and XDG folders, so that nothing of this machine's owner counts or changes.
"""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

_SAMPLE_S = 0.1


def private_environment(home: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return an environment without the user's settings and keys, homed below a folder."""
    home.mkdir(parents=True, exist_ok=True)
    kept = ("PATH", "LANG", "TMPDIR", "SSL_CERT_FILE", "PYENV_VERSION")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    for name in ("CONFIG", "DATA", "STATE", "CACHE"):
        environment[f"XDG_{name}_HOME"] = str(home / name.lower())
    return {**environment, "HOME": str(home), "LANG": "C.UTF-8", **(extra or {})}


@dataclass(frozen=True)
class Usage:
    """What a process and everything it started cost."""

    exit_code: int
    cpu_s: float
    """User and system time of the process and of the children it waited for."""
    peak_bytes: int
    """The most that the whole tree held in memory at one moment."""


class Watched:
    """A process whose tree's memory is sampled until it ends; all of it is dead after the block."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        log: Path,
        stdout: int | None = None,
    ) -> None:
        with log.open("ab") as errors:
            self.process = subprocess.Popen(
                command,
                cwd=cwd,
                env=dict(env),
                stdin=subprocess.DEVNULL,
                stdout=errors if stdout is None else stdout,
                stderr=errors,
                start_new_session=True,
            )
        self._root = psutil.Process(self.process.pid)
        self._tree: dict[int, psutil.Process] = {}
        self._peak = 0
        self._over = threading.Event()
        self._sampler = threading.Thread(target=self._sample, daemon=True)
        self._sampler.start()

    def __enter__(self) -> Watched:
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._sampler.join()
        for process in [self._root, *self._tree.values()]:
            with suppress(psutil.Error):
                process.kill()
        with suppress(ChildProcessError):
            self.process.wait()

    def wait(self, limit_s: float) -> Usage:
        """Return what it cost, once it has ended. Errors: ``TimeoutError``."""
        late = threading.Timer(limit_s, self.process.kill)
        late.start()
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        was_late = not late.is_alive()
        late.cancel()
        if was_late:
            raise TimeoutError(f"{self.process.args} did not end within {limit_s:g} s")
        return Usage(self.process.returncode, usage.ru_utime + usage.ru_stime, self._peak)

    def _sample(self) -> None:
        while not self._over.wait(_SAMPLE_S):
            with suppress(psutil.Error):
                for child in self._root.children(recursive=True):
                    self._tree[child.pid] = child
                held = _resident_bytes(self._root)
                held += sum(map(_resident_bytes_of_child, self._tree.values()))
                self._peak = max(self._peak, held)


def resident_bytes_of_tree(root: psutil.Process) -> int:
    """Return what a process and all that it started hold in memory."""
    try:
        children = root.children(recursive=True)
    except psutil.Error:
        children = []
    return _resident_bytes(root) + sum(map(_resident_bytes_of_child, children))


def _resident_bytes(process: psutil.Process) -> int:
    try:
        return process.memory_info().rss
    except psutil.Error:
        return 0


def _resident_bytes_of_child(child: psutil.Process) -> int:
    """Return what a child holds; one that is just being made still shows its parent's memory."""
    try:
        parent = child.parent()
        is_being_made = parent is not None and parent.cmdline() == child.cmdline()
    except psutil.Error:
        return 0
    return 0 if is_being_made else _resident_bytes(child)
