"""Which files of a folder may have changed since the look before: by its events, or all. Blocking.

Files that git tracks or that steer other programs count whatever the rules say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from agent_ls.safety.control_files import names_of, steers
from agent_ls.workspace.ignored_files import Entry, files_below, ignored_beside, ignored_in
from agent_ls.workspace.kept_listing import kept_listing
from agent_ls.workspace.listing import list_files

_COMPILED = "__pycache__"


@dataclass(frozen=True, slots=True)
class Look:
    """The files to look at, relative to the folder."""

    listed: set[str]
    """Those that are watched, as far as they may have changed."""
    others: set[str]
    """Those that may be gone, or that nothing lists any more."""
    is_whole: bool
    """All that are watched are in ``listed``."""
    beside: list[Entry]
    """What is ignored."""
    gap: str = ""


class FolderLook:
    """Looks at one folder again and again."""

    def __init__(self, root: Path, name: str, max_files: int) -> None:
        """Take a resolved folder, its name for messages, and the most files to watch."""
        self._root, self._name, self._max_files = root, name, max_files
        self._listing = kept_listing(root)
        self._touched = self._listing.follow()
        self._steering: set[str] = set()
        """Ignored files that were watched at the look before."""

    def look(self, roots: Sequence[Path], *, is_whole: bool = False) -> Look:
        """Return what may have changed since the last time; with ``is_whole``, all files."""
        is_kept = self._listing.refresh(roots)
        touched = self._touched.take() if is_kept else None
        if is_whole or touched is None:
            return self._whole(roots, is_kept=is_kept)
        beside = self._beside()
        steering, before = set(_steering(beside)), self._steering
        self._steering = steering
        listed = {name for name in touched if self._listing.holds(name)} | steering
        others = (touched | before) - listed
        return Look(_watched(listed), _watched(others), is_whole=False, beside=beside)

    def _whole(self, roots: Sequence[Path], *, is_kept: bool) -> Look:
        found, gap = self._listing.files(roots) if is_kept else None, ""
        if found is None or len(found.walked) > self._max_files:
            found, is_kept = list_files(self._root, roots, max_files=self._max_files), False
        if found.is_cut:
            self._touched.add(None)
            gap = f"only the first {len(found.walked):,} files of {self._name} are watched"
        names = {*found.walked, *found.tracked, *found.hidden}
        beside = self._beside() if is_kept else ignored_beside(self._root, names)
        self._steering = set(_steering(beside))
        return Look(_watched(names | self._steering), set(), is_whole=True, beside=beside, gap=gap)

    def _beside(self) -> list[Entry]:
        listing = self._listing
        return ignored_in(self._root, listing.loose_folders, listing.holds, listing.holds_folder)


def _watched(names: set[str]) -> set[str]:
    return {one for one in names if not (_COMPILED in one and _COMPILED in one.split("/"))}


def _steering(beside: Sequence[Entry]) -> Iterator[str]:
    """Yield the ignored files that steer other programs."""
    for name, _ in files_below(one for one in beside if _steers(one[0])):
        yield name


def _steers(name: str) -> bool:
    return bool(steers(names_of(PurePosixPath(name).parts)))
