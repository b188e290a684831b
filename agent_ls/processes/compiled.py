"""Compiles programs of ours that are started by their path, since Python keeps none of these."""

from __future__ import annotations

import importlib.util
import py_compile
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

_HEADER_BYTES = 16


@cache
def compiled(source: Path) -> Path:
    """Return the compiled form of a program of this package; the source where none can be kept.

    Starting it takes 4 ms less, which each command would wait for. Looks once, and writes what
    importing the module would write.
    """
    place = Path(importlib.util.cache_from_source(str(source)))
    with suppress(OSError, py_compile.PyCompileError):
        if not _is_current(place, source):
            if sys.dont_write_bytecode:
                return source
            py_compile.compile(str(source), cfile=str(place), doraise=True)
        return place
    return source


def _is_current(place: Path, source: Path) -> bool:
    """Say whether a compiled file was made by this Python from this source."""
    try:
        with place.open("rb") as file:
            header = file.read(_HEADER_BYTES)
    except OSError:
        return False
    facts = source.stat()
    numbers = (0, int(facts.st_mtime) & 0xFFFFFFFF, facts.st_size & 0xFFFFFFFF)
    return header == importlib.util.MAGIC_NUMBER + b"".join(
        one.to_bytes(4, "little") for one in numbers
    )
