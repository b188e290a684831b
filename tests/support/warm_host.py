"""Model hosts that need not import anything first: forks of one process that has.

For tests of what happens around a model, which would otherwise spend much of their time on
imports, once each. A server takes them by its setting ``provider.python``, which names a program
that stands for the interpreter; everything from the host's ``main`` on is the real one. What is
said of the host's own process (its start, its environment, its end by force) is tested without.

    python -P -m tests.support.warm_host ADDRESS       forks until its standard input ends
    python -I -S tests/support/warm_host.py ADDRESS    stands for the interpreter
"""

from __future__ import annotations

import os
import signal
import socket
import sys

_MOST_BYTES = 1 << 20


def stand_in(address: str) -> None:
    """Hand the standard streams and the environment to a fork; end when it does."""
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(address)
        words = b"\0".join(b"%b=%b" % pair for pair in os.environb.items())
        socket.send_fds(line, [words], [0, 1, 2])
        line.recv(1)


def fork_for_all(address: str) -> None:
    """Import the host, say so, and fork for everyone who comes."""
    import gc
    import selectors

    from agent_ls.providers import worker  # noqa: F401  # pyright: ignore[reportUnusedImport]

    gc.freeze()
    # Nobody waits for the forks.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as door, selectors.DefaultSelector() as selector:
        door.bind(address)
        door.listen(64)
        selector.register(door, selectors.EVENT_READ)
        selector.register(0, selectors.EVENT_READ)
        os.write(1, b"ready\n")
        while all(key.fileobj is door for key, _ in selector.select()):
            line, _ = door.accept()
            if os.fork() == 0:
                selector.close()
                door.close()
                _be_host(line)
            line.close()


def _be_host(line: socket.socket) -> None:
    """Be what the interpreter would have been."""
    import threading

    from agent_ls.providers import worker

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    words, streams, _, _ = socket.recv_fds(line, _MOST_BYTES, 3)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environb.clear()
    os.environb.update(tuple(word.split(b"=", 1)) for word in words.split(b"\0"))

    def follow() -> None:
        # Whoever kills the program that stands for this process means this one.
        line.recv(1)
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
    try:
        worker.main()
    finally:
        os._exit(1)


if __name__ == "__main__":
    (stand_in if sys.flags.isolated else fork_for_all)(sys.argv[1])
