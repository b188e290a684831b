"""Running commands in the real sandbox of this machine."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent_ls.safety.programs import child_path
from agent_ls.safety.sandbox.bubblewrap import Bubblewrap, find_bubblewrap
from agent_ls.safety.sandbox.confinement import Confinement, Sandbox


def installed_bubblewrap() -> Bubblewrap:
    """Return bubblewrap; where it is missing the test is skipped."""
    try:
        return find_bubblewrap()
    except FileNotFoundError:
        pytest.skip("bubblewrap is not installed")


@dataclass(frozen=True, slots=True)
class Ran:
    """How a confined command ended."""

    code: int
    output: str
    """What it printed on both channels."""


def run_confined(
    confinement: Confinement,
    command: str,
    *,
    limit_s: float = 20.0,
    sandbox: Sandbox | None = None,
    inside: Sequence[str] = (),
) -> Ran:
    """Run a shell command in the first root, confined by bubblewrap or the given sandbox.

    ``inside`` is a command in which all of this runs.
    """
    env = {"PATH": child_path(), "HOME": str(Path.home()), "LANG": "C.UTF-8"}
    wrapped = (sandbox or installed_bubblewrap()).wrap(
        confinement, ("/bin/sh", "-c", command), cwd=confinement.roots[0], env=env
    )
    try:
        done = subprocess.run(
            (*inside, *wrapped.argv),
            env=dict(wrapped.env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=limit_s,
            check=False,
        )
    finally:
        wrapped.end()
    return Ran(done.returncode, done.stdout.decode(errors="replace"))
