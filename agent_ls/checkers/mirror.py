"""A copy of one folder as the person sees it, for programs that read only the disk.

Unlike ``shadow.py`` it holds copies rather than links of what the project itself consists of: a
command that nobody here knows may write to what it checks, or may not follow links. It stays from
check to check, so that what a program remembers of it stays true. Blocking.
"""

from __future__ import annotations

import functools
import os
import shutil
import threading
import weakref
from collections.abc import Iterable, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from agent_ls.checkers.shadow import new_place

_LINKED = frozenset({"node_modules", ".venv", "venv"})
"""Folders of installed packages: never copied, whether a ``.gitignore`` names them or not."""
_LEFT_OUT = frozenset({".git", ".hg", ".svn", ".agent-ls", ".tox", "__pycache__"})
"""What programs remember of the folder, as all hidden caches: here they have their own."""
_BUILT = "target"
"""Where cargo builds; only a folder of source if it is no ignored one."""
_MAX_COPIED_BYTES = 4 * 2**20
"""Larger files are linked."""

_Stamp = tuple[int, int]
"""Size and time of a file."""


@dataclass(slots=True, weakref_slot=True)
class Mirror:
    """One folder's copy, in our own cache; gone with this object or this process."""

    folder: Path
    """Absolute and resolved."""
    _copy: Path | None = None
    _made: dict[str, tuple[_Stamp | str, _Stamp]] = field(
        default_factory=dict[str, tuple["_Stamp | str", "_Stamp"]]
    )
    """What each file was made of, a file on the disk or a text, and what came of it."""
    _busy: threading.Lock = field(default_factory=threading.Lock)
    """Whoever was cancelled may still be at work in a thread."""

    def refresh(self, names: Iterable[str], texts: Mapping[str, str | None]) -> Path:
        """Return the copy, holding these files and these texts (None: deleted), and links to
        whatever else the folder has. All names are relative to it.

        Invariant: what is another than the last time is newer there than all that was made of it.
        Errors: ``OSError``.
        """
        with self._busy:
            copy = self._copy if self._copy is not None and self._copy.is_dir() else self._begin()
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

    def _begin(self) -> Path:
        place = new_place()
        weakref.finalize(self, shutil.rmtree, place, ignore_errors=True)
        # Some programs call a project by the name of its folder.
        self._copy = place / (self.folder.name or "root")
        self._copy.mkdir()
        self._made.clear()
        return self._copy

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
            is_theirs = _is_left_out(name) or name == _BUILT
            if not is_theirs and _joined(folder, name) not in ours:
                with suppress(FileExistsError):
                    (inner / name).symlink_to(entry.path)


def _joined(folder: str, name: str) -> str:
    return name if folder == "." else f"{folder}/{name}"


def _stamp(facts: os.stat_result) -> _Stamp:
    return facts.st_size, facts.st_mtime_ns


def _folder_of(name: str) -> str:
    return name.rpartition("/")[0] or "."


def _is_copied(folder: str) -> bool:
    """Say whether the files of a folder belong to the project itself."""
    return not any(part in _LINKED or _is_left_out(part) for part in folder.split("/"))


def _is_left_out(name: str) -> bool:
    return name in _LEFT_OUT or (name.startswith(".") and name.endswith("_cache"))
