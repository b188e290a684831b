"""Standard output: JSON, characters that cannot be encoded, and closed pipes."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager


def never_fail_to_show() -> None:
    """Show characters that the terminal's encoding lacks as ``?`` instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def print_json(value: object) -> None:
    """Print a value as JSON for programs."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


@contextmanager
def while_read() -> Generator[None]:
    """End the block without an error if the reader of standard output closes the pipe."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # Otherwise the interpreter flushes again at exit and reports an error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
