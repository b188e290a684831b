"""Reading and writing single files below a root: blocking, by descriptor, whole or not at all.

A write goes to a temporary file beside the target, is synced, and takes the target's name in one
step. Owns bytes and errors in words; texts and versions are ``disk``'s.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import PurePosixPath

from agent_ls.domain.errors import WorkspaceError
from agent_ls.safety.beneath import folder_beneath, open_beneath, rename_new
from agent_ls.safety.paths import Place

MAX_BYTES = 2 * 2**20
_NEW_MODE = 0o666
_BLOCK = 2**20


class Stale(Exception):
    """The file is not the one that was read."""


def read_bytes(place: Place, shown: str, *, limit: int | None = MAX_BYTES) -> bytes:
    """Return a regular file's bytes.

    Errors: ``WorkspaceError`` for anything else and for files larger than ``limit``.
    """
    with _in_words(shown), _opened(place) as descriptor:
        size = _regular_size(descriptor, shown)
        if limit is not None and size > limit:
            raise WorkspaceError(
                f"{shown} is too large to read ({size / 2**20:.1f} MB; the limit is "
                f"{limit / 2**20:.0f} MB). Search in it with grep, or look at parts of it with "
                "a command such as head."
            )
        parts: list[bytes] = []
        left = size + 1 if limit is None else limit + 1
        while left > 0 and (part := os.read(descriptor, min(_BLOCK, left))):
            parts.append(part)
            left -= len(part)
        return b"".join(parts)


def digest(data: bytes) -> str:
    """Return the version that content has."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def replace(place: Place, shown: str, data: bytes, *, version: str) -> None:
    """Give an existing file new content, if it still has ``version``.

    Its permissions stay. Errors: ``Stale``, ``WorkspaceError``.
    """
    with _in_words(shown), folder_beneath(place.root.path, place.below.parent) as folder:
        mode = _check_version(place, shown, version)
        temporary = _written(folder, data, mode)
        try:
            # Once more, as late as can be: somebody may have written meanwhile.
            _check_version(place, shown, version)
            os.rename(temporary, place.absolute.name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=folder)
            raise
        _sync(folder)


def create(place: Place, shown: str, data: bytes) -> None:
    """Create a file where nothing is, with the folders above it.

    Errors: ``FileExistsError`` when something is there, ``WorkspaceError``.
    """
    parent = place.below.parent
    with _in_words(shown), folder_beneath(place.root.path, parent, create=True) as folder:
        temporary = _written(folder, data, None)
        try:
            rename_new(folder, temporary, folder, place.absolute.name)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=folder)
            raise
        _sync(folder)


def delete(place: Place, shown: str, *, version: str) -> None:
    """Delete a file, if it still has ``version``. Errors: ``Stale``, ``WorkspaceError``."""
    with _in_words(shown), folder_beneath(place.root.path, place.below.parent) as folder:
        _check_version(place, shown, version)
        os.unlink(place.absolute.name, dir_fd=folder)
        _sync(folder)


def move(place: Place, shown: str, goal: Place, *, version: str) -> None:
    """Move a file to where nothing is, if it still has ``version``.

    Errors: ``Stale``, ``FileExistsError``, ``WorkspaceError``.
    """
    above = goal.below.parent
    with (
        _in_words(shown),
        folder_beneath(place.root.path, place.below.parent) as folder,
        folder_beneath(goal.root.path, above, create=True) as to_folder,
    ):
        _check_version(place, shown, version)
        rename_new(folder, place.absolute.name, to_folder, goal.absolute.name)
        _sync(folder)
        _sync(to_folder)


def _check_version(place: Place, shown: str, version: str) -> int:
    """Return the file's permissions; it must have this version."""
    with _opened(place) as descriptor:
        _regular_size(descriptor, shown)
        hasher = hashlib.sha256()
        while part := os.read(descriptor, _BLOCK):
            hasher.update(part)
        if "sha256:" + hasher.hexdigest() != version:
            raise Stale
        return stat.S_IMODE(os.fstat(descriptor).st_mode)


def _written(folder: int, data: bytes, mode: int | None) -> str:
    """Return the name of a new, synced file in ``folder`` that holds ``data``.

    Without a ``mode`` it gets the permissions that any new file gets.
    """
    name = f".agent-ls-{secrets.token_hex(8)}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(name, flags, 0o600 if mode is not None else _NEW_MODE, dir_fd=folder)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        if mode is not None:
            os.fchmod(descriptor, mode)
        os.fsync(descriptor)
    except BaseException:
        with suppress(OSError):
            os.unlink(name, dir_fd=folder)
        raise
    finally:
        os.close(descriptor)
    return name


@contextmanager
def _opened(place: Place) -> Generator[int]:
    descriptor = open_beneath(place.root.path, PurePosixPath(place.below), os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _regular_size(descriptor: int, shown: str) -> int:
    found = os.fstat(descriptor)
    if stat.S_ISDIR(found.st_mode):
        raise WorkspaceError(f"{shown} is a folder; list_dir shows what is in it.")
    if not stat.S_ISREG(found.st_mode):
        raise WorkspaceError(f"{shown} is no ordinary file, so it is left alone.")
    return found.st_size


def _sync(folder: int) -> None:
    # Some file systems cannot sync a folder; the rename itself is whole all the same.
    with suppress(OSError):
        os.fsync(folder)


@contextmanager
def _in_words(shown: str) -> Generator[None]:
    """Turn the system's errors into ones a person and a model can act on."""
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
    errno.ENOSPC: "the disk is full; nothing was changed",
    errno.EROFS: "the file system is read-only",
    errno.ELOOP: "a link stands where none may be",
    errno.EXDEV: "it leads to another place than a moment ago",
    errno.ENXIO: "it is no ordinary file",
    errno.ENOTDIR: "a part of the path is a file, not a folder",
    errno.ENAMETOOLONG: "the name is too long",
}
