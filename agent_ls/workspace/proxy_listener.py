"""Open the port of the proxy inside of a sandbox, and become the command. Started by its path.

A socket belongs to the network in which it was made. So this program makes one that listens on the
sandbox's own loopback, and sends it to the server, which accepts the connections outside. It
imports nothing of the project.
"""

from __future__ import annotations

import os
import signal
import socket
import sys

_WAITING = 64


def main() -> None:
    """Send the socket of port ``argv[2]`` over descriptor ``argv[1]``; run ``argv[3:]``."""
    channel, port, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    with socket.socket(fileno=channel) as server, socket.socket() as listening:
        listening.bind(("127.0.0.1", port))
        listening.listen(_WAITING)
        socket.send_fds(server, [b"."], [listening.fileno()])
    # Python ignores these signals, and the command would inherit that.
    for name in ("SIGPIPE", "SIGXFSZ"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
