"""A copy of the file tree in which some files have other texts, made of links to the rest.

For programs that read only the disk. The copy is in our own cache; nothing else is written to.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs
import psutil


@dataclass(frozen=True, slots=True)
class Shadow:
    """A folder that stands for ``/``. Blocking; errors: ``OSError``.

    Only folders on the way to what is not as on the disk are real; what else is in them is a link,
    so that relative names lead where they always do.
    """

    place: Path

    def inside(self, path: Path) -> Path:
        """Return where an absolute path is in the copy."""
        return self.place.joinpath(*path.parts[1:])

    def outside(self, path: Path) -> Path:
        """Return what a path in the copy stands for; itself when it is none."""
        inside = path.is_relative_to(self.place)
        return Path("/", path.relative_to(self.place)) if inside else path

    def put(self, path: Path, text: str | None) -> None:
        """Let a file have this text; None: it is deleted."""
        file = self._freed(path)
        if text is not None:
            # As they are: no translation of line ends.
            file.write_bytes(text.encode(errors="replace"))

    def lead(self, link: Path, target: Path) -> None:
        """Let a link of the tree lead to the copy of its target instead of the target."""
        self._freed(link).symlink_to(self.inside(target))

    def _freed(self, path: Path) -> Path:
        """Return where something else can be than on the disk."""
        inside = self._real(path.parent) / path.name
        inside.unlink(missing_ok=True)
        return inside

    def _real(self, folder: Path) -> Path:
        """Return a folder of the copy after all on the way to it were made real."""
        inside, outside = self.place, Path("/")
        for name in folder.parts[1:]:
            inside, outside = inside / name, outside / name
            if inside.is_symlink() or not inside.is_dir():
                inside.unlink(missing_ok=True)
                _link_all(outside, inside)
        return inside


@contextlib.contextmanager
def shadow_tree(texts: Mapping[Path, str | None]) -> Generator[Shadow]:
    """Give a copy where these files have these texts (None: deleted); it is gone afterwards.

    Errors: ``OSError``.
    """
    shadow = Shadow(new_place() / "root")
    try:
        _link_all(Path("/"), shadow.place)
        for path, text in texts.items():
            shadow.put(path, text)
        yield shadow
    finally:
        shutil.rmtree(shadow.place.parent, ignore_errors=True)


def _link_all(real: Path, folder: Path) -> None:
    """Make a folder of links to all that is in another one."""
    folder.mkdir()
    # A folder that is new, or above the workspace and not ours to list, has nothing to link.
    with contextlib.suppress(OSError):
        for entry in os.scandir(real):
            (folder / entry.name).symlink_to(entry.path)


def new_place() -> Path:
    """Return a new folder in our own cache, where nobody else looks. Errors: ``OSError``."""
    place = platformdirs.user_cache_path("agent-ls") / "shadow"
    place.mkdir(parents=True, exist_ok=True, mode=0o700)
    _sweep(place)
    # The process in the name says whose it is, should this one die.
    return Path(tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=place))


def _sweep(place: Path) -> None:
    """Remove what processes left that are no more."""
    for left in place.iterdir():
        owner = left.name.partition("-")[0]
        if owner.isdigit() and not psutil.pid_exists(int(owner)):
            shutil.rmtree(left, ignore_errors=True)
