"""Finds the files in some folders that have several names (hard links). Looks at each file."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from agent_ls.safety.programs import lies_in
from agent_ls.safety.sandbox.own_git import avoided

_LARGE = 1_000
"""Where there are more files, starting programs pays: they need a fifth of the time of Python."""
_FIND = (Path("/usr/bin/find"), Path("/bin/find"))
_MOST_PROGRAMS = 4
_MAX_CHARS = 500_000
"""Of one program's arguments."""
_LIMIT_S = 10.0
_TESTS = ("-maxdepth", "1", "-type", "f", "-links", "+1", "-print0")


class Linked(NamedTuple):
    """A name of a file that has several (hard links)."""

    name: str
    file: tuple[int, int]
    """Its device and inode."""
    names: int


def linked_files(root: Path, folders: Mapping[str, int]) -> dict[str, tuple[Linked, ...]]:
    """Return the files with several names in these folders, by their folders.

    ``folders`` are absolute and lie below the root, with the number of entries in each.
    """
    found = _by_find(root, [*folders]) if sum(folders.values()) > _LARGE else None
    if found is None:
        found = {path: links for path in folders if (links := links_in(path))}
    return found


def links_in(path: str) -> tuple[Linked, ...]:
    """Return the files in a folder that have several names."""
    with suppress(OSError), os.scandir(path) as entries:
        facts = (
            (one.name, one.stat(follow_symlinks=False))
            for one in entries
            if one.is_file(follow_symlinks=False)
        )
        return tuple(_linked(name, one) for name, one in facts if one.st_nlink > 1)
    return ()


def _linked(name: str, facts: os.stat_result) -> Linked:
    return Linked(name, (facts.st_dev, facts.st_ino), facts.st_nlink)


def _by_find(root: Path, folders: Sequence[str]) -> dict[str, tuple[Linked, ...]] | None:
    """Return what ``linked_files`` does; None where ``find`` is missing, fails or takes too long.

    Some of these run at the same time.
    """
    avoid = avoided(root, (root,))
    # Not by PATH, which each command would wait for.
    program = next((one for one in _FIND if one.exists() and not lies_in(one, avoid)), None)
    if program is None:
        return None
    found = dict[str, list[Linked]]()
    running = [
        subprocess.Popen(
            (str(program), *some, *_TESTS),
            cwd="/",
            env={"LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        for some in _parts(folders)
    ]
    try:
        for one in running:
            said = one.communicate(timeout=_LIMIT_S)[0]
            if one.returncode:
                return None
            for path in os.fsdecode(said).split("\0")[:-1]:
                folder, _, name = path.rpartition("/")
                with suppress(OSError):
                    facts = os.lstat(path)
                    if facts.st_nlink > 1 and stat.S_ISREG(facts.st_mode):
                        found.setdefault(folder, []).append(_linked(name, facts))
    except subprocess.TimeoutExpired:
        return None
    finally:
        for one in running:
            one.kill()
            one.communicate()
    return {folder: tuple(links) for folder, links in found.items()}


def _parts(folders: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the folders in parts, one for each program."""
    programs = min(os.cpu_count() or 1, _MOST_PROGRAMS)
    size = max(1, -(-len(folders) // programs))
    part, chars = list[str](), 0
    for folder in folders:
        if part and (len(part) == size or chars > _MAX_CHARS):
            yield part
            part, chars = [], 0
        part.append(folder)
        chars += len(folder)
    if part:
        yield part
