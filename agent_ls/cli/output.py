"""Standard output: JSON, an encoding that lacks signs, and a reader that has gone away."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager


def never_fail_to_show() -> None:
    """Have a sign that the terminal's encoding lacks shown as ``?`` rather than end the command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def print_json(value: object) -> None:
    """Print a value as JSON for programs."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


@contextmanager
def while_read() -> Generator[None]:
    """Write for as long as somebody reads: a reader that has gone away has seen enough."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # The interpreter would try once more at exit, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
