"""One agent-ls at a time in a folder: from checking a file to writing it. Blocking."""

from __future__ import annotations

import errno
import fcntl
import time
from collections.abc import Generator
from contextlib import contextmanager

from agent_ls.domain.errors import WorkspaceError

_LOCK_S = 10.0
_LOCK_STEP_S = 0.005
_NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOTSUP, errno.EINVAL, errno.EBADF})


@contextmanager
def alone_in(folder: int) -> Generator[None]:
    """Let no other agent-ls check a file of this folder and then write it, meanwhile.

    A lock on the folder itself leaves nothing behind, and goes with a process that dies.
    """
    is_locked = _locked(folder)
    try:
        yield
    finally:
        if is_locked:
            fcntl.flock(folder, fcntl.LOCK_UN)


def _locked(folder: int) -> bool:
    """Lock a folder; False on a file system without locks, where the version alone has to do."""
    until_s = time.monotonic() + _LOCK_S
    while True:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until_s:
                raise WorkspaceError(
                    "another agent-ls has been writing in that folder for a long time; "
                    "nothing was changed. Try again, or end that process"
                ) from None
            # The system cannot wait for a lock with a limit; this is a thread of its own.
            time.sleep(_LOCK_STEP_S)  # noqa: TID251
        except OSError as error:
            if error.errno in _NO_LOCKS:
                return False
            raise
        else:
            return True
