"""Confinement by Landlock and seccomp, where bubblewrap cannot run. Needs Linux 6.2 or newer."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from agent_ls.processes.compiled import compiled
from agent_ls.safety.sandbox.confinement import ALL_HOSTS, Confinement, Wrapped
from agent_ls.safety.sandbox.surroundings import (
    etc_files,
    git_files,
    resolver_folders,
    system_folders,
)

_MACHINES = ("x86_64", "aarch64")
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts")
_PROBE_S = 5.0
_PROGRAM = Path(__file__).with_name("landlock_run.py")


@dataclass(frozen=True, slots=True)
class Landlock:
    """Runs commands below rules of the kernel, in the file system as it is.

    Rules only add rights. So in the folders above a protected or hidden name no command can add,
    remove or rename anything. The top of a workspace is always such a folder.
    """

    name: ClassVar[str] = "landlock"
    shows_texts: ClassVar[bool] = False
    remains: ClassVar[str] = (
        "Commands see names of files and processes outside, can change modes, times and attributes "
        "of your files everywhere unless they may only read, can breed processes without a limit, "
        "and cannot add or remove files at the top of a workspace folder"
    )
    hint: ClassVar[str] = (
        "sandbox: no command can add, remove or rename files at the top of a workspace folder, "
        "beside protected files, or in /tmp; below they can, and in $TMPDIR"
    )

    has_namespaces: bool
    """Whether a command can have a network of its own; else it has none."""

    def wrap(
        self,
        confinement: Confinement,
        command: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
    ) -> Wrapped:
        """Return how to start the command confined. Errors: ``OSError``."""
        shares_network = confinement.network == ALL_HOSTS
        if confinement.network and not shares_network and not self.has_namespaces:
            raise OSError(
                "without namespaces, a network cannot be limited to hosts; grant all or none"
            )
        may_write = confinement.view == "workspace-write"
        inside = (*confinement.roots, *confinement.writable)
        own = Path(tempfile.mkdtemp(prefix="agent-ls-")).resolve()
        kept = confinement.tmp if may_write else None
        temporary = kept / "tmp" if kept else own
        cache = kept / "cache" if kept else own
        network = bool(confinement.network)
        seen = (*system_folders(), *etc_files(network=network), Path("/proc"))
        seen += tuple(resolver_folders()) if network else ()
        writable = (*inside, *(kept.iterdir() if kept else ()), own) if may_write else (own,)
        options = (
            *("--chdir", str(cwd)),
            *(("--share-net", "yes") if shares_network else ()),
            *(() if may_write else ("--keep-metadata", "yes")),
            *_each("--read", (*seen, *confinement.readable, *inside)),
            *_each("--write", writable),
            *_each("--protect", (*confinement.protected, *confinement.linked)),
            *_each("--hide", confinement.hidden),
            *_each("--device", (Path("/dev") / name for name in _DEVICES)),
        )
        inner = {**env, "TMPDIR": str(temporary), "XDG_CACHE_HOME": str(cache)}
        # git stops at a file that it can see but not open.
        inner["GIT_CONFIG_NOSYSTEM"] = "1"
        if not set(git_files(env)) & set(confinement.readable):
            inner["GIT_CONFIG_GLOBAL"] = os.devnull
        argv = (*_start(), *options, "--", *command)
        return Wrapped(argv, inner, lambda: shutil.rmtree(own, ignore_errors=True))


def _start() -> tuple[str, ...]:
    # -I and -S: import nothing from the folder or the environment.
    return (sys.executable, "-I", "-S", str(compiled(_PROGRAM)))


def find_landlock() -> Landlock:
    """Return the sandbox if the kernel has it. Errors: ``OSError`` says what is missing."""
    if platform.system() != "Linux" or platform.machine() not in _MACHINES:
        raise OSError(f"not on {platform.system()} {platform.machine()}")
    tried = subprocess.run(
        (*_start(), "--"),
        capture_output=True,
        timeout=_PROBE_S,
        check=False,
    )
    return Landlock(has_namespaces=tried.returncode == 0)


def _each(option: str, paths: Iterable[Path]) -> Iterator[str]:
    for path in paths:
        yield from (option, str(path))
