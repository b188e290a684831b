"""Keeps what a file has beside its content: attributes, access lists, and its other names.

A new file that replaces the old one is given the attributes. What cannot be given, and a file that
has other names or cannot be replaced, is written in place. Blocking.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from contextlib import suppress

from agent_ls.domain.errors import WorkspaceError

CANNOT_REPLACE = frozenset({errno.EBUSY, errno.EXDEV, errno.EPERM})
"""Errors of a rename over a file: it is a mount point, as in a container, or not ours to remove."""
_COPYFILE_ACL_AND_XATTR = (1 << 0) | (1 << 2)
"""From ``copyfile.h`` of macOS."""


def give_attributes(source: int, target: int) -> bool:
    """Give a file the owner, access list and extended attributes of another; False if one is lost.

    Its permissions stay as they are.
    """
    mode = os.fstat(target).st_mode & 0o7777
    is_given = _give_on_macos(source, target) if sys.platform == "darwin" else _give(source, target)
    if os.fstat(target).st_mode & 0o7777 != mode:
        # An access list holds the permissions, too.
        os.fchmod(target, mode)
    was, now = os.fstat(source), os.fstat(target)
    return is_given and (was.st_uid, was.st_gid) == (now.st_uid, now.st_gid)


def _give(source: int, target: int) -> bool:
    wanted, there = _attributes(source), _attributes(target)
    if wanted is None or there is None:
        return False
    for name in there.keys() - wanted.keys():
        # A folder may give its new files an access list.
        with suppress(OSError):
            os.removexattr(target, name)
    for name, value in wanted.items():
        if there.get(name) != value:
            with suppress(OSError):
                os.setxattr(target, name, value)
    return _attributes(target) == wanted


def _attributes(descriptor: int) -> dict[str, bytes] | None:
    """Return the extended attributes; Linux keeps access lists there, too. None: unreadable."""
    if sys.platform != "linux":
        return {}
    try:
        return {name: os.getxattr(descriptor, name) for name in os.listxattr(descriptor)}
    except OSError as error:
        has_none = error.errno in (errno.EOPNOTSUPP, errno.ENOSYS)
        return {} if has_none else None


def _give_on_macos(source: int, target: int) -> bool:
    call = getattr(ctypes.CDLL(None, use_errno=True), "fcopyfile", None)
    return call is not None and call(source, target, None, _COPYFILE_ACL_AND_XATTR) == 0


def overwrite(descriptor: int, shown: str, before: bytes, data: bytes, copy: str) -> None:
    """Write a file in place; ``copy`` names a safe copy of its content.

    Where that fails, the content from before is put back.
    Errors: ``OSError``; ``WorkspaceError`` where it cannot be put back.
    """
    try:
        _write(descriptor, data)
    except BaseException as error:
        try:
            _write(descriptor, before)
        except OSError:
            raise WorkspaceError(
                f"{shown} is half written ({error}) and could not be put back. Its content from "
                f"before is in {copy}, in the same folder; copy that back"
            ) from error
        raise


def _write(descriptor: int, data: bytes) -> None:
    if len(data) > os.fstat(descriptor).st_size and hasattr(os, "posix_fallocate"):
        # A full disk is noticed before anything is overwritten.
        try:
            os.posix_fallocate(descriptor, 0, len(data))
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENODEV):
                raise
    at, view = 0, memoryview(data)
    while at < len(data):
        at += os.pwrite(descriptor, view[at:], at)
    os.ftruncate(descriptor, len(data))
    os.fsync(descriptor)
