"""The tags of workspaces, updated with as little parsing as possible. Blocking.

Runs in the worker process. A file counts as unchanged while its size and modification time are
the same. Texts of unsaved buffers come with the question and replace the disk's.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agent_ls.codeintel.tag_file import TagFile, sweep
from agent_ls.codeintel.tags import MAX_TAGGED_BYTES, NOTHING, Tags, tags_of
from agent_ls.processes.reading import read_file
from agent_ls.syntax.definitions import made_by
from agent_ls.syntax.languages import Language, language_of

_SETTLED_NS = 2_000_000_000
"""A file changed more recently than this could change again with the same modification time."""
_MAY_BE_SECRET = re.compile(
    r"(?:^|/)(?:\.|id_|kubeconfig)|env|secret|\.tfstate\.|keychain|\.opvault"
)
"""Cheap first test for names of files with secrets: matches all of them and few others."""
_DATA = frozenset({"json", "jsonc"})
"""Data languages: nobody looks up their keys by name."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The folders, files and unsaved texts that a question covers."""

    roots: tuple[tuple[str, str], ...]
    """Pairs of a prefix of file names and the folder it stands for."""
    files: Sequence[str]
    texts: Mapping[str, str]
    """Unsaved texts by name."""
    is_whole: bool = True
    """``files`` are all that there are."""


@dataclass(slots=True)
class _Place:
    """The tags of one set of folders."""

    kept: dict[str, tuple[tuple[int, int], Tags]]
    file: TagFile | None
    unsaved: dict[str, tuple[bytes, Tags]] = field(default_factory=dict[str, tuple[bytes, Tags]])
    fresh: dict[str, tuple[tuple[int, int], Tags]] = field(
        default_factory=dict[str, tuple[tuple[int, int], Tags]]
    )


@dataclass(frozen=True, slots=True)
class Tagged:
    """The tags of a workspace, and the number of files skipped for lack of time."""

    tags: dict[str, Tags]
    left: int


class Index:
    """The tags of all workspaces that were asked about."""

    def __init__(self, cache: Path | None) -> None:
        """Take the folder of the tag files; None keeps tags only in memory."""
        self._cache = cache
        self._places: dict[tuple[tuple[str, str], ...], _Place] = {}
        self._languages: dict[str, Language | None] = {}
        self._by_name: dict[str, Language | None] = {}
        self._left: deque[tuple[_Place, Scope, str]] = deque()
        if cache is not None:
            sweep(cache)

    def update(self, scope: Scope, limit_s: float) -> Tagged:
        """Return the tags of all files in the scope; after ``limit_s``, skip files not yet read."""
        place = self._place(scope.roots)
        until_s = time.monotonic() + limit_s
        now_ns = time.time_ns()
        found: dict[str, Tags] = {}
        left = 0
        self._left.clear()
        place.unsaved = {name: one for name, one in place.unsaved.items() if name in scope.texts}
        for name in scope.files:
            language = self.language(name)
            if language is None:
                continue
            if (text := scope.texts.get(name)) is not None:
                found[name] = _unsaved(place, name, text, language)
            elif (known := self._on_disk(place, scope, name, now_ns, until_s)) is not None:
                found[name] = known
            else:
                left += 1
                self._left.append((place, scope, name))
        if scope.is_whole and not left:
            for name in place.kept.keys() - found.keys():
                del place.kept[name]
        return Tagged(found, left)

    @property
    def has_left(self) -> bool:
        """Say whether files were skipped for lack of time."""
        return bool(self._left)

    def read_left(self, limit_s: float) -> None:
        """Read files that were skipped, so that the next answer has them."""
        until_s, now_ns = time.monotonic() + limit_s, time.time_ns()
        while self._left and time.monotonic() < until_s:
            self._on_disk(*self._left.popleft(), now_ns, until_s)

    def save(self) -> None:
        """Write new tags to the disk."""
        for place in self._places.values():
            if place.file is not None:
                place.file.add(place.fresh, place.kept)
            place.fresh = {}

    def language(self, name: str) -> Language | None:
        """Return the language of a file to index; None for others and for files with secrets."""
        if name in self._by_name:
            return self._by_name[name]
        last = name.rpartition("/")[2]
        key = last[last.find(".") :] if "." in last[1:] else last
        if key not in self._languages:
            language = language_of("", last)
            counts = language is not None and language.outline and language.id not in _DATA
            self._languages[key] = language if counts else None
        found = self._languages[key]
        if found and _MAY_BE_SECRET.search(name.lower()) and _is_secret(name.lower()):
            found = None
        self._by_name[name] = found
        return found

    def read(self, scope: Scope, name: str) -> str | None:
        """Return the newest text of a file; None if it cannot be read."""
        if (text := scope.texts.get(name)) is not None:
            return text
        try:
            data = read_file(Path(_path(scope, name)), max_bytes=MAX_TAGGED_BYTES)
        except OSError:
            return None
        return data.decode("utf-8", "replace").removeprefix("\ufeff")

    def _place(self, roots: tuple[tuple[str, str], ...]) -> _Place:
        if roots not in self._places:
            file = None
            if self._cache is not None:
                file = TagFile(self._cache, [part for one in roots for part in one], made_by())
            self._places[roots] = _Place(file.load() if file else {}, file)
        return self._places[roots]

    def _on_disk(
        self, place: _Place, scope: Scope, name: str, now_ns: int, until_s: float
    ) -> Tags | None:
        """Return the tags of a file on disk; None if time is up."""
        path = _path(scope, name)
        try:
            facts = os.stat(path)  # noqa: PTH116 - for thousands of files it is worth it
        except OSError:
            return NOTHING
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > MAX_TAGGED_BYTES:
            return NOTHING
        signature = (facts.st_mtime_ns, facts.st_size)
        known = place.kept.get(name)
        if known is not None and known[0] == signature:
            return known[1]
        if time.monotonic() > until_s:
            return None
        language = self.language(name)
        try:
            tags = (
                tags_of(read_file(Path(path), max_bytes=MAX_TAGGED_BYTES), language)
                if language
                else NOTHING
            )
        except OSError:
            return NOTHING
        is_settled = now_ns - facts.st_mtime_ns > _SETTLED_NS
        place.kept[name] = (signature if is_settled else (0, -1), tags)
        if is_settled:
            place.fresh[name] = place.kept[name]
        return tags


def _is_secret(name: str) -> bool:
    # Imported late: loading the patterns takes longer than parsing most files.
    from agent_ls.safety.name_patterns import NOT_SECRET, SECRET

    return bool(SECRET.search(name)) and not NOT_SECRET.search(name)


def _unsaved(place: _Place, name: str, text: str, language: Language) -> Tags:
    data = text.encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(data).digest()
    known = place.unsaved.get(name)
    if known is None or known[0] != digest:
        known = place.unsaved[name] = (digest, tags_of(data, language))
    return known[1]


def _path(scope: Scope, name: str) -> str:
    for front, folder in scope.roots:
        if name.startswith(front):
            return f"{folder}/{name[len(front) :]}"
    return name
