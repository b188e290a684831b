"""Hide the keys in this process's environment from other processes of the same user.

Called at program start, never by a test, because it changes the whole process.
"""

from __future__ import annotations

import ctypes
import os
import sys
from contextlib import suppress

_PR_SET_DUMPABLE = 4
_MARK = b"AGENT_LS_COMMAND"
"""Not hidden: an outer agent-ls that runs this process as a command finds it by this variable."""


def seal() -> None:
    """Let no other process read this one's memory or initial environment (Linux only).

    The variables keep their values, but move to memory that ``/proc`` does not show. A process with
    tracing rights, such as root's, can still read the memory.
    """
    if sys.platform != "linux":
        return
    with suppress(OSError, AttributeError, ValueError):
        libc = ctypes.CDLL(None)
        libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
        _move_variables(libc)


def _move_variables(libc: ctypes.CDLL) -> None:
    entries = ctypes.POINTER(ctypes.c_void_p).in_dll(libc, "environ")
    addresses: list[int] = []
    while entries and (address := entries[len(addresses)]):
        addresses.append(address)
    for address in addresses:
        name, equals, value = ctypes.string_at(address).partition(b"=")
        if not name or not equals or name == _MARK:
            continue
        ctypes.memset(address + len(name) + 1, ord("*"), len(value))
        # Libraries such as a database's can still read the value with getenv.
        os.putenv(os.fsdecode(name), os.fsdecode(value))
