"""Finds the files of a large folder that have several names (hard links), with ``find``."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from agent_ls.safety.control_files import NOT_WALKED
from agent_ls.safety.programs import find_outside
from agent_ls.safety.sandbox.own_git import avoided

_LIMIT_S = 10.0


class Linked(NamedTuple):
    """A name of a file that has several (hard links)."""

    name: str
    file: tuple[int, int]
    """Its device and inode."""
    names: int


def links_below(root: Path) -> dict[str, list[Linked]] | None:
    """Return the files with several names by their folders, but for those in third-party code.

    None where ``find`` is missing, could not look everywhere, or takes too long. It looks at each
    file as often as Python would, in a sixth of the time.
    """
    program = find_outside("find", avoided(root, (root,)))
    if program is None:
        return None
    left_out = _either(("-name", name) for name in sorted(NOT_WALKED))
    pruned = ("-type", "d", "(", *left_out, ")", "-prune")
    files = ("-type", "f", "-links", "+1", "-print0")
    try:
        done = subprocess.run(
            (str(program), str(root), "-mindepth", "1", *pruned, "-o", *files),
            cwd="/",
            env={"LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_LIMIT_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    found = dict[str, list[Linked]]()
    for path in os.fsdecode(done.stdout).split("\0")[:-1]:
        folder, _, name = path.rpartition("/")
        with suppress(OSError):
            facts = os.lstat(path)
            if facts.st_nlink > 1 and stat.S_ISREG(facts.st_mode):
                linked = Linked(name, (facts.st_dev, facts.st_ino), facts.st_nlink)
                found.setdefault(folder, []).append(linked)
    return found


def _either(tests: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """Return tests for ``find`` of which one has to hold."""
    return tuple(word for test in tests for word in ("-o", *test))[1:]
