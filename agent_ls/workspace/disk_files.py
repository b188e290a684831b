"""Read and write single files below a root, by descriptor, wholly or not at all. Blocking.

A write goes to a temporary file beside the target, is synced, and is renamed over the target. A
file that would lose something by that, or cannot be replaced, is written in place (``keeping``).
Handles bytes and error messages; ``disk`` handles texts and versions.
"""

from __future__ import annotations

import errno
import hashlib
import logging
import os
import stat
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import PurePosixPath

from agent_ls.domain import temporary_files
from agent_ls.domain.errors import FileTooLarge, WorkspaceError
from agent_ls.domain.permissions import PERMISSIONS, ModeChange
from agent_ls.loop.ports.workspace import DirEntry
from agent_ls.pictures.reading import MAX_FILE_BYTES, kind_of
from agent_ls.processes.file_locks import lock_now, unlock
from agent_ls.safety.beneath import folder_beneath, open_beneath, rename_new
from agent_ls.safety.control_files import has_other_names
from agent_ls.safety.paths import Place
from agent_ls.workspace.keeping import CANNOT_REPLACE, give_attributes, overwrite
from agent_ls.workspace.read_cache import Signature

_log = logging.getLogger(__name__)

MAX_BYTES = 2 * 2**20
MAX_NOTEBOOK_BYTES = 32 * 2**20
"""Most of a notebook are images, of which the model sees none."""
_NEW_MODE = 0o666
_BLOCK = 2**20
_LOCK_S = 10.0
_LOCK_STEP_S = 0.005


class Stale(Exception):
    """The file has changed since it was read."""


@dataclass(frozen=True, slots=True)
class _Facts:
    """Attributes that a file keeps when its content is replaced."""

    mode: int
    owner: int
    group: int


@dataclass(frozen=True, slots=True)
class _NewContent:
    """What a file of a version becomes."""

    data: bytes
    version: str
    """The file's until then."""
    kept: _Facts
    mode: int | None
    """Its new permissions; None: they stay."""


def read_bytes(place: Place, shown: str, *, limit: int | None = MAX_BYTES) -> bytes:
    """Return a regular file's bytes.

    Errors: ``WorkspaceError`` if it is no regular file or larger than ``limit``.
    """
    with _in_words(shown), _opened(place) as descriptor:
        size = _regular_size(descriptor, shown)
        if limit is not None and size > limit:
            raise FileTooLarge(
                f"{shown} is too large to read ({size / 2**20:.1f} MB; the limit is "
                f"{limit / 2**20:.0f} MB). read_file shows parts of it and grep searches it; "
                "only a command can change it."
            )
        parts: list[bytes] = []
        left = size + 1 if limit is None else limit + 1
        while left > 0 and (part := os.read(descriptor, min(_BLOCK, left))):
            parts.append(part)
            left -= len(part)
        return b"".join(parts)


def read_image(place: Place, shown: str) -> bytes | None:
    """Return an image's bytes; None if the file is none, by its content.

    Errors: ``WorkspaceError`` if it is no regular file, or too large an image.
    """
    with _in_words(shown), _opened(place) as descriptor:
        size = _regular_size(descriptor, shown)
        if kind_of(os.pread(descriptor, 16, 0)) is None:
            return None
        if size > MAX_FILE_BYTES:
            raise WorkspaceError(
                f"{shown} is an image of {size / 2**20:.1f} MB, too large to be looked at (the "
                f"limit is {MAX_FILE_BYTES / 2**20:.0f} MB). A command can make a smaller copy."
            )
    return read_bytes(place, shown, limit=MAX_FILE_BYTES)


def signature(place: Place, shown: str) -> Signature:
    """Return the signature, which changes with the file; ``WorkspaceError`` if it is no file."""
    with _in_words(shown), _opened(place) as descriptor:
        _regular_size(descriptor, shown)
        return _signature(os.fstat(descriptor))


def glimpse(place: Place) -> Signature | None:
    """Return the signature of a path without opening it; None if it does not exist."""
    try:
        return _signature(os.lstat(place.absolute))
    except OSError:
        return None


def mode(place: Place) -> int | None:
    """Return the permissions of a regular file; None if there is none."""
    try:
        found = os.lstat(place.absolute)
    except OSError:
        return None
    return found.st_mode & PERMISSIONS if stat.S_ISREG(found.st_mode) else None


def permit(place: Place, shown: str, change: ModeChange) -> None:
    """Change a regular file's permissions, unless others changed them since.

    Errors: ``OSError``; ``WorkspaceError`` if it is no regular file.
    """
    with _opened(place) as descriptor:
        _regular_size(descriptor, shown)
        now = stat.S_IMODE(os.fstat(descriptor).st_mode)
        if change.after(now) != now:
            os.fchmod(descriptor, change.after(now))


def _permitted(descriptor: int, mode: int) -> bool:
    """Set a file's mode; return False if the file system does not support it."""
    try:
        os.fchmod(descriptor, mode)
    except OSError as error:
        _log.warning("could not give a file the permissions %o: %s", mode, error)
        return False
    return True


def _signature(facts: os.stat_result) -> Signature:
    return Signature(
        facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns
    )


def entries(place: Place, shown: str) -> list[DirEntry]:
    """Return the entries of a folder, folders first, each group by name.

    Errors: ``WorkspaceError`` if it is no folder.
    """
    if place.absolute.is_file():
        raise WorkspaceError(f"{shown} is a file; read_file shows it.")
    with (
        _in_words(shown),
        folder_beneath(place.root.path, place.below) as folder,
        os.scandir(folder) as found,
    ):
        listed = [
            DirEntry(one.name, _is_dir(one), _size(one))
            for one in found
            if not temporary_files.is_temporary(one.name)
        ]
    return sorted(listed, key=lambda entry: (not entry.is_dir, entry.name))


def _is_dir(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _size(entry: os.DirEntry[str]) -> int:
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


def digest(data: bytes) -> str:
    """Return the version of this content."""
    return version(hashlib.sha256(data).hexdigest())


def version(digest: str) -> str:
    """Return the version of content whose stored bytes have this SHA-256 digest."""
    return f"sha256:{digest}"


def version_of(place: Place, shown: str) -> str:
    """Return the version of a regular file, however large. Errors: ``WorkspaceError``."""
    with _in_words(shown), _opened(place) as descriptor:
        _regular_size(descriptor, shown)
        return _hashed(descriptor)


def same_mode(mode: int) -> int:
    """Return the mode unchanged."""
    return mode


def replace(
    place: Place,
    shown: str,
    data: bytes,
    *,
    version: str,
    mode_after: Callable[[int], int] = same_mode,
) -> None:
    """Replace the content of a file that still has ``version``.

    Its owner, attributes and other names stay. Its permissions become ``mode_after`` of the old
    ones; by default they stay.
    Errors: ``Stale``, ``WorkspaceError``.
    """
    with (
        _in_words(shown),
        folder_beneath(place.root.path, place.below.parent) as folder,
        _alone_in(folder),
    ):
        kept = _check_version(place, shown, version)
        if not kept.mode & 0o222:
            raise WorkspaceError(
                f"{shown} is write-protected, so it was not changed. Ask the user, or make it "
                "writable first."
            )
        goal = mode_after(kept.mode)
        new = _NewContent(data, version, kept, None if goal == kept.mode else goal)
        if has_other_names(place.absolute):
            _overwrite(place, shown, folder, new)
        elif not _replaced(place, shown, folder, new):
            try:
                _overwrite(place, shown, folder, new)
            except PermissionError:
                # It is another user's, in a folder of ours: only a new file can take its place.
                _replaced(place, shown, folder, new, is_last=True)
        _sync(folder)


def _replaced(
    place: Place,
    shown: str,
    folder: int,
    new: _NewContent,
    *,
    is_last: bool = False,
) -> bool:
    """Put a new file in the old one's place; False if that cannot be, or would lose something.

    With ``is_last`` there is no other way, so lost attributes are accepted.
    Errors: ``Stale``, ``OSError``.
    """
    temporary = _written(folder, new.data, new.kept, new.mode)
    try:
        with _opened(place) as old, _opened_in(folder, temporary) as made:
            is_whole = give_attributes(old, made)
        # Check again as late as possible: another process may have written meanwhile.
        _check_version(place, shown, new.version)
        if is_whole or is_last:
            os.rename(temporary, place.absolute.name, src_dir_fd=folder, dst_dir_fd=folder)
            return True
    except OSError as error:
        if is_last or error.errno not in CANNOT_REPLACE:
            raise
    finally:
        _remove(folder, temporary)
    return False


def _remove(folder: int, name: str) -> None:
    with suppress(OSError):
        os.unlink(name, dir_fd=folder)


def _overwrite(place: Place, shown: str, folder: int, new: _NewContent) -> None:
    """Write a file in place. Errors: ``Stale``, ``OSError``, ``WorkspaceError``."""
    with _opened(place, os.O_RDWR) as descriptor:
        before = b"".join(iter(lambda: os.read(descriptor, _BLOCK), b""))
        if digest(before) != new.version:
            raise Stale
        copy = _written(folder, before, new.kept, None)
        try:
            overwrite(descriptor, shown, before, new.data, copy)
        except WorkspaceError:
            raise
        except BaseException:
            _remove(folder, copy)
            raise
        _remove(folder, copy)
        if new.mode is not None:
            _permitted(descriptor, new.mode)


def create(place: Place, shown: str, data: bytes, *, mode: int | None = None) -> None:
    """Create a file at a free path, with missing folders above it.

    Shape: ``mode`` are its permissions; None for the default.
    Errors: ``FileExistsError`` if the path is taken, ``WorkspaceError``.
    """
    parent = place.below.parent
    with _in_words(shown), folder_beneath(place.root.path, parent, create=True) as folder:
        goal = None if mode is None else mode & PERMISSIONS
        temporary = _written(folder, data, None, goal)
        try:
            rename_new(folder, temporary, folder, place.absolute.name)
        except BaseException:
            _remove(folder, temporary)
            raise
        _sync(folder)


def delete(place: Place, shown: str, *, version: str) -> None:
    """Delete a file, if it still has ``version``. Errors: ``Stale``, ``WorkspaceError``."""
    with (
        _in_words(shown),
        folder_beneath(place.root.path, place.below.parent) as folder,
        _alone_in(folder),
    ):
        _check_version(place, shown, version)
        os.unlink(place.absolute.name, dir_fd=folder)
        _sync(folder)


def move(place: Place, shown: str, goal: Place, *, version: str) -> None:
    """Move a file that still has ``version`` to a free path.

    Errors: ``Stale``, ``FileExistsError``, ``WorkspaceError``.
    """
    above = goal.below.parent
    with (
        _in_words(shown),
        folder_beneath(place.root.path, place.below.parent) as folder,
        folder_beneath(goal.root.path, above, create=True) as to_folder,
        _alone_in(folder),
    ):
        _check_version(place, shown, version)
        rename_new(folder, place.absolute.name, to_folder, goal.absolute.name)
        _sync(folder)
        _sync(to_folder)


def _check_version(place: Place, shown: str, version: str) -> _Facts:
    """Return the attributes that the file keeps. Errors: ``Stale`` if it has another version."""
    with _opened(place) as descriptor:
        _regular_size(descriptor, shown)
        if _hashed(descriptor) != version:
            raise Stale
        found = os.fstat(descriptor)
        return _Facts(stat.S_IMODE(found.st_mode), found.st_uid, found.st_gid)


def _hashed(descriptor: int) -> str:
    hasher = hashlib.sha256()
    while part := os.read(descriptor, _BLOCK):
        hasher.update(part)
    return version(hasher.hexdigest())


def _written(folder: int, data: bytes, kept: _Facts | None, mode: int | None) -> str:
    """Write a new, synced temporary file with ``data`` in ``folder``; return its name.

    Shape: permissions are ``mode`` if it can be set, else those in ``kept``, else the default.
    """
    name = temporary_files.new_name()
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(name, flags, _NEW_MODE if kept is mode is None else 0o600, dir_fd=folder)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        if kept:
            with suppress(OSError):
                # chown needs privileges; failure is harmless.
                os.fchown(descriptor, kept.owner, kept.group)
        is_set = mode is not None and _permitted(descriptor, mode)
        if kept and not is_set:
            os.fchmod(descriptor, kept.mode)
        os.fsync(descriptor)
    except BaseException:
        _remove(folder, name)
        raise
    finally:
        os.close(descriptor)
    return name


@contextmanager
def _opened_in(folder: int, name: str) -> Generator[int]:
    flags = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(name, flags, dir_fd=folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def opened(place: Place, shown: str) -> Generator[int]:
    """Yield a regular file's descriptor. Errors: ``WorkspaceError``."""
    with _in_words(shown), _opened(place) as descriptor:
        _regular_size(descriptor, shown)
        yield descriptor


@contextmanager
def _opened(place: Place, flags: int = os.O_RDONLY) -> Generator[int]:
    descriptor = open_beneath(place.root.path, PurePosixPath(place.below), flags)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def _alone_in(folder: int) -> Generator[None]:
    """Lock the folder, so that no other agent-ls checks and writes a file in it meanwhile.

    A lock on the folder itself needs no lock file and ends with the process.
    """
    _lock(folder)
    try:
        yield
    finally:
        with suppress(OSError):
            unlock(folder)


def _lock(folder: int) -> None:
    """Lock a folder; a file system without locks has the version check alone.

    Errors: ``WorkspaceError`` when another process holds the lock for too long.
    """
    until_s = time.monotonic() + _LOCK_S
    while True:
        try:
            lock_now(folder)
        except BlockingIOError:
            if time.monotonic() > until_s:
                raise WorkspaceError(
                    "another process holds a lock on that folder; nothing was changed. Try again, "
                    "or end that process"
                ) from None
            # The system cannot wait for a lock with a limit; this is a thread of its own.
            time.sleep(_LOCK_STEP_S)  # noqa: TID251
        except OSError:
            return
        else:
            return


def _regular_size(descriptor: int, shown: str) -> int:
    found = os.fstat(descriptor)
    if stat.S_ISDIR(found.st_mode):
        raise WorkspaceError(f"{shown} is a folder; list_dir shows what is in it.")
    if not stat.S_ISREG(found.st_mode):
        raise WorkspaceError(f"{shown} is no ordinary file, so it is left alone.")
    return found.st_size


def _sync(folder: int) -> None:
    # Some file systems cannot sync a folder; the rename is atomic anyway.
    with suppress(OSError):
        os.fsync(folder)


@contextmanager
def _in_words(shown: str) -> Generator[None]:
    """Convert system errors to ``WorkspaceError`` with a message for user and model."""
    try:
        yield
    except FileExistsError:
        raise
    except FileNotFoundError:
        raise WorkspaceError(f"{shown} does not exist.") from None
    except OSError as error:
        raise WorkspaceError(f"{shown}: {_WORDS.get(error.errno or 0, error.strerror)}.") from None


_WORDS = {
    errno.EACCES: "permission denied",
    errno.EPERM: "the system does not allow it",
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "it would be larger than the system allows",
    errno.EIO: "the disk reports an error",
    errno.EROFS: "the file system is read-only",
    errno.ELOOP: "a link stands where none may be",
    errno.EXDEV: "it leads to another place than a moment ago",
    errno.ENXIO: "it is no ordinary file",
    errno.ENOTDIR: "a part of the path is a file, not a folder",
    errno.ENAMETOOLONG: "the name is too long",
}
