"""Genuine changes of files out of version histories, and what a case asks of the engine."""

from __future__ import annotations

import random
import subprocess
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rapidfuzz.distance import LCSseq

_KINDS = (".py", ".js", ".ts", ".tsx", ".go", ".rs", ".java", ".c", ".h", ".cc", ".md", ".css",
          ".html", ".json", ".yml", ".toml", ".sh", ".rst", ".txt")  # fmt: skip
_MAX_BYTES = 150_000
_MAX_CHANGED = 60


@dataclass(frozen=True, slots=True)
class Change:
    """Lines ``low:high`` of a text become ``new``."""

    low: int
    high: int
    new: list[str]


@dataclass(frozen=True, slots=True)
class Truth:
    """One file before one commit, and what the commit changed in it."""

    path: str
    lines: list[str]
    changes: list[Change]

    @property
    def seed(self) -> int:
        return zlib.crc32(("\n".join(self.lines) + self.path).encode())


@dataclass(frozen=True, slots=True)
class Edit:
    """What a model asks for, still free of any format."""

    old: str
    new: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """One question to the engine, and its answer."""

    kind: str
    """search-replace, unified or envelope."""
    drift: str
    path: str
    text: str
    request: object
    expected: str | None
    """The text afterwards; None when it has to be refused."""


def truths(git_dir: Path, most: int, seed: int = 7) -> Iterator[Truth]:
    """Yield changes of files that a history holds, a fair sample of it."""
    log = _git(git_dir, "log", "--no-merges", "--raw", "--no-renames", "--diff-filter=M",
               "--abbrev=40", "--format=")  # fmt: skip
    rows = [line.split() for line in log.splitlines() if line.startswith(":")]
    rows = [row for row in rows if row[5].endswith(_KINDS)]
    random.Random(seed).shuffle(rows)
    found = 0
    for row in rows:
        if found >= most:
            return
        before, after = (_text(git_dir, blob) for blob in row[2:4])
        if before is None or after is None or before == after:
            continue
        truth = _truth(row[5], before, after)
        if truth is not None:
            found += 1
            yield truth


def _truth(path: str, before: str, after: str) -> Truth | None:
    old, new = before.splitlines(), after.splitlines()
    if "\n".join(old) + "\n" != before or "\n".join(new) + "\n" != after:
        return None
    changes: list[Change] = []
    for op in LCSseq.opcodes(old, new):
        if op.tag == "equal":
            continue
        more = new[op.dest_start : op.dest_end]
        if changes and changes[-1].high == op.src_start:
            last = changes.pop()
            changes.append(Change(last.low, op.src_end, last.new + more))
        else:
            changes.append(Change(op.src_start, op.src_end, more))
    size = sum(one.high - one.low + len(one.new) for one in changes)
    return Truth(path, old, changes) if 0 < size <= _MAX_CHANGED and len(old) > 8 else None


def _git(git_dir: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", f"--git-dir={git_dir}", *arguments], capture_output=True, check=True
    )
    return done.stdout.decode(errors="replace")


def _text(git_dir: Path, blob: str) -> str | None:
    done = subprocess.run(
        ["git", f"--git-dir={git_dir}", "cat-file", "blob", blob], capture_output=True, check=False
    )
    if done.returncode or len(done.stdout) > _MAX_BYTES:
        return None
    try:
        return done.stdout.decode()
    except UnicodeDecodeError:
        return None


def whole(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"


def carried_out(lines: list[str], changes: list[Change]) -> str:
    """Return the text after some of the changes."""
    result = list(lines)
    for one in reversed(changes):
        result[one.low : one.high] = one.new
    return whole(result)
