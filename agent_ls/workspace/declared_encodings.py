"""The encodings that a project declares, in ``.editorconfig`` and ``.gitattributes``. Blocking."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from agent_ls.safety.beneath import open_beneath
from agent_ls.safety.path_patterns import PathPattern

_MAX_BYTES = 2**16
_ATTRIBUTE = re.compile(r"^(?:working-tree-)?encoding=(\S+)$")


def declared_encoding(root: Path, below: PurePosixPath) -> str:
    """Return the encoding that the project declares for a file below a root; empty for none.

    The declaration nearest to the file counts, and of one file the last that fits.
    """
    for folder in below.parents:
        name = below.relative_to(folder).as_posix()
        for file, read in ((".editorconfig", _editorconfig), (".gitattributes", _attributes)):
            lines = _lines(root, folder / file)
            found = [encoding for pattern, encoding in read(lines) if _fits(pattern, name)]
            if found:
                return found[-1]
        if any(re.match(r"\s*root\s*=\s*true", one, re.I) for one in _head(root, folder)):
            break
    return ""


def _fits(pattern: str, name: str) -> bool:
    return PathPattern(pattern).matches(name)


def _head(root: Path, folder: PurePosixPath) -> Iterator[str]:
    """Yield the lines of a folder's ``.editorconfig`` before its first section."""
    for line in _lines(root, folder / ".editorconfig"):
        if line.lstrip().startswith("["):
            return
        yield line


def _editorconfig(lines: list[str]) -> Iterator[tuple[str, str]]:
    section = ""
    for line in map(str.strip, lines):
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1]
            continue
        key, _, value = line.partition("=")
        if section and key.strip().lower() == "charset":
            yield section, value.strip().lower()


def _attributes(lines: list[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        pattern, *attributes = line.split()[:20] or ["#"]
        for attribute in () if pattern.startswith("#") else attributes:
            if found := _ATTRIBUTE.match(attribute):
                yield pattern, found[1]


def _lines(root: Path, below: PurePosixPath) -> list[str]:
    try:
        descriptor = open_beneath(root, below, os.O_RDONLY)
    except OSError:
        return []
    try:
        return os.read(descriptor, _MAX_BYTES).decode(errors="replace").splitlines()
    except OSError:
        return []
    finally:
        os.close(descriptor)
