"""A copy of a folder with its unsaved texts, for programs that read only the disk. Blocking.

Project files are copied, not linked: a program may write to them, or may not follow links. Folders
above are filled with links, so that configurations and packages there are found. The copy is kept
between checks, so that programs' caches stay valid.
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

from agent_ls.checkers.raw_finding import lines_of
from agent_ls.processes.reading import read_file
from agent_ls.safety.control_files import has_secret_name

_PACKAGES = "node_modules"
_LINKED = frozenset({_PACKAGES, ".venv", "venv"})
"""Folders of installed packages: never copied, even if no ``.gitignore`` names them."""
_LEFT_OUT = frozenset({".git", ".hg", ".svn", ".agent-ls", ".tox", "__pycache__"})
"""State and caches of programs: neither copied nor linked, so the copy gets its own."""
_BUILT = "target"
"""Cargo's build folder; treated as source unless it is ignored."""
_MAX_COPIED_BYTES = 4 * 2**20
"""Larger files are linked instead of copied."""

_MAX_READ_BYTES = 8 * 2**20

_Stamp = tuple[int, int]
"""Size and modification time of a file."""


@dataclass(slots=True, weakref_slot=True)
class FolderCopy:
    """The copy of one folder, in our cache; deleted with this object or at exit."""

    folder: Path
    """Absolute and resolved."""
    place: Path | None = None
    """The folder that stands for ``/`` in the copy."""
    _made: dict[str, tuple[_Stamp | str, _Stamp]] = field(
        default_factory=dict[str, tuple["_Stamp | str", "_Stamp"]]
    )
    """Per file: its source (a stamp on disk, or an unsaved text) and the stamp of the copy."""
    _busy: threading.Lock = field(default_factory=threading.Lock)
    """A cancelled caller's thread may still be running."""

    def inside(self, path: Path) -> Path:
        """Map an absolute path to its path in the copy."""
        assert self.place is not None
        return self.place.joinpath(*path.parts[1:])

    def outside(self, path: Path) -> Path:
        """Map a path in the copy back to the real path; other paths are unchanged."""
        if self.place is None or not path.is_relative_to(self.place):
            return path
        return Path("/", path.relative_to(self.place))

    def plain(self, words: str) -> str:
        """Replace the copy's paths in a message by the real ones."""
        return words.replace(str(self.place), "")

    @property
    def readable(self) -> tuple[Path, ...]:
        """Return the folders that a program in the sandbox has to see of the copy."""
        return () if self.place is None else (self.place,)

    def lines(self, file: Path) -> list[str] | None:
        """Return the lines of a file of the folder as programs see it; None if there is none.

        None also for a file of secrets, and for a link that leads elsewhere than to the real file:
        a program may have put it there, and findings hold a line of the text.
        """
        if not file.is_relative_to(self.folder):
            return None
        try:
            place = self.inside(file)
            is_secret = _is_secret(file.relative_to(self.folder).as_posix())
            if is_secret or place.resolve() not in (place, file):
                return None
            text = read_file(place, max_bytes=_MAX_READ_BYTES)
        except (OSError, ValueError):
            # ValueError: the name is impossible, for example it has a NUL.
            return None
        return lines_of(text.decode(errors="replace"))

    def refresh(self, names: Iterable[str], texts: Mapping[str, str | None]) -> Path:
        """Update the copy to these files and texts (None: deleted), and link everything else.

        Shape: names are relative to the folder. Returns the path of the copy.
        Invariant: a changed file is newer than everything built from it in the copy.
        Errors: ``OSError``.
        """
        with self._busy:
            if self.place is None or not self.inside(self.folder).is_dir():
                self._begin()
            copy = self.inside(self.folder)
            is_copied = functools.cache(_is_copied)
            ours = {name for name in names if is_copied(_folder_of(name))} | texts.keys()
            # In the sandbox a link to a secret cannot be read, but a copy could.
            ours = {name for name in ours if not _is_secret(name)}
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
            # A folder that we may not list has nothing to link.
            with suppress(OSError):
                for entry in os.scandir(above):
                    if not _is_theirs(entry.name):
                        with suppress(FileExistsError):
                            self.inside(above / entry.name).symlink_to(entry.path)

    def _make(self, copy: Path, name: str, text: str | None) -> None:
        # Joined as strings, because this runs for every file of the project.
        real, place = f"{self.folder}/{name}", f"{copy}/{name}"
        with suppress(FileNotFoundError, PermissionError):
            on_disk = _stamp(os.stat(real)) if text is None else (0, 0)  # noqa: PTH116 - as above
            source = on_disk if text is None else text
            # Compare the copy's stamp too, since a program may have written to it.
            if os.path.lexists(place) and self._made.get(name) == (source, _stamp(os.lstat(place))):
                return
            goal = Path(place)
            if goal.is_dir() and not goal.is_symlink():
                shutil.rmtree(goal)
            goal.unlink(missing_ok=True)
            if text is not None:
                # As bytes, so that line ends are not translated.
                goal.write_bytes(text.encode(errors="replace"))
            elif on_disk[0] > _MAX_COPIED_BYTES:
                goal.symlink_to(real)
            else:
                shutil.copy(real, goal)
            self._made[name] = (source, _stamp(goal.lstat()))

    def _take_away(self, copy: Path, name: str) -> None:
        del self._made[name]
        place = copy / name
        if place.parent.resolve() != place.parent:
            # A program has put a link there: what it leads to is not ours.
            return
        place.unlink(missing_ok=True)
        with suppress(OSError):
            for above in place.parents:
                # Stops at the first folder that is not empty.
                above.rmdir()

    def _link_the_rest(self, copy: Path, folder: str, ours: Set[str]) -> None:
        """Link the entries of a folder that are no project files, such as installed packages."""
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
        """Return the installed packages that are links to packages inside the folder."""
        targets = {link: link.resolve() for link in _links(packages)}
        return {
            link: target
            for link, target in targets.items()
            if target.is_relative_to(self.folder)
            and _is_copied(target.relative_to(self.folder).as_posix())
        }

    def _link_packages(self, packages: Path, links: Mapping[Path, Path]) -> None:
        """Link installed packages; links into the folder are pointed into the copy."""
        shutil.rmtree(self.inside(packages), ignore_errors=True)
        for folder in {packages, *(link.parent for link in links)}:
            self.inside(folder).mkdir(parents=True, exist_ok=True)
            for entry in folder.iterdir():
                target = self.inside(links[entry]) if entry in links else entry
                if not any(link.parent == entry for link in links):
                    self.inside(entry).symlink_to(target)


def _links(packages: Path) -> Iterator[Path]:
    """Yield the linked packages in a folder, including scoped ones."""
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


@functools.lru_cache(maxsize=100_000)
def _is_secret(name: str) -> bool:
    return has_secret_name(name.split("/"))


def _is_copied(folder: str) -> bool:
    return not any(part in _LINKED or _is_left_out(part) for part in folder.split("/"))


def _is_theirs(name: str) -> bool:
    return _is_left_out(name) or name == _BUILT


def _is_left_out(name: str) -> bool:
    return name in _LEFT_OUT or (name.startswith(".") and name.endswith("_cache"))


def _new_place() -> Path:
    """Make a private folder in our cache; remove those of dead processes. Errors: ``OSError``."""
    place = platformdirs.user_cache_path("agent-ls").resolve() / "shadow"
    place.mkdir(parents=True, exist_ok=True, mode=0o700)
    for left in place.iterdir():
        owner = left.name.partition("-")[0]
        if owner.isdigit() and not psutil.pid_exists(int(owner)):
            shutil.rmtree(left, ignore_errors=True)
    # The process id in the name lets others clean up if this process dies.
    return Path(tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=place))
