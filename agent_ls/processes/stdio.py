"""Standard input and output of a server: private descriptors that only the protocol uses.

Imports only the standard library, because `take_stdio` must run before any other import. What a
library prints afterwards goes to stderr.
"""

from __future__ import annotations

import atexit
import logging
import os
import sys
from dataclasses import dataclass
from typing import NoReturn


@dataclass(frozen=True)
class Pipes:
    """The private descriptors that lead to the client."""

    incoming: int
    outgoing: int


_taken: Pipes | None = None


def leave(code: int) -> NoReturn:
    """Ends the process with `code` at once, even if a library's thread would not end.

    The normal exit unloads every module, and a closing editor would wait for that.
    """
    atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage] - what libraries asked for
    logging.shutdown()
    sys.stderr.flush()
    os._exit(code)


def take_stdio() -> Pipes:
    """Returns the real stdin and stdout, and makes them private.

    From then on descriptor 1 leads to stderr and 0 to nothing, also for C libraries and child
    processes. Later calls return the same pipes.
    """
    global _taken
    if _taken is None:
        # Fill gaps below 3 first (started without stderr, say), else the private copies land there.
        while (nothing := os.open(os.devnull, os.O_RDWR)) <= 2:
            os.set_inheritable(nothing, True)
        pipes = Pipes(os.dup(0), os.dup(1))
        if sys.platform == "win32":
            import msvcrt

            for descriptor in (pipes.incoming, pipes.outgoing):
                msvcrt.setmode(descriptor, os.O_BINARY)
        os.dup2(nothing, 0)
        os.dup2(2, 1)
        os.close(nothing)
        _taken = pipes
    return _taken
