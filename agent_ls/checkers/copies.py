"""A copy of one folder as the person sees it, for programs that read only the disk.

It holds copies rather than links of what the project itself consists of: a program may write to
what it checks, or may not follow links. What is above the folder is there as links, so that a
configuration or package there is found. The copy stays from check to check, so that what a program
remembers of it stays true. Blocking.
"""

from __future__ import annotations

import functools
import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import platformdirs
import psutil

from agent_ls.checkers.said import lines_of
from agent_ls.processes.reading import read_file

_PACKAGES = "node_modules"
_LINKED = frozenset({_PACKAGES, ".venv", "venv"})
"""Folders of installed packages: never copied, whether a ``.gitignore`` names them or not."""
_LEFT_OUT = frozenset({".git", ".hg", ".svn", ".agent-ls", ".tox", "__pycache__"})
"""What programs remember of the folder, as all hidden caches: here they have their own."""
_BUILT = "target"
"""Where cargo builds; only a folder of source if it is no ignored one."""
_MAX_COPIED_BYTES = 4 * 2**20
"""Larger files are linked."""

_MAX_READ_BYTES = 8 * 2**20

_Stamp = tuple[int, int]
"""Size and time of a file."""


@dataclass(slots=True, weakref_slot=True)
class FolderCopy:
    """One folder's copy, in our own cache; gone with this object or this process."""

    folder: Path
    """Absolute and resolved."""
    place: Path | None = None
    """What stands for ``/`` there."""
    _made: dict[str, tuple[_Stamp | str, _Stamp]] = field(
        default_factory=dict[str, tuple["_Stamp | str", "_Stamp"]]
    )
    """What each file was made of, a file on the disk or a text, and what came of it."""
    _busy: threading.Lock = field(default_factory=threading.Lock)
    """Whoever was cancelled may still be at work in a thread."""

    def inside(self, path: Path) -> Path:
        """Return where an absolute path is in the copy."""
        assert self.place is not None
        return self.place.joinpath(*path.parts[1:])

    def outside(self, path: Path) -> Path:
        """Return what a path in the copy stands for; itself when it is none."""
        if self.place is None or not path.is_relative_to(self.place):
            return path
        return Path("/", path.relative_to(self.place))

    def plain(self, words: str) -> str:
        """Name files where the person knows them, not where a program saw them."""
        return words.replace(str(self.place), "")

    def lines(self, file: Path) -> list[str] | None:
        """Return the lines of a file of the folder as programs see them; None when it is none."""
        if not file.is_relative_to(self.folder):
            return None
        try:
            text = read_file(self.inside(file), max_bytes=_MAX_READ_BYTES)
        except (OSError, ValueError):
            # There is none such, or there can be none, such as one with a NUL in its name.
            return None
        return lines_of(text.decode(errors="replace"))

    def refresh(self, names: Iterable[str], texts: Mapping[str, str | None]) -> Path:
        """Return the copy, holding these files and these texts (None: deleted), and links to
        whatever else the folder has. All names are relative to it.

        Invariant: what is another than the last time is newer there than all that was made of it.
        Errors: ``OSError``.
        """
        with self._busy:
            if self.place is None or not self.inside(self.folder).is_dir():
                self._begin()
            copy = self.inside(self.folder)
            is_copied = functools.cache(_is_copied)
            ours = {name for name in names if is_copied(_folder_of(name))} | texts.keys()
            files = {name for name in ours if texts.get(name, "") is not None}
            for name in self._made.keys() - files:
                self._take_away(copy, name)
            folders = {"."}
            for folder in map(_folder_of, ours):
                while folder not in folders:
                    folders.add(folder)
                    folder = _folder_of(folder)
            known = ours | folders
            for folder in sorted(folders):
                self._link_the_rest(copy, folder, known)
            for name in files:
                self._make(copy, name, texts.get(name))
            return copy

    def _begin(self) -> None:
        place = _new_place()
        weakref.finalize(self, shutil.rmtree, place, ignore_errors=True)
        self.place = place / "root"
        self._made.clear()
        self.inside(self.folder).mkdir(parents=True)
        for above in self.folder.parents:
            # One that is not ours to list has nothing that we could link.
            with suppress(OSError):
                for entry in os.scandir(above):
                    if not _is_theirs(entry.name):
                        with suppress(FileExistsError):
                            self.inside(above / entry.name).symlink_to(entry.path)

    def _make(self, copy: Path, name: str, text: str | None) -> None:
        # Joined by hand: this is done for every file of the project.
        real, place = f"{self.folder}/{name}", f"{copy}/{name}"
        with suppress(FileNotFoundError, PermissionError):
            on_disk = _stamp(os.stat(real)) if text is None else (0, 0)  # noqa: PTH116 - as above
            source = on_disk if text is None else text
            # A program may also have written to what is there.
            if os.path.lexists(place) and self._made.get(name) == (source, _stamp(os.lstat(place))):
                return
            goal = Path(place)
            if goal.is_dir() and not goal.is_symlink():
                shutil.rmtree(goal)
            goal.unlink(missing_ok=True)
            if text is not None:
                # As it is: no translation of line ends.
                goal.write_bytes(text.encode(errors="replace"))
            elif on_disk[0] > _MAX_COPIED_BYTES:
                goal.symlink_to(real)
            else:
                shutil.copy(real, goal)
            self._made[name] = (source, _stamp(goal.lstat()))

    def _take_away(self, copy: Path, name: str) -> None:
        del self._made[name]
        (copy / name).unlink(missing_ok=True)
        with suppress(OSError):
            for above in (copy / name).parents:
                # Up to the first that holds something else.
                above.rmdir()

    def _link_the_rest(self, copy: Path, folder: str, ours: Set[str]) -> None:
        """Link what in a folder is no file of the project's, such as installed packages."""
        inner = copy / folder
        if inner.is_symlink() or inner.is_file():
            inner.unlink()
        inner.mkdir(parents=True, exist_ok=True)
        for there in inner.iterdir():
            if there.is_symlink():
                there.unlink()
        if not (self.folder / folder).is_dir():
            return
        for entry in os.scandir(self.folder / folder):
            name = entry.name
            if _is_theirs(name) or _joined(folder, name) in ours:
                continue
            if name == _PACKAGES and (links := self._links_into_folder(Path(entry.path))):
                self._link_packages(Path(entry.path), links)
                continue
            with suppress(FileExistsError):
                (inner / name).symlink_to(entry.path)

    def _links_into_folder(self, packages: Path) -> dict[Path, Path]:
        """Return the installed packages that are links to packages of the folder's own."""
        targets = {link: link.resolve() for link in _links(packages)}
        return {
            link: target
            for link, target in targets.items()
            if target.is_relative_to(self.folder)
            and _is_copied(target.relative_to(self.folder).as_posix())
        }

    def _link_packages(self, packages: Path, links: Mapping[Path, Path]) -> None:
        """Link what is installed, but let these links lead into the copy."""
        shutil.rmtree(self.inside(packages), ignore_errors=True)
        for folder in {packages, *(link.parent for link in links)}:
            self.inside(folder).mkdir(parents=True, exist_ok=True)
            for entry in folder.iterdir():
                target = self.inside(links[entry]) if entry in links else entry
                if not any(link.parent == entry for link in links):
                    self.inside(entry).symlink_to(target)


def _links(packages: Path) -> Iterator[Path]:
    """Yield the packages in a folder that are links, those of scopes as well."""
    with suppress(OSError):
        for entry in packages.iterdir():
            if entry.is_symlink():
                yield entry
            elif entry.name.startswith("@"):
                yield from _links(entry)


def _joined(folder: str, name: str) -> str:
    return name if folder == "." else f"{folder}/{name}"


def _stamp(facts: os.stat_result) -> _Stamp:
    return facts.st_size, facts.st_mtime_ns


def _folder_of(name: str) -> str:
    return name.rpartition("/")[0] or "."


def _is_copied(folder: str) -> bool:
    """Say whether the files of a folder belong to the project itself."""
    return not any(part in _LINKED or _is_left_out(part) for part in folder.split("/"))


def _is_theirs(name: str) -> bool:
    return _is_left_out(name) or name == _BUILT


def _is_left_out(name: str) -> bool:
    return name in _LEFT_OUT or (name.startswith(".") and name.endswith("_cache"))


def _new_place() -> Path:
    """Return a new folder in our own cache, where nobody else looks. Errors: ``OSError``."""
    place = platformdirs.user_cache_path("agent-ls") / "shadow"
    place.mkdir(parents=True, exist_ok=True, mode=0o700)
    for left in place.iterdir():
        owner = left.name.partition("-")[0]
        if owner.isdigit() and not psutil.pid_exists(int(owner)):
            shutil.rmtree(left, ignore_errors=True)
    # The process in the name says whose it is, should this one die.
    return Path(tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=place))
