"""Stands between an editor and its language server, and writes down what they say to each other.

    python lsp_tap.py LOG SERVER [ARGUMENT]...

One line of JSON for each message: ``{"from": "editor" | "server", "message": {...}}``. Passes the
bytes on as they are; for editors that give no other way to be asked what they know.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO

_LOCK = threading.Lock()


def _pass_on(who: str, source: IO[bytes], target: IO[bytes], log: IO[bytes]) -> None:
    while header := source.readline():
        head, length = header, 0
        while header.strip():
            name, _, value = header.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
            header = source.readline()
            head += header
        body = source.read(length)
        # Written down before it is passed on: what can be read has not happened yet.
        with _LOCK:
            log.write(json.dumps({"from": who, "message": json.loads(body)}).encode() + b"\n")
            log.flush()
        target.write(head + body)
        target.flush()
    target.close()


def main() -> int:
    with Path(sys.argv[1]).open("ab") as log:
        server = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert server.stdin is not None
        assert server.stdout is not None
        said = ("editor", sys.stdin.buffer, server.stdin, log)
        threading.Thread(target=_pass_on, args=said, daemon=True).start()
        with os.fdopen(os.dup(1), "wb") as editor:
            _pass_on("server", server.stdout, editor, log)
        return server.wait()


if __name__ == "__main__":
    sys.exit(main())
