"""The keys that the program was started with are shown to no other process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows them")

SCRIPT = """
import ctypes, os, subprocess, sys
from pathlib import Path
from agent_ls.processes.sealing import seal

seal()
print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))
try:
    print(b"canary" in Path("/proc/self/environ").read_bytes())
except PermissionError:
    print(False)
print(os.environ["SOME_KEY"], flush=True)
subprocess.run(["printenv", "SOME_KEY"])
"""


def check(script: str, *words: str) -> list[str]:
    """Return the lines that a program prints that was started with a key."""
    env = {**os.environ, "SOME_KEY": "canary"}
    done = subprocess.run(
        [sys.executable, *words, "-c", script], env=env, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def test_they_are_gone_from_where_the_system_shows_them_and_keep_their_values() -> None:
    assert check(SCRIPT) == ["0", "False", "canary", "canary"]


def test_the_program_seals_itself_and_its_library_does_not() -> None:
    started = """
import ctypes, sys
from agent_ls.cli.main import main
sys.argv = ["agent-ls", "rules"]
for argv in (["rules"], None):
    main(argv)
    print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))
"""
    assert [line for line in check(started) if line.isdigit()] == ["1", "0"]
