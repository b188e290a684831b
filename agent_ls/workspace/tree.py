"""Render a project's files as a short tree for the system prompt. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from agent_ls.safety.text import visible_line

_MAX_CHARS = 600
"""About 150 tokens."""
_MAX_NAMES = 12
_MAX_NAME_CHARS = 60


def tree_of(files: Sequence[str]) -> str:
    """Return the folders with their file counts, then the top-level files.

    Shape: about ``_MAX_CHARS``; if not all folders fit, the shallowest and largest ones.
    """
    top = [_named(name) for name in files if "/" not in name]
    rest = f" and {len(top) - _MAX_NAMES} more" if len(top) > _MAX_NAMES else ""
    last = ", ".join(top[:_MAX_NAMES]) + rest
    counts = Counter(folder for name in files for folder in _folders(name))
    by_weight = sorted(counts, key=lambda folder: (folder.count("/"), -counts[folder], folder))
    room = _MAX_CHARS - len(last) - len("and 00000 more folders\n")
    shown: list[tuple[str, str]] = []
    for folder in by_weight:
        line = f"{_named(folder)}/ ({counts[folder]})"
        room -= len(line) + 1
        if room < 0:
            break
        shown.append((folder, line))
    lines = [line for _, line in sorted(shown)]
    if len(counts) > len(shown):
        lines.append(f"and {len(counts) - len(shown)} more folders")
    return "\n".join([*lines, last] if last else lines)


def _folders(name: str) -> Iterator[str]:
    """Yield the folders above a file, outermost first."""
    at = name.find("/")
    while at > 0:
        yield name[:at]
        at = name.find("/", at + 1)


def _named(name: str) -> str:
    """Return a name made safe for a prompt: visible characters only, and not too long."""
    shown = visible_line(name)
    return shown if len(shown) <= _MAX_NAME_CHARS else shown[:_MAX_NAME_CHARS] + "…"
