"""A copy of the file tree in which some files have other texts, made of links to the rest.

For programs that read only the disk. The copy is in our own cache; nothing else is written to.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Generator, Mapping
from pathlib import Path

import platformdirs
import psutil


@contextlib.contextmanager
def shadow_tree(texts: Mapping[Path, str | None]) -> Generator[Path]:
    """Give a folder that stands for ``/``, where these files have these texts (None: deleted).

    Only folders on the way to a changed file are real; what else is in them is a link, so that
    relative names lead where they always do. It is gone afterwards. Errors: ``OSError``.
    """
    shadow = new_place()
    try:
        _fill(shadow, Path("/"), {path.parts[1:]: text for path, text in texts.items()})
        yield shadow
    finally:
        shutil.rmtree(shadow, ignore_errors=True)


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


def _fill(shadow: Path, real: Path, texts: Mapping[tuple[str, ...], str | None]) -> None:
    below: dict[str, dict[tuple[str, ...], str | None]] = {}
    for (name, *rest), text in texts.items():
        below.setdefault(name, {})[tuple(rest)] = text
    # A folder that is new, or above the workspace and not ours to list, has nothing to link.
    with contextlib.suppress(OSError):
        for entry in os.scandir(real):
            if entry.name not in below:
                (shadow / entry.name).symlink_to(entry.path)
    for name, inner in below.items():
        if () not in inner:
            (shadow / name).mkdir()
            _fill(shadow / name, real / name, inner)
        elif (text := inner[()]) is not None:
            # As they are: no translation of line ends.
            (shadow / name).write_bytes(text.encode(errors="replace"))
