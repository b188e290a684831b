"""Keeps the list of a folder's files by the system's events, so that nobody walks it again.

Where there are no events, or they cannot be relied on, nothing is kept and each look walks. A file
that is only written by a name outside of the folder (a hard link) gives no event. Thread-safe.
"""

from __future__ import annotations

import os
import stat
import threading
from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence, Set
from contextlib import suppress
from pathlib import Path
from weakref import WeakSet, WeakValueDictionary

from agent_ls.domain.temporary_files import is_temporary
from agent_ls.safety.ripgrep import NEVER_LISTED, RULES_FILES, find_ripgrep, repository_above
from agent_ls.safety.sandbox.own_git import IndexFiles
from agent_ls.safety.sandbox.tracked import index_stamp
from agent_ls.workspace.folder_events import Event, EventsLost, FolderEvents
from agent_ls.workspace.ignore import IgnoreRules, is_text, outer_rules_files
from agent_ls.workspace.ignored_files import may_hold_files
from agent_ls.workspace.listing import FolderFiles, index_of, walked_files, with_tracked
from agent_ls.workspace.seen_files import file_clock_ns

_CLOCK_NS = 2_000_000_000
"""The file system's clock may lag by this much."""
_UNREADABLE = (FileNotFoundError, NotADirectoryError, PermissionError)
"""Why a folder is left out, as it is in a walk. An event tells when that changes."""
_MAX_TOUCHED = 100_000
"""Where a reader has not asked for so long that more has changed, all may have changed."""


class Touched:
    """What has changed since its reader asked last."""

    def __init__(self) -> None:
        self._names: set[str] | None = None

    def add(self, names: Iterable[str] | None) -> None:
        """Add names; None: anything may have changed."""
        if names is None or self._names is None:
            self._names = None
        else:
            self._names.update(names)
            if len(self._names) > _MAX_TOUCHED:
                self._names = None

    def take(self) -> set[str] | None:
        """Return the names of files that may have changed, and begin anew; None: all may have."""
        taken, self._names = self._names, set()
        return taken


class _Anew(Exception):
    """Something changed that needs a new walk."""


class KeptListing:
    """The files of one folder, as ``list_files`` returns them."""

    def __init__(self, root: Path) -> None:
        """Take a resolved folder. Nothing is looked at yet."""
        self._root = root
        self._lock = threading.RLock()
        self._events: FolderEvents | None = None
        self._state: object = None
        """What changes with rules outside of the folder, and with the folder itself."""
        self._rules = IgnoreRules(root)
        self._walked = set[str]()
        """The files that no rule excludes, and those whose names are no text."""
        self._sorted: list[str] | None = None
        self._index = IndexFiles()
        self._stamp: object = None
        """A state of the index."""
        self._outside = set[str](), set[str]()
        """The files and links in git's index that were not walked."""
        self._loose = set[str]()
        """The folders that hold entries which are not listed."""
        self._readers = WeakSet[Touched]()

    def follow(self) -> Touched:
        """Return a place for what changes from now on; at first anything may have changed."""
        reader = Touched()
        with self._lock:
            self._readers.add(reader)
        return reader

    @property
    def is_kept(self) -> bool:
        """Say whether the files are known without a walk, as far as no event says otherwise."""
        return self._events is not None

    def files(self, roots: Sequence[Path], below: str = ".") -> FolderFiles | None:
        """Return the files below a folder now; None where they are not kept."""
        with self._lock:
            front = "" if below == "." else f"{below}/"
            if not self.refresh(roots) or not self.holds_folder(front):
                return None
            if front and self._rules.excludes(front):
                # Who names an ignored folder sees what is in it.
                return None
            if self._sorted is None:
                self._sorted = sorted(filter(is_text, self._walked))
            unnamed = len(self._walked) - len(self._sorted)
            if unnamed and front:
                unnamed = sum(not is_text(one) for one in self._walked if one.startswith(front))
            first, end = 0, len(self._sorted)
            if front:
                first, end = (
                    bisect_left(self._sorted, front),
                    bisect_left(self._sorted, below + "0"),
                )
            # The caller may keep the list.
            walked = self._sorted[first:end]
            return with_tracked(self._root, walked, *self._outside, below, unnamed)

    def holds(self, name: str) -> bool:
        """Say whether a file was listed at the last look, or git tracks it."""
        return name in self._walked or name in self._index.regular

    def holds_folder(self, folder: str) -> bool:
        """Say whether a folder, with its slash, was not ignored at the last look."""
        return self._events is not None and folder in self._events

    @property
    def loose_folders(self) -> Sequence[str]:
        """Return the folders that held entries which are not listed, at the last look."""
        return [*self._loose]

    def refresh(self, roots: Sequence[Path]) -> bool:
        """Take in what has changed; False where the files are not kept. Blocking."""
        with self._lock:
            try:
                if self._events is None or self._state != self._outer_state():
                    self._walk(roots)
                else:
                    try:
                        self._take_in(self._events, self._events.read())
                        self._take_in_index(self._events, roots)
                    except (EventsLost, _Anew):
                        self._walk(roots)
            except OSError:
                self._events = None
                self._tell(None)
            return self._events is not None

    def _outer_state(self) -> object:
        facts = self._root.lstat()
        top = repository_above(self._root)
        rules = [(str(one), _stamp(one)) for one in outer_rules_files(self._root)]
        return facts.st_dev, facts.st_ino, top, rules

    def _walk(self, roots: Sequence[Path]) -> None:
        """List the files, and look again at each folder once it is watched. Errors: ``OSError``."""
        self._events, self._sorted = None, None
        self._tell(None)
        self._state, self._rules = self._outer_state(), IgnoreRules(self._root)
        began_ns = file_clock_ns() - _CLOCK_NS
        if find_ripgrep(roots) is None:
            raise OSError("without ripgrep each look walks")
        found, is_cut = walked_files(self._root, roots, ".")
        if is_cut:
            raise OSError("more files than are walked")
        events, listed = FolderEvents(str(self._root)), set(found)
        self._stamp, self._index = self._index_stamp(), index_of(self._root, roots)
        folders = _folders_of((listed, self._index.regular))
        self._walked, self._loose = set[str](), set[str]()
        stack = [""]
        while stack:
            folder = stack.pop()
            with suppress(*_UNREADABLE):
                events.watch(folder)
                with os.scandir(self._root / folder) as entries:
                    for entry in entries:
                        name = folder + entry.name
                        if name in listed:
                            self._walked.add(name)
                        elif entry.is_dir(follow_symlinks=False):
                            if self._is_ignored_folder(f"{name}/", folders):
                                self._loosen(name)
                            elif entry.name not in NEVER_LISTED:
                                stack.append(f"{name}/")
                        elif _came_after(entry, began_ns) and self._is_listed(name):
                            self._walked.add(name)
                        else:
                            self._loosen(name)
        self._outside = _left(self._index, self._walked)
        self._events = events

    def _is_ignored_folder(self, folder: str, folders: Set[str]) -> bool:
        return folder not in folders and self._rules.excludes(folder)

    def _loosen(self, name: str) -> None:
        """Remember that a folder holds something that is not listed."""
        folder, _, last = name.rpartition("/")
        if may_hold_files(last) and last not in NEVER_LISTED and name not in self._index.regular:
            self._loose.add(f"{folder}/" if folder else "")

    def _is_listed(self, name: str) -> bool:
        """Say whether a file is there that no rule excludes."""
        try:
            mode = os.lstat(f"{self._root}/{name}").st_mode
        except OSError:
            return False
        last = name.rpartition("/")[2]
        is_plain = stat.S_ISREG(mode) and last not in NEVER_LISTED and not is_temporary(last)
        return is_plain and not self._rules.excludes(name)

    def _take_in(self, watched: FolderEvents, events: Collection[Event]) -> None:
        """Look at what changed. Errors: ``OSError``, ``_Anew``."""
        if not events:
            return
        touched, moved = set[str](), set[str]()
        for event in events:
            last = event.name.rpartition("/")[2]
            if last in RULES_FILES or last == ".git":
                raise _Anew
            if not event.is_folder:
                touched.add(event.name)
            elif last not in NEVER_LISTED:
                moved.add(f"{event.name}/")
        if moved:
            touched |= self._moved(watched, moved)
        for name in touched:
            self._classify(watched, name)
        self._tell(touched)

    def _moved(self, watched: FolderEvents, folders: Collection[str]) -> set[str]:
        """Take in that folders came, went or changed; return the files that did so with them."""
        fronts = tuple(folders)
        touched = {
            name
            for names in (self._walked, *self._outside)
            for name in names
            if name.startswith(fronts)
        }
        self._rules = IgnoreRules(self._root)
        self._loose -= {one for one in self._loose if one.startswith(fronts)}
        for folder in folders:
            watched.forget(folder)
        for folder in sorted(folders):
            if folder not in watched:
                touched |= self._adopted(watched, folder)
        return touched

    def _adopted(self, watched: FolderEvents, top: str) -> set[str]:
        """Watch a folder that came, and all below it; return the files there."""
        files, stack = set[str](), [top]
        while stack:
            folder = stack.pop()
            if not _is_folder(f"{self._root}/{folder[:-1]}"):
                files.add(folder[:-1])
                continue
            if self._rules.excludes(folder):
                if any(name.startswith(folder) for name in self._index.regular):
                    raise _Anew
                self._loosen(folder[:-1])
                continue
            with suppress(*_UNREADABLE):
                watched.watch(folder)
                with os.scandir(self._root / folder) as entries:
                    for entry in entries:
                        name = folder + entry.name
                        if entry.name in RULES_FILES or entry.name == ".git":
                            raise _Anew
                        if not entry.is_dir(follow_symlinks=False):
                            files.add(name)
                        elif entry.name not in NEVER_LISTED:
                            stack.append(f"{name}/")
        return files

    def _classify(self, watched: FolderEvents, name: str) -> None:
        """Decide anew whether a file is listed; none behind a link to a folder is."""
        is_listed = name[: name.rfind("/") + 1] in watched and self._is_listed(name)
        was_listed = name in self._walked
        if not is_listed and os.path.lexists(f"{self._root}/{name}"):
            self._loosen(name)
        if is_listed == was_listed:
            return
        (self._walked.add if is_listed else self._walked.discard)(name)
        for names, tracked in zip(self._outside, self._index, strict=True):
            if name in tracked:
                (names.discard if is_listed else names.add)(name)
        if self._sorted is not None and is_text(name):
            at = bisect_left(self._sorted, name)
            self._sorted[at : at + was_listed] = [name] if is_listed else []

    def _take_in_index(self, watched: FolderEvents, roots: Sequence[Path]) -> None:
        """Take in what git tracks now. Errors: ``_Anew``."""
        if (stamp := self._index_stamp()) == self._stamp:
            return
        before, self._stamp, self._index = self._outside[0], stamp, index_of(self._root, roots)
        self._outside = _left(self._index, self._walked)
        for folder in _folders_of((self._outside[0],)):
            if folder not in watched and _is_folder(f"{self._root}/{folder[:-1]}"):
                raise _Anew
        self._tell(self._outside[0] ^ before)

    def _index_stamp(self) -> object:
        top = repository_above(self._root)
        return top and index_stamp(top)

    def _tell(self, names: Iterable[str] | None) -> None:
        for reader in self._readers:
            reader.add(names)


def _folders_of(groups: Iterable[Iterable[str]]) -> set[str]:
    """Return the folders above these files, with their slashes, and the top."""
    folders = {""}
    for names in groups:
        for name in names:
            folder = name[: name.rfind("/") + 1]
            while folder not in folders:
                folders.add(folder)
                folder = folder[: folder.rfind("/", 0, -1) + 1]
    return folders


def _is_folder(path: str) -> bool:
    """Say whether a folder is there, and no link."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def _left(index: IndexFiles, walked: Set[str]) -> tuple[set[str], set[str]]:
    """Return the files and links in git's index that were not walked."""
    return {one for one in index.regular if one not in walked}, set(index.links - walked)


def _came_after(entry: os.DirEntry[str], since_ns: int) -> bool:
    """Say whether a file may have come since, so that the walk before did not list it."""
    try:
        return entry.stat(follow_symlinks=False).st_ctime_ns >= since_ns
    except OSError:
        return False


def _stamp(path: Path) -> object:
    try:
        facts = path.lstat()
    except OSError:
        return None
    return facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns


_kept: WeakValueDictionary[Path, KeptListing] = WeakValueDictionary()
_making = threading.Lock()


def kept_listing(root: Path) -> KeptListing:
    """Return the listing of a resolved folder, the same one as long as somebody holds it."""
    with _making:
        found = _kept.get(root)
        if found is None:
            found = _kept[root] = KeptListing(root)
        return found
