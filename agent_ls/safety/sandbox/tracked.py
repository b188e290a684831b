"""Tells which files with names of secrets a command may not see.

A file that git holds as it is, such as a test's certificate, stays visible: its content lies in
git's objects beside it, and git would take a hidden file for a changed one. What git lists as
tracked is not enough, since a command can make git list any file.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from subprocess import SubprocessError

from agent_ls.safety.git_places import data_folder, top_of
from agent_ls.safety.sandbox import own_git

_MAX_FILES = 300
"""In one folder of secrets; a larger one is hidden as a whole."""
_MAX_BYTES = 2**20
_LIST = ("--literal-pathspecs", "-C")
_ROWS = ("ls-files", "-s", "-z", "--")
_HASHES = (hashlib.sha1, hashlib.sha256)
_ROW = 3
"""Words in front of a name in a row of git's index: mode, object, stage."""

_known: dict[Path, tuple[object, dict[Path, str]]] = {}
"""By top folder of a repository: what was asked at which state of its index, and the answer."""


def hidden_secrets(secrets: Iterable[Path], roots: Sequence[Path]) -> list[Path]:
    """Return the files and folders to hide from a command, of those with names of secrets.

    A folder in which git holds files is replaced by its other files. Looks at the disk, and asks
    git once for each state of an index.
    """
    files = {path: tuple(_files(path)) for path in secrets}
    held = _held_by_git([one for found in files.values() for one in found], roots)
    hidden = list[Path]()
    for path, found in files.items():
        hidden += [path] if held.isdisjoint(found) else [one for one in found if one not in held]
    return hidden


def _files(path: Path) -> Iterator[Path]:
    """Yield the files in a folder of secrets, or the path itself."""
    if path.is_symlink() or not path.is_dir():
        yield path
        return
    below = (Path(at, name) for at, _, names in os.walk(path) for name in names)
    found = list(islice(below, _MAX_FILES + 1))
    yield from found if len(found) <= _MAX_FILES else ()


def _held_by_git(paths: Iterable[Path], roots: Sequence[Path]) -> set[Path]:
    """Return the files whose content is that of git's index."""
    asked = dict[Path, list[Path]]()
    for path in paths:
        top = top_of(path.parent)
        if top is not None:
            asked.setdefault(top, []).append(path)
    ids = _object_ids(asked, roots) if asked else {}
    return {path for path, name in ids.items() if name == _object_id(path, len(name))}


def _object_ids(asked: dict[Path, list[Path]], roots: Sequence[Path]) -> dict[Path, str]:
    """Return the objects of these files in the indexes of their repositories."""
    states = {top: (index_stamp(top), tuple(paths)) for top, paths in asked.items()}
    unknown = [top for top in asked if top not in _known or _known[top][0] != states[top]]
    # Git never runs outside of a view here.
    folder = next((root for root in roots if own_git.view_of(root) is not None), None)
    for top in unknown:
        if folder is None:
            break
        names = (str(path.relative_to(top)) for path in asked[top])
        rows = _asked(folder, roots, *_LIST, str(top), *_ROWS, *names)
        _known[top] = states[top], dict(_rows(rows, top))
    return {
        path: name
        for top in asked
        if top in _known and _known[top][0] == states[top]
        for path, name in _known[top][1].items()
    }


def _asked(folder: Path, roots: Sequence[Path], *arguments: str) -> bytes:
    """Return what git prints; nothing where it fails."""
    try:
        done = own_git.run(folder, roots, *arguments)
    except (OSError, SubprocessError):
        return b""
    return done.stdout if done.returncode == 0 else b""


def _rows(answer: bytes, top: Path) -> Iterator[tuple[Path, str]]:
    for row in os.fsdecode(answer).split("\0")[:-1]:
        facts, _, name = row.partition("\t")
        if len(words := facts.split()) == _ROW:
            yield top / name, words[1]


def index_stamp(top: Path) -> tuple[int, ...] | None:
    """Return what changes with a repository's index: git replaces the file."""
    try:
        facts = (data_folder(top / ".git") / "index").lstat()
    except (OSError, ValueError):
        return None
    return facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns


def _object_id(path: Path, length: int) -> str:
    """Return the name that git gives to a file's content; empty for what is no small file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            facts = os.fstat(descriptor)
            if not stat.S_ISREG(facts.st_mode) or facts.st_size > _MAX_BYTES:
                return ""
            data = file.read(_MAX_BYTES)
    except OSError:
        return ""
    whole = b"blob %d\0%s" % (len(data), data)
    # The length of a name tells which hash the repository uses.
    return next((one for how in _HASHES if len(one := how(whole).hexdigest()) == length), "")
