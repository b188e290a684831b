"""The ``Workspace`` port on the disk alone.

Handles paths, texts and versions of files; blocking work runs in its own threads. The editor's
workspace uses it for files that are not open.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TypeVar

from agent_ls.domain.edits import (
    ChangeText,
    CreateFile,
    DeleteFile,
    EditOutcome,
    FileEdit,
    MoveFile,
    TextFile,
    apply_replacements,
)
from agent_ls.domain.errors import WorkspaceError
from agent_ls.domain.images import PutImage
from agent_ls.domain.permissions import ModeChange
from agent_ls.edits.encodings import Encoding
from agent_ls.edits.file_encodings import UTF_8, encoding_of, is_utf8, python_name, text_in
from agent_ls.edits.notebook_changes import why_it_breaks
from agent_ls.edits.notebooks import is_notebook
from agent_ls.loop.ports.workspace import DirEntry, FilePart, Listed, Look, Root, Unsaved
from agent_ls.safety import paths
from agent_ls.safety.paths import Place
from agent_ls.workspace import disk_files
from agent_ls.workspace.declared_encodings import declared_encoding
from agent_ls.workspace.disk_texts import encoded, known_encoding, versions_of
from agent_ls.workspace.kept_listing import KeptListing, kept_listing
from agent_ls.workspace.large_files import part_of, sample_of
from agent_ls.workspace.listing import (
    MAX_FILES,
    FolderFiles,
    is_large,
    list_files,
    tracked_though_excluded,
)
from agent_ls.workspace.read_cache import ReadCache
from agent_ls.workspace.tree import large_tree_of, tree_of

_log = logging.getLogger(__name__)

T = TypeVar("T")

_THREADS = 4
_TREE_S = 300.0
_KEPT_FROM_FILES = 1_000
"""Folders with fewer files are walked as quickly as they are watched."""
_MAX_DESCRIBED = 10_000
_MAX_BYTES_BY_LINES = 2**30


class DiskWorkspace:
    """A workspace of files on disk, without an editor."""

    def __init__(
        self, roots: Sequence[Root], cache: ReadCache | None = None, *, max_files: int = MAX_FILES
    ) -> None:
        """``roots`` are absolute, with links resolved; ``max_files`` limits the list of each."""
        self._max_files = max_files
        self._roots = tuple(roots)
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="workspace")
        self._writing = threading.Lock()
        self._cache = cache or ReadCache()
        self._tree: tuple[float, str] | None = None
        self._listings: dict[Path, KeptListing] = {}
        self._encodings: dict[Path, str] = {}
        """Encodings that were guessed, by file: an edit may leave too little to guess it again."""

    @property
    def roots(self) -> tuple[Root, ...]:
        """Return the workspace's folders."""
        return self._roots

    def locate(self, path: str) -> tuple[Root, Path]:
        """Return the root of ``path`` and its absolute path, links resolved."""
        place = paths.locate(path, self._roots)
        return place.root, place.absolute

    def shown(self, absolute: Path) -> str | None:
        """Return the model's name for an absolute path; None outside all roots."""
        return paths.shown(absolute, self._roots)

    async def read(self, path: str) -> TextFile:
        """Return the file's text; ``WorkspaceError`` if it is missing, binary or too large."""
        return await self._run(lambda: self._read(path))

    def _read(self, path: str) -> TextFile:
        return self._read_at(paths.locate_file(path, self._roots), path)

    def _read_at(self, place: Place, path: str) -> TextFile:
        before = disk_files.signature(place, path)
        if (known := self._cache.get(place.absolute, before)) is not None:
            return known.model_copy(update={"path": path})
        data = disk_files.read_bytes(place, path, limit=_limit(path))
        encoding = self._encoding(place, path, data)
        file = TextFile(
            path=path,
            text=text_in(encoding, data),
            version=disk_files.digest(data),
            encoding="" if encoding.name == "utf-8" else encoding.name,
        )
        # Another encoding may be declared meanwhile, which leaves the file as it is.
        if not file.encoding and disk_files.signature(place, path) == before:
            self._cache.put(place.absolute, before, file)
        return file

    def _encoding(self, place: Place, path: str, data: bytes) -> Encoding:
        """Return the encoding of a file's bytes. Errors: ``WorkspaceError``."""
        if is_utf8(data):
            return encoding_of(data) or UTF_8
        declared = declared_encoding(place.root.path, place.below)
        guessed = self._encodings.get(place.absolute, "")
        encoding = known_encoding(data, path, declared or guessed)
        if not declared:
            self._encodings[place.absolute] = encoding.name
        return encoding

    def _encoding_to_write(self, place: Place, path: str, data: bytes) -> Encoding:
        """Return the encoding in which a file of these bytes is written anew.

        Plain text may be in any, so what is declared or was found before counts.
        Errors: ``WorkspaceError``.
        """
        if not data.isascii():
            return self._encoding(place, path, data)
        declared = python_name(declared_encoding(place.root.path, place.below))
        name = declared or self._encodings.get(place.absolute, "")
        return UTF_8 if not name or name.startswith("utf-16") else Encoding(b"", name)

    async def read_part(
        self, path: str, first: int, count: int, *, start: int = 0, max_chars: int
    ) -> FilePart:
        """Return lines of a file, also of one that is too large to be read as a whole."""

        def read() -> FilePart:
            place = paths.locate_file(path, self._roots)
            with disk_files.opened(place, path) as descriptor:
                size = os.fstat(descriptor).st_size
                if size > _MAX_BYTES_BY_LINES:
                    raise WorkspaceError(
                        f"{path} has {size / 2**30:.1f} GB, too much to be read by lines; use "
                        "grep, or a command such as `tail` or `sed -n 100,200p`."
                    )
                encoding = self._encoding(place, path, sample_of(descriptor))
                name = "utf-8-sig" if encoding.name == "utf-8" else encoding.name
                os.lseek(descriptor, len(encoding.mark) if encoding.name != "utf-8" else 0, 0)
                part = part_of(
                    descriptor,
                    path,
                    encoding=name,
                    first=first,
                    count=count,
                    start=start,
                    max_chars=max_chars,
                )
            named = "" if encoding.name == "utf-8" else encoding.name
            return replace(part, size_bytes=size, encoding=named)

        return await self._run(read)

    async def image_bytes(self, path: str) -> bytes | None:
        """Return the bytes of an image; None if the file is none."""
        return await self._run(
            lambda: disk_files.read_image(paths.locate_file(path, self._roots), path)
        )

    async def snapshot(self, path: str) -> bytes | None:
        """Return the exact bytes, or a text of another encoding in UTF-8; None: no file."""
        return await self._run(lambda: self._snapshot(path))

    def _snapshot(self, path: str) -> bytes | None:
        data = self._saved(path)
        if data is None or len(data) > disk_files.MAX_BYTES or is_utf8(data):
            return data
        try:
            encoding = self._encoding(paths.locate_file(path, self._roots), path, data)
        except WorkspaceError:
            return data
        return text_in(encoding, data).encode("utf-8")

    async def saved(self, path: str) -> bytes | None:
        """Return the exact bytes; None if there is no file."""
        return await self._run(lambda: self._saved(path))

    def _saved(self, path: str) -> bytes | None:
        place = paths.locate_file(path, self._roots)
        if not os.path.lexists(place.absolute):
            return None
        return disk_files.read_bytes(place, path, limit=None)

    async def mode(self, path: str) -> int | None:
        """Return a file's permissions; None if there is no file."""
        return await self._run(lambda: disk_files.mode(paths.locate_file(path, self._roots)))

    async def permit(self, path: str, change: ModeChange) -> None:
        """Change a file's permissions, unless others changed them since; a failure is logged."""
        try:
            place = paths.locate_file(path, self._roots)
            await self._run(lambda: disk_files.permit(place, path, change))
        except (OSError, WorkspaceError) as error:
            _log.warning("could not set the permissions of %s: %s", path, error)

    async def compare(self, looks: Sequence[Look]) -> list[tuple[str, bool]]:
        """Return, for each look, the file's canonical name and whether the look is still valid."""
        return await self._run(lambda: [self._compare(look) for look in looks])

    def _compare(self, look: Look) -> tuple[str, bool]:
        try:
            place = paths.locate_file(look.path, self._roots)
        except WorkspaceError:
            return look.path, False
        name = paths.shown(place.absolute, self._roots) or look.path
        seen = disk_files.glimpse(place)
        if seen is None:
            return name, look.version is None and look.digest is None
        known = self._cache.get(place.absolute, seen)
        try:
            versions = versions_of(known) if known else self._versions(place, look.path)
        except WorkspaceError:
            return name, False
        looked = (look.version, look.digest and disk_files.version(look.digest))
        return name, any(one in looked for one in versions)

    def _versions(self, place: Place, path: str) -> tuple[str, ...]:
        try:
            return versions_of(self._read_at(place, path))
        except WorkspaceError:
            # Files that are not readable text are compared by their bytes.
            return (disk_files.version_of(place, path),)

    async def exists(self, path: str) -> bool:
        """Tell whether the path exists."""
        return await self._run(lambda: os.path.lexists(paths.locate(path, self._roots).absolute))

    async def list_dir(self, path: str) -> list[DirEntry]:
        """Return a folder's entries, folders first, each group by name."""
        if len(self._roots) > 1 and path in (".", "./", ""):
            there = await self._run(self._present_roots)
            return [DirEntry(root.name, True, 0) for root in there]
        return await self._run(lambda: disk_files.entries(paths.locate(path, self._roots), path))

    async def files(self, path: str = ".") -> Listed:
        """Return all files below a folder, sorted, without ignored ones, and if the list is cut."""
        if len(self._roots) > 1 and path in (".", "./", ""):
            found = [await self.files(root.name) for root in await self._run(self._present_roots)]
            names = sorted(chain.from_iterable(found))
            unnamed = sum(one.unnamed for one in found)
            return Listed(names, is_cut=any(one.is_cut for one in found), unnamed=unnamed)
        return await self._run(lambda: self._files(paths.locate(path, self._roots), path))

    async def tracked_though_excluded(self, path: str) -> list[str]:
        """Return the files below a folder that only a rule ignores."""
        place = paths.locate(path, self._roots)
        below = place.absolute.relative_to(place.root.path).as_posix()
        roots = [root.path for root in self._roots]
        found = await self._run(lambda: self._tracked(place.root.path, roots, below))
        front = "" if len(self._roots) == 1 else f"{place.root.name}/"
        return [front + name for name in found]

    def _tracked(self, root: Path, roots: Sequence[Path], below: str) -> list[str]:
        listing = self._listings.get(root)
        if listing is not None and listing.is_kept and (found := listing.files(roots, below)):
            return found.tracked
        return tracked_though_excluded(root, roots, below)

    async def dirty(self) -> list[TextFile]:
        """Return nothing: on disk everything is saved."""
        return []

    async def save_dirty(self, *, can_show: bool = False) -> Unsaved:
        """Return nothing: on disk everything is saved."""
        return Unsaved()

    def follow_editor(self, written: Callable[[Path], None]) -> Callable[[], None]:
        """Do nothing: there is no editor."""
        return lambda: None

    async def describe(self) -> str:
        """Return a short tree of the folders, cached for a while so that prompts stay equal."""
        now_s = time.monotonic()
        if self._tree is None or now_s - self._tree[0] > _TREE_S:
            self._tree = (now_s, await self._described())
        return self._tree[1]

    async def _described(self) -> str:
        here = await self._run(self._present_roots)
        tops = [root.path for root in self._roots]
        large = [one for one in here if await self._run(lambda r=one: self._is_large(r.path, tops))]
        if not large:
            files = await self.files()
            notes = "".join(f"\n({note})" for note in files.notes)
            return f"{tree_of(files)}{notes}"
        parts = list[str]()
        for root in here:
            front = "" if len(self._roots) == 1 else f"{root.name}/"
            if root in large:
                parts.append(await self._run(lambda r=root, f=front: large_tree_of(r.path, f)))
            else:
                parts.append(tree_of(await self.files(root.name)))
        return "\n".join(filter(None, parts))

    def _is_large(self, root: Path, roots: Sequence[Path]) -> bool:
        """Say whether a folder holds more files than are listed only to describe it."""
        if not is_large(root, roots, _MAX_DESCRIBED):
            return False
        # The first glob or command will ask: nobody waits for it here.
        self._keep(root, roots)
        return True

    def _keep(self, root: Path, roots: Sequence[Path]) -> None:
        """Begin to keep the list of a folder's files."""
        if root not in self._listings:
            self._listings[root] = kept_listing(root)
            self._threads.submit(self._listings[root].refresh, roots)

    async def apply(self, edit: FileEdit) -> EditOutcome:
        """Carry out one file edit, wholly or not at all."""
        return await self._write(lambda: self._apply(edit))

    async def put(self, edit: PutImage, data: bytes | None) -> EditOutcome:
        """Write these bytes to a file, or move or delete it, wholly or not at all."""
        return await self._write(lambda: self._put(edit, data))

    async def _write(self, write: Callable[[], EditOutcome]) -> EditOutcome:
        """Write under the lock, since no other write may come between version check and rename."""

        def locked_write() -> EditOutcome:
            with self._writing:
                return write()

        try:
            return await self._run(locked_write)
        except disk_files.Stale:
            return EditOutcome(status="stale", reason="the file has changed since it was read.")
        except FileExistsError:
            return EditOutcome(status="refused", reason="something is at that path already.")
        except WorkspaceError as error:
            return EditOutcome(status="refused", reason=str(error))

    def _apply(self, edit: FileEdit) -> EditOutcome:
        place = paths.locate_file(edit.path, self._roots)
        match edit:
            case ChangeText():
                return self._change(edit, place)
            case CreateFile():
                encoding = edit.encoding or self._encoding_to_write(place, edit.path, b"").name
                data = encoded(edit.text, edit.path, encoding)
                disk_files.create(place, edit.path, data, mode=edit.mode)
                return _applied(data, edit.text)
            case DeleteFile():
                paths.check_no_link(edit.path, self._roots)
                disk_files.delete(place, edit.path, version=edit.base_version)
                return EditOutcome(status="applied")
            case MoveFile():
                paths.check_no_link(edit.path, self._roots)
                goal = paths.locate_file(edit.new_path, self._roots)
                disk_files.move(place, edit.path, goal, version=edit.base_version)
                return EditOutcome(status="applied", version=edit.base_version)

    def _change(self, edit: ChangeText, place: Place) -> EditOutcome:
        before = disk_files.read_bytes(place, edit.path, limit=_limit(edit.path))
        if disk_files.digest(before) != edit.base_version:
            raise disk_files.Stale
        encoding = self._encoding_to_write(place, edit.path, before)
        old = text_in(encoding, before)
        text = apply_replacements(old, edit.replacements)
        if why := why_it_breaks(edit.path, old, text):
            raise WorkspaceError(why)
        data = encoding.mark + encoded(text, edit.path, encoding.name)
        after = edit.mode.after if edit.mode else disk_files.same_mode
        disk_files.replace(place, edit.path, data, version=edit.base_version, mode_after=after)
        return _applied(data, text)

    def _put(self, edit: PutImage, data: bytes | None) -> EditOutcome:
        place, base, goal = self._unlinked(edit.path), edit.base, edit.goal
        if edit.by_move:
            # One of the two images is None: the file leaves ``path`` or comes back to it.
            image, other = base or goal, self._unlinked(edit.by_move)
            version = disk_files.version((image and image.digest) or "")
            if goal is None:
                disk_files.move(place, edit.path, other, version=version)
            else:
                disk_files.move(other, edit.by_move, place, version=version)
        elif base is None:
            mode = goal.mode if goal else None
            disk_files.create(place, edit.path, data or b"", mode=mode)
        elif data is None:
            disk_files.delete(place, edit.path, version=disk_files.version(base.digest or ""))
        else:
            version = disk_files.version(base.digest or "")
            disk_files.replace(place, edit.path, data, version=version, mode_after=edit.mode_after)
        return EditOutcome(status="applied")

    def _unlinked(self, path: str) -> Place:
        """Return the place of a path without links. Errors: ``WorkspaceError``."""
        place = paths.locate_file(path, self._roots)
        if place.below.parts != place.spelled:
            raise WorkspaceError(f"a link stands at {path} or above it, and is not followed")
        return place

    def _present_roots(self) -> list[Root]:
        """Return the folders that exist, so that a missing one does not break the others."""
        return [root for root in self._roots if root.path.is_dir()]

    def _files(self, place: Place, path: str) -> Listed:
        if not place.absolute.is_dir():
            raise WorkspaceError(f"{path} is not a folder.")
        below = place.absolute.relative_to(place.root.path).as_posix()
        front = "" if len(self._roots) == 1 else f"{place.root.name}/"
        found = self._listed(place.root.path, below)
        names = sorted((*found.walked, *found.tracked)) if found.tracked else found.walked
        named = (front + name for name in names) if front else names
        return Listed(named, is_cut=found.is_cut, unnamed=found.unnamed)

    def _listed(self, root: Path, below: str) -> FolderFiles:
        """Return the files below a folder, kept by events where there are many."""
        roots = [root.path for root in self._roots]
        listing = self._listings.get(root)
        if listing is not None and listing.is_kept:
            found = listing.files(roots, below)
            if found is not None and len(found.walked) <= self._max_files:
                return found
        found = list_files(root, roots, below, max_files=self._max_files)
        if len(found.walked) >= _KEPT_FROM_FILES:
            self._keep(root, roots)
        return found

    async def _run(self, work: Callable[[], T]) -> T:
        """Run blocking work in a thread; it finishes even if the caller is cancelled."""
        future = asyncio.get_running_loop().run_in_executor(self._threads, work)
        # Retrieve the exception, else asyncio logs it when the caller was cancelled.
        future.add_done_callback(lambda one: one.cancelled() or one.exception())
        return await asyncio.shield(future)


def _limit(path: str) -> int:
    return disk_files.MAX_NOTEBOOK_BYTES if is_notebook(path) else disk_files.MAX_BYTES


def _applied(data: bytes, text: str) -> EditOutcome:
    return EditOutcome(status="applied", version=disk_files.digest(data), text=text)
