"""What git holds of files that are as it checked them out, so that nobody has to read these.

Git's index says which files are unchanged, as for ``git status``. Files that a filter or a line end
changes between git and the disk have another size there, and do not count. Blocking.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from subprocess import SubprocessError
from typing import NamedTuple

from agent_ls.safety.ripgrep import repository_above
from agent_ls.safety.sandbox import own_git

_LIST = ("ls-files", "-v", "-s", "-z", "--")
_CHANGED = ("diff-files", "--name-only", "-z", "--ignore-submodules=all", "--")
_STRICT = ("-c", "core.checkStat=default", "-c", "core.trustctime=true")
_SIZES = ("cat-file", "--buffer", "--batch-check=%(objectname) %(objectsize)")
_WHOLE = ("cat-file", "--buffer", "--batch")
_FILES = ("H 100644 ", "H 100755 ")
"""Files that are checked out, and that git was not told to take for unchanged."""
_OID_AT, _STAGE = 9, " 0"
_MAX_BYTES = 64 * 2**20
"""Read of git's objects for one command."""
_LIMIT_S = 30.0
"""Reading all files instead takes longer."""
_HASHES = (hashlib.sha1, hashlib.sha256)


class Blob(NamedTuple):
    """The content of a file in git's objects."""

    oid: str
    size: int


def clean_files(root: Path, roots: Sequence[Path]) -> dict[str, Blob]:
    """Return the files below a resolved folder that hold what git holds, relative to it.

    None of them where git cannot say, or no sandbox holds what it may run.
    """
    top = repository_above(root)
    if top is None or own_git.view_of(root) is None:
        return {}
    below = root.relative_to(top).as_posix()
    with suppress(OSError, ValueError, SubprocessError):
        place = ("--literal-pathspecs", "-C", str(top), *_STRICT)
        changed = frozenset(_said(root, roots, *place, *_CHANGED, below).split("\0"))
        front = "" if below == "." else f"{below}/"
        oids = dict[str, str]()
        for row in _said(root, roots, *place, *_LIST, below).split("\0"):
            facts, _, name = row.partition("\t")
            if facts.startswith(_FILES) and facts.endswith(_STAGE) and name not in changed:
                oids[name.removeprefix(front)] = facts[_OID_AT : -len(_STAGE)]
        sizes = dict[str, int]()
        lines = "".join(f"{oid}\n" for oid in dict.fromkeys(oids.values()))
        for row in _said(root, roots, "-C", str(top), *_SIZES, lines=lines).splitlines():
            oid, _, size = row.partition(" ")
            if size.isdigit():
                sizes[oid] = int(size)
        return {name: Blob(oid, sizes[oid]) for name, oid in oids.items() if oid in sizes}
    return {}


def contents(root: Path, roots: Sequence[Path], blobs: Iterable[Blob]) -> Mapping[str, bytes]:
    """Return what git's objects hold, by their names; those that are gone are left out."""
    wanted, total = list[str](), 0
    for blob in dict.fromkeys(blobs):
        total += blob.size
        if total <= _MAX_BYTES:
            wanted.append(blob.oid)
    found = dict[str, bytes]()
    top = repository_above(root)
    if top is None or own_git.view_of(root) is None:
        return found
    with suppress(OSError, SubprocessError, ValueError):
        lines = "".join(f"{oid}\n" for oid in wanted)
        said = own_git.run(
            root, roots, "-C", str(top), *_WHOLE, lines=lines, limit_s=_LIMIT_S
        ).stdout
        at = 0
        while (end := said.find(b"\n", at)) >= 0:
            words, at = said[at:end].decode().split(" "), end + 1
            if words[-1].isdigit():
                data = said[at : at + int(words[-1])]
                at += len(data) + 1
                if _is_of(words[0], data):
                    found[words[0]] = data
    return found


def _is_of(oid: str, data: bytes) -> bool:
    whole = b"blob %d\0%s" % (len(data), data)
    return any(oid == one(whole).hexdigest() for one in _HASHES)


def _said(root: Path, roots: Sequence[Path], *arguments: str, lines: str = "") -> str:
    """Return what git prints. Errors: ``OSError``, also where it fails; ``SubprocessError``."""
    done = own_git.run(root, roots, *arguments, lines=lines, limit_s=_LIMIT_S)
    if done.returncode:
        raise OSError("git failed")
    return os.fsdecode(done.stdout)
