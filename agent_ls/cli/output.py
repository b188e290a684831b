"""Standard streams: JSON, characters that cannot be encoded, closed streams and closed pipes.

Every command imports this first, so it imports nothing that only some of them need.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, TextIO

if TYPE_CHECKING:
    from pathlib import Path

_STANDARD_ERROR: Final = 2


def never_fail_to_show() -> None:
    """Show characters that the terminal's encoding lacks as ``?`` instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def can_draw() -> bool:
    """Say whether the standard streams are a terminal that can move its cursor."""
    if os.environ.get("TERM", "dumb") in ("", "dumb", "unknown"):
        return False
    streams = (sys.stdin, sys.stdout, sys.stderr)
    return all(stream is not None and stream.isatty() for stream in streams)


def print_json(value: object) -> None:
    """Print a value as JSON, for programs and for people who look at it."""
    import json

    from agent_ls.safety.text import escaped_in_json

    text = json.dumps(value, indent=2, ensure_ascii=False)
    sys.stdout.write(f"{escaped_in_json(text)}\n")


def print_line(value: object) -> bool:
    """Print a value as one line of JSON, at once; False if nobody reads it any more.

    Shape: ASCII alone, so no encoding and no line end of another kind can break a line.
    """
    import json

    try:
        sys.stdout.write(f"{json.dumps(value)}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        _forget(sys.stdout)
        return False
    return True


def write_for_owner(path: Path, text: str) -> None:
    """Write a file readable by its owner only, because it holds source code and output.

    Errors: ``OSError``.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)


def open_closed_streams() -> None:
    """Open the null device in place of each standard stream that is closed.

    Otherwise the next file that is opened, such as the store, gets its number, and what is printed.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= _STANDARD_ERROR:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


@contextmanager
def while_read() -> Generator[None]:
    """End the block without an error if the reader of a standard stream closes the pipe.

    Errors: ``SystemExit``, see ``flush_streams``.
    """
    with suppress(BrokenPipeError):
        yield
    flush_streams()


def flush_streams() -> None:
    """Write what is buffered. A reader that has gone is no error.

    Errors: ``SystemExit`` after a sentence, if standard output cannot be written.
    """
    for stream in (sys.stderr, sys.stdout):
        try:
            stream.flush()
        except OSError as error:
            _forget(stream)
            if stream is sys.stdout and not isinstance(error, BrokenPipeError):
                said = f"agent-ls: standard output cannot be written: {error.strerror}"
                raise SystemExit(said) from None


def forget_terminal() -> None:
    """Send what is still to be shown to nowhere, after the terminal was closed."""
    for stream in (sys.stdout, sys.stderr):
        _forget(stream)


def _forget(stream: TextIO) -> None:
    """Send what is still buffered to nowhere: the interpreter writes it at exit, and would fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
