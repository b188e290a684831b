"""Start programs for the server, on request over a socket. Started by its path.

Starting a program blocks the parent until the program is loaded, which would delay the server's
editor. This process is small and imports nothing of the project. It ends everything it started
when the server is gone.

A request is a length of four bytes, sent with the descriptors for the program's 0, 1, 2 and so on,
and then JSON. Answers are lines of JSON: first the process id or an error, at the end the exit
code.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

_SOCKET = 0
_MAX_DESCRIPTORS = 8
_MANY = 2**16
_HEADER = struct.Struct("!I")
_GRACE_S = 2.0
_LOOK_S = 0.02
_RESTORED = ("SIGPIPE", "SIGXFSZ")
"""Python ignores these signals, and a new program would inherit that."""


Spawn = Callable[[dict[str, Any], list[int]], int]
"""Starts the program of a request with its descriptors; returns its process id."""


def main() -> int:
    """Serve until the other end of the socket is closed, and end what still runs."""
    _end_all(serve(_spawned))
    return 0


def serve(spawn: Spawn) -> set[int]:
    """Serve until the other end of the socket is closed; return the groups that still run."""
    # Close descriptors inherited from the server.
    os.closerange(3, _MANY)
    # Occupy the low numbers, so that no received descriptor gets a number that programs use.
    while (spare := os.open(os.devnull, os.O_RDWR)) < _MAX_DESCRIPTORS:
        pass
    os.close(spare)
    asking = socket.socket(fileno=_SOCKET)
    wake, wakened = os.pipe()
    os.set_blocking(wakened, False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    signal.set_wakeup_fd(wakened, warn_on_full_buffer=False)
    for number in (signal.SIGINT, signal.SIGHUP):
        # Ctrl-C or a hang-up of the server's terminal is for the server to handle.
        signal.signal(number, signal.SIG_IGN)
    running: dict[int, int] = {}
    try:
        while True:
            ready, _, _ = select.select([asking, wake], [], [])
            if asking in ready:
                request = _receive(asking)
                if request is None:
                    break
                _start(asking, *request, running, spawn)
            if wake in ready:
                os.read(wake, 4_096)
            _reap(asking, running)
    except ConnectionError:
        pass
    finally:
        # In a fork the number is another file's by now.
        asking.detach()
    return set(running)


def _end_all(groups: set[int]) -> None:
    until_s = time.monotonic() + _GRACE_S
    living = _told(groups, signal.SIGTERM)
    while living and time.monotonic() < until_s:
        select.select([], [], [], _LOOK_S)
        with suppress(ChildProcessError):
            # Reap ended processes, so that they do not count as living.
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        living = _told(living, 0)
    _told(living, signal.SIGKILL)


def _told(groups: set[int], number: int) -> set[int]:
    """Send a signal to process groups; return the groups that still exist."""
    living: set[int] = set()
    for group in groups:
        with suppress(OSError):
            os.killpg(group, number)
            living.add(group)
    return living


def _receive(asking: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """Return the next request and its descriptors; None at the end of input."""
    header, descriptors, _, _ = socket.recv_fds(asking, _HEADER.size, _MAX_DESCRIPTORS)
    for one in descriptors:
        os.set_inheritable(one, False)
    while header and len(header) < _HEADER.size:
        header += asking.recv(_HEADER.size - len(header))
    if not header:
        return None
    (size,) = _HEADER.unpack(header)
    data = bytearray()
    while len(data) < size:
        piece = asking.recv(size - len(data))
        if not piece:
            return None
        data += piece
    return json.loads(data), descriptors


def _spawned(request: dict[str, Any], descriptors: list[int]) -> int:
    if not request["command"][0].startswith("/"):
        # PATH may hold a folder of the workspace.
        raise ValueError("a program is started by its full path")
    os.chdir(os.fsencode(request["cwd"]))
    return os.posix_spawn(
        os.fsencode(request["command"][0]),
        [os.fsencode(word) for word in request["command"]],
        {os.fsencode(name): os.fsencode(value) for name, value in request["env"].items()},
        file_actions=[(os.POSIX_SPAWN_DUP2, fd, to) for to, fd in enumerate(descriptors)],
        setsid=True,
        setsigmask=[],
        setsigdef=[
            *(getattr(signal, name) for name in _RESTORED),
            signal.SIGINT,
            signal.SIGHUP,
        ],
    )


def _start(
    asking: socket.socket,
    request: dict[str, Any],
    descriptors: list[int],
    running: dict[int, int],
    spawn: Spawn,
) -> None:
    number = request["number"]
    try:
        pid = spawn(request, descriptors)
    except (OSError, ValueError) as error:
        _say(asking, {"number": number, "error": getattr(error, "strerror", None) or str(error)})
    else:
        running[pid] = number
        _say(asking, {"number": number, "pid": pid})
    finally:
        for one in descriptors:
            os.close(one)


def _reap(asking: socket.socket, running: dict[int, int]) -> None:
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            number = running.pop(ended[0], None)
            if number is not None:
                code = os.waitstatus_to_exitcode(ended[1])
                _say(asking, {"number": number, "code": code})


def _say(asking: socket.socket, answer: dict[str, Any]) -> None:
    asking.sendall(json.dumps(answer).encode() + b"\n")


if __name__ == "__main__":
    sys.exit(main())
