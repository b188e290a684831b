"""Standard output and a reader of it that has gone away."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def while_read() -> Generator[None]:
    """Write for as long as somebody reads: a reader that has gone away has seen enough."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # The interpreter would try once more at exit, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
