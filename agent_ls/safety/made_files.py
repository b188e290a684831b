"""Remembers what commands made that steers other programs, until the user keeps or removes it.

Owns one small file in the user's data folder, since what a session left counts for the next one
too. Until then nothing of it counts for agent-ls: no settings, instructions, skills or servers.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from pydantic import TypeAdapter

from agent_ls.domain.errors import SettingsError
from agent_ls.loop.ports.approval import MadeFile
from agent_ls.safety.beneath import folder_beneath
from agent_ls.safety.control_files import names_of, names_own, steers
from agent_ls.safety.paths import real_path
from agent_ls.safety.text import visible_line
from agent_ls.safety.user_files import changing, read_json, user_file

_log = logging.getLogger(__name__)
_MAX_SHOWN = 5
"""Files of a folder that are named; of more only their number is."""
_NAMES: TypeAdapter[dict[object, object]] = TypeAdapter(dict[object, object])
_CONTENT = "list of files that commands made and you have not decided about"
_UNTIL_THEN = (
    "Nothing in any folder that steers agent-ls counts until you mend it, or delete it once you "
    "have looked through your folders"
)


def made_files_file() -> Path:
    """Return the file that lists what waits for the user's decision."""
    return user_file("made-files.json")


@dataclass(frozen=True, slots=True)
class MadeFiles:
    """Files and folders that commands made, and that the user has not decided about."""

    file: Path
    """It may not exist. Other servers write it, so nothing is cached."""
    aside: Path
    """The folder for what is removed and is in no review."""

    def undecided(self, folders: Collection[Path]) -> tuple[MadeFile, ...]:
        """Return what commands in these folders made and is still there."""
        try:
            made = self._all()
        except SettingsError as error:
            _log.warning("%s", error)
            return ()
        tops = {one for folder in folders for one in (folder, folder.resolve())} if made else ()
        return tuple(
            MadeFile(path, shown(path, folder), why_it_counts(path, folder), folder)
            for path, folder in made.items()
            if folder in tops and os.path.lexists(path)
        )

    def add(self, paths: Mapping[Path, Path]) -> None:
        """Remember what commands made, each with the workspace folder of the command.

        Errors: ``SettingsError`` if it cannot be written.
        """
        self._change(lambda old: {**old, **paths})

    def keep(self, made: Iterable[MadeFile]) -> None:
        """Let these count from now on. Errors: as ``add``."""
        self._forget({one.path for one in made})

    def set_aside(self, made: Iterable[MadeFile]) -> list[str]:
        """Move what is still there out of its folder; return a line for each that was or was not.

        Errors: as ``add``.
        """
        lines, gone = list[str](), set[Path]()
        for one in made:
            _remove_empty(one.path)
            try:
                if os.path.lexists(one.path):
                    place = _set_aside(one.path, _top(one.path, one.folder), self.aside)
                    lines.append(f"{one.shown} was moved to {place}")
                gone.add(one.path)
            except OSError as error:
                lines.append(f"{one.shown} could not be removed: {error.strerror or error}")
        self._forget(gone)
        return lines

    def is_undecided(self, path: Path) -> bool:
        """Say whether this file, or a folder around it, waits for the user's decision.

        So does what a running command has made.
        """
        try:
            places = (path, real_path(path))
        except (OSError, ValueError):
            return False
        try:
            made = self._all().keys()
        except SettingsError as error:
            _log.warning("%s", error)
            return True
        return any(
            not made.isdisjoint((place, *place.parents))
            or any(is_new(place) for is_new in _watches)
            for place in places
        )

    def _forget(self, gone: Collection[Path]) -> None:
        self._change(lambda old: {path: old[path] for path in old if path not in gone})

    def _all(self) -> dict[Path, Path]:
        """Return what waits, by path: the workspace folder in which a command made it.

        Errors: ``SettingsError`` if the file cannot be read.
        """
        named = read_json(self.file, _NAMES, _CONTENT, _UNTIL_THEN) or {}
        return {Path(str(path)): Path(str(folder)) for path, folder in named.items()}

    def _change(self, how: Callable[[dict[Path, Path]], dict[Path, Path]]) -> None:
        with changing(self.file, _CONTENT) as write:
            before = self._all()
            # What is absent now, as in another branch, may come back; a workspace hardly does.
            after = {path: top for path, top in how(before).items() if top.exists()}
            if after != before:
                names = {str(path): str(top) for path, top in after.items()}
                write(json.dumps(names, indent=2).encode() + b"\n")


_watches: list[Callable[[Path], bool]] = []
"""Each says whether a command that runs may have made a file."""


def open_watch(is_new: Callable[[Path], bool]) -> None:
    """From now on ask this, too, whether a file counts."""
    _watches.append(is_new)


def close_watch(is_new: Callable[[Path], bool]) -> None:
    """Ask this no more."""
    _watches[:] = [one for one in _watches if one != is_new]


def made_files() -> MadeFiles:
    """Return those of this user."""
    return MadeFiles(made_files_file(), user_file("set-aside"))


def is_undecided(path: Path) -> bool:
    """Say whether a command made a file, or a folder around it, and the user has not decided."""
    return made_files().is_undecided(path)


def shown(path: Path, root: Path) -> str:
    """Return the path as seen from its folder; of a folder the files, if they are few."""
    root = _top(path, root)
    name = visible_line(path.relative_to(root).as_posix())
    if path.is_symlink() or not path.is_dir() or path.name == ".git":
        return name
    files = sorted(islice(_files(path), _MAX_SHOWN + 1))
    if not files or len(files) > _MAX_SHOWN:
        return f"{name}/"
    return ", ".join(visible_line(one.relative_to(root).as_posix()) for one in files)


def why_it_counts(path: Path, root: Path) -> str:
    """Return what the file does, in words that follow its name."""
    names = names_of(path.relative_to(_top(path, root)).parts)
    if names_own(names):
        return "is a file of agent-ls's own"
    return steers(names) or (
        "makes git or other programs run what is in its folder, or is under a rule of yours"
    )


def _top(path: Path, folder: Path) -> Path:
    """Return the folder if the path is in it; a repository's data may lie elsewhere."""
    return folder if path.is_relative_to(folder) else path.parent.parent


def _files(path: Path) -> Iterator[Path]:
    return (Path(at, name) for at, _, names in os.walk(path) for name in names)


def _remove_empty(path: Path) -> None:
    """Remove a folder that holds nothing but folders."""
    if path.is_dir() and not path.is_symlink() and not any(_files(path)):
        with suppress(OSError):
            for at, _, _ in os.walk(path, topdown=False):
                Path(at).rmdir()


def _set_aside(path: Path, root: Path, aside: Path) -> Path:
    """Move a file or folder, also to another disk; return its new place.

    The folders above are opened without following links. Errors: ``OSError``.
    """
    aside.mkdir(mode=0o700, parents=True, exist_ok=True)
    below = path.relative_to(root)
    target = Path(tempfile.mkdtemp(prefix="", dir=aside)) / below
    if path.is_dir() and not path.is_symlink():
        with suppress(OSError):
            path.chmod(0o700)
    with folder_beneath(root, below.parent) as folder:
        here = Path(f"/proc/self/fd/{folder}")
        source = (here if here.is_dir() else path.parent) / path.name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(source, target)
    return target
