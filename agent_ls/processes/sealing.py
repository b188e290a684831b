"""Keeps the keys in this process's environment from other processes of the same user.

Called where the program starts, never by a test: what it does holds for the process as a whole.
"""

from __future__ import annotations

import ctypes
import os
import sys
from contextlib import suppress

_PR_SET_DUMPABLE = 4
_MARK = b"AGENT_LS_COMMAND"
"""An agent-ls that runs this one as a command finds it by this variable."""


def seal() -> None:
    """Let no other process read this one's memory or the variables it was started with (Linux).

    The variables keep their values; they move away from where the system shows them. A process
    with the rights to trace this one, such as root's, can still look into its memory.
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
        # A library that asks for it, such as a database's, gets a copy that is shown nowhere.
        os.putenv(os.fsdecode(name), os.fsdecode(value))
