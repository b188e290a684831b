"""Says what is read-only because files have other names (hard links) elsewhere.

Whoever writes such a file changes it under all its names, so no command may.
"""

from __future__ import annotations

import os
import stat
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path

from agent_ls.safety.sandbox.survey import Survey, survey

_MAX_SECRETS = 2_000
MAX_LINKED = 100
"""Read-only places for such files. Where there are more files, whole folders are read-only."""


def linked_elsewhere(surveys: Mapping[Path, Survey]) -> list[Path]:
    """Return the files with names outside of the surveyed folders, or folders of such files.

    A file is left out if all its names are in these folders. A folder that cannot be listed is
    returned itself.
    """
    # In a folder within another one no name counts twice.
    tops = [one for one in surveys if surveys.keys().isdisjoint(one.parents)]
    folders = {path: linked for one in tops for path, linked in surveys[one].linked.items()}
    inside = Counter(one.file for linked in folders.values() for one in linked or ())
    places = dict[str, list[str]]()
    for path, linked in folders.items():
        outside = [f"{path}/{one.name}" for one in linked or () if inside[one.file] < one.names]
        if outside or linked is None:
            places[path] = outside
    return list(map(Path, _few(places, tuple(map(str, tops)))))


def other_names(secrets: Iterable[Path], roots: Iterable[Path]) -> list[Path]:
    """Return the other names in these folders of files that are hidden as secrets.

    Looks at every file only where such a file has other names. Errors: ``OSError``.
    """
    files = {file for path in secrets for file in _with_several_names(path)}
    if not files:
        return []
    surveys = (survey(root, is_thorough=True) for root in roots)
    folders = (folder for one in surveys for folder in one.linked.items())
    return [
        Path(path, one.name) for path, some in folders for one in some or () if one.file in files
    ]


def names_beside(places: Iterable[Path], surveys: Iterable[Survey]) -> list[Path]:
    """Return the other names, in thoroughly surveyed folders, of files that are or lie in these."""
    inside = frozenset(map(str, places))
    covered, beside = set[tuple[int, int]](), dict[str, tuple[int, int]]()
    for folder, some in (one for each in surveys for one in each.linked.items()) if inside else ():
        is_whole = not inside.isdisjoint(map(str, (folder, *Path(folder).parents)))
        for one in some or ():
            path = f"{folder}/{one.name}"
            if is_whole or path in inside:
                covered.add(one.file)
            else:
                beside[path] = one.file
    return [Path(path) for path, file in beside.items() if file in covered]


def _with_several_names(path: Path) -> Iterator[tuple[int, int]]:
    """Yield device and inode of a file, or of those in a folder, that have several names."""
    below = (Path(at, name) for at, _, names in os.walk(path) for name in names)
    for one in islice(chain((path,), below), _MAX_SECRETS):
        with suppress(OSError):
            facts = one.lstat()
            if facts.st_nlink > 1 and stat.S_ISREG(facts.st_mode):
                yield facts.st_dev, facts.st_ino


def _few(places: Mapping[str, list[str]], tops: Iterable[str]) -> list[str]:
    """Return the files, at most ``MAX_LINKED`` places: where there are more, folders above them.

    ``places`` are the files by folder; a folder without files is a place itself.
    """
    below = {folder: list(files) for folder, files in places.items()}
    for folder in places:
        path = folder
        while path not in tops:
            inner, path = path, path.rpartition("/")[0]
            is_known = path in below
            below.setdefault(path, []).append(inner)
            if is_known:
                break
    open_folders = deque(top for top in tops if top in below)
    chosen, number = list[str](), len(open_folders)
    while open_folders:
        # Outer folders first: a folder far above would keep commands from much else.
        path = open_folders.popleft()
        inner = below.get(path, [])
        if inner and number + len(inner) - 1 <= MAX_LINKED:
            number += len(inner) - 1
            open_folders.extend(inner)
        else:
            chosen.append(path)
    return chosen
