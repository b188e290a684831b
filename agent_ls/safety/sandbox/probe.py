"""Finds the sandbox that works on this machine, by running a command in it."""

from __future__ import annotations

import os
import platform
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from agent_ls.domain.record import Record
from agent_ls.safety.sandbox.bubblewrap import find_bubblewrap
from agent_ls.safety.sandbox.confinement import Confinement, Limits, Sandbox
from agent_ls.safety.sandbox.landlock import find_landlock
from agent_ls.safety.sandbox.seatbelt import find_seatbelt
from agent_ls.safety.shell import at_home

_PROBE_S = 5.0
_LEAST_MEMORY_BYTES = 4 * 2**30
_CONTAINER = Path("/sys/fs/cgroup/memory.max")
"""Holds "max" where a container may have all."""


class SandboxOptions(Record):
    """Which sandbox holds commands, and what they see beyond the folders."""

    use: Literal["auto", "bubblewrap", "landlock", "seatbelt", "off"] = "auto"
    """``off``: nothing holds a command, and its text alone decides whether it asks."""
    read: tuple[str, ...] = ()
    """Folders that commands may read besides the workspace and the usual toolchains."""
    write: tuple[str, ...] = ()
    """Folders that commands may change besides the workspace."""
    max_processes: Annotated[int, Field(ge=1)] = 1_000
    """Processes of one command that may live at the same time; with more it is killed."""
    max_file_bytes: Annotated[int, Field(ge=0)] = 4 * 2**30
    """The largest file that a command may write."""
    max_memory_bytes: Annotated[int, Field(ge=0)] | None = None
    """Memory that the processes of one command may hold together; with more it is killed. None:
    three quarters of the machine's, at least 4 GiB; 0: no limit."""

    def limits(self) -> Limits:
        """Return what the supervisor of a command sets."""
        memory = self.max_memory_bytes
        return Limits(
            self.max_processes,
            self.max_file_bytes,
            memory_bytes=default_memory_bytes() if memory is None else memory,
        )


def default_memory_bytes() -> int:
    """Return what a command may hold of this machine's memory, or of this container's."""
    whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with suppress(OSError, ValueError):
        whole = min(whole, int(_CONTAINER.read_text("ascii")))
    return max(whole * 3 // 4, _LEAST_MEMORY_BYTES)


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """The sandbox to use, or why there is none."""

    sandbox: Sandbox | None
    why: str = ""
    """For a user: what was tried and how it failed; empty if one works, or none is wanted."""
    passed_over: str = ""
    """The same of better ones than the sandbox to use."""


def probe(options: SandboxOptions, roots: Sequence[Path] = ()) -> ProbeResult:
    """Return the first sandbox that works. It runs programs: call it on a thread.

    A program in one of ``roots``, the folders of the workspace, is no sandbox.
    """
    if options.use == "off":
        return ProbeResult(None)
    avoid = (*roots, *(Path(at_home(one)).resolve() for one in options.write))
    failures: list[str] = []
    for name, find in _SANDBOXES.items():
        if options.use not in ("auto", name):
            continue
        try:
            sandbox = find(avoid)
            _try(sandbox)
        except (OSError, subprocess.SubprocessError) as error:
            failures.append(f"{name}: {error}")
        else:
            return ProbeResult(sandbox, passed_over="; ".join(failures))
    return ProbeResult(None, "; ".join(failures) or "this system has none")


_SANDBOXES: dict[str, Callable[[Sequence[Path]], Sandbox]] = (
    {"seatbelt": lambda _avoid: find_seatbelt()}
    if platform.system() == "Darwin"
    else {"bubblewrap": find_bubblewrap, "landlock": lambda _avoid: find_landlock()}
)
"""How each sandbox is found outside of some folders, best first. A finder raises ``OSError`` if it
is not there."""


def _try(sandbox: Sandbox) -> None:
    """Run a command that must not be able to write. Errors: ``OSError``."""
    with tempfile.TemporaryDirectory(prefix="agent-ls-probe-") as name:
        folder = Path(name).resolve()
        tried = folder / "tried"
        command = ("/bin/sh", "-c", f"echo > {tried} || echo held")
        wrapped = sandbox.wrap(
            Confinement("read-only", roots=(folder,)),
            command,
            cwd=folder,
            env={"PATH": "/usr/bin:/bin"},
        )
        try:
            ran = subprocess.run(
                wrapped.argv,
                env=dict(wrapped.env),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_PROBE_S,
                check=False,
            )
        finally:
            wrapped.end()
        if ran.stdout.strip() != b"held" or tried.exists():
            said = ran.stderr.decode(errors="replace").strip().splitlines()
            raise OSError(said[-1] if said else f"it ended with {ran.returncode}")
