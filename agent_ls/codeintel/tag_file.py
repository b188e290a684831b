"""The tags of one workspace on disk, so that a restart does not parse everything again.

A file of lines that is appended to and sometimes rewritten. Several servers may write at once:
each line has a checksum, and it counts only while the source file is unchanged.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from agent_ls import __version__
from agent_ls.codeintel.tags import Tags, from_line, to_line

_FORMAT = 1
_KEPT_DAYS = 30
_SLACK = 2
"""The file is rewritten when it has more than this many times as many lines as files."""
_MAX_BYTES = 256 * 2**20

Kept = Mapping[str, tuple[tuple[int, int], Tags]]


class TagFile:
    """The tag file of one set of folders."""

    def __init__(self, folder: Path, roots: Iterable[str], made_by: str) -> None:
        """Take the cache folder, the workspace's roots, and a digest of how tags are made."""
        key = "\0".join([str(_FORMAT), __version__, made_by, *roots])
        self._path = (
            folder / f"{hashlib.sha256(key.encode(errors='surrogatepass')).hexdigest()[:32]}.tags"
        )
        self._lines = 0

    def load(self) -> dict[str, tuple[tuple[int, int], Tags]]:
        """Return the tags by path; unreadable lines are left out."""
        found: dict[str, tuple[tuple[int, int], Tags]] = {}
        self._lines = 0
        try:
            if self._path.stat().st_size > _MAX_BYTES:
                self._path.unlink()
                return {}
            with self._path.open("rb") as file:
                for line in file:
                    self._lines += 1
                    if (one := from_line(line)) is not None:
                        found[one[0]] = one[1:]
        except OSError:
            return found
        return found

    def add(self, new: Kept, every: Kept) -> None:
        """Write new tags; disk errors are ignored, since they only cost time at the next start."""
        if not new:
            return
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            if self._lines + len(new) > _SLACK * len(every) + 100:
                self._rewrite(every)
            else:
                self._append(new)

    def _append(self, new: Kept) -> None:
        data = b"".join(to_line(path, *one) for path, one in new.items())
        # Begin on a new line, even if a killed writer left an incomplete line.
        fd = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with open(fd, "wb", buffering=0) as file:  # noqa: PTH123 - it has the descriptor already
            file.write(b"\n" + data if not self._ends_whole() else data)
        self._lines += len(new)

    def _ends_whole(self) -> bool:
        try:
            with self._path.open("rb") as file:
                if not file.seek(0, os.SEEK_END):
                    return True
                file.seek(-1, os.SEEK_END)
                return file.read(1) == b"\n"
        except OSError:
            return True

    def _rewrite(self, every: Kept) -> None:
        fd, name = tempfile.mkstemp(dir=self._path.parent, suffix=".new")
        place = Path(name)
        try:
            with open(fd, "wb") as file:  # noqa: PTH123 - it has the descriptor already
                for path, one in every.items():
                    file.write(to_line(path, *one))
            place.replace(self._path)
        except OSError:
            place.unlink(missing_ok=True)
            raise
        self._lines = len(every)


def sweep(folder: Path) -> None:
    """Remove tag files and temporary files older than ``_KEPT_DAYS``."""
    oldest_s = time.time_ns() / 1e9 - _KEPT_DAYS * 86_400
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            with contextlib.suppress(OSError):
                if path.suffix in (".tags", ".new") and path.stat().st_mtime < oldest_s:
                    path.unlink()
