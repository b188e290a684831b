"""A project's files as a short tree for the system prompt. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

_MAX_LINES = 24
_MAX_NAMES = 12


def tree_of(files: Sequence[str]) -> str:
    """Return the files of the top, and the folders below it with how much is in them."""
    top = [name for name in files if "/" not in name]
    counts = Counter(name.rsplit("/", 1)[0] for name in files if "/" in name)
    shown = sorted(counts, key=lambda folder: (folder.count("/"), -counts[folder], folder))
    lines = [f"{folder}/ ({counts[folder]})" for folder in sorted(shown[:_MAX_LINES])]
    if len(counts) > _MAX_LINES:
        lines.append(f"and {len(counts) - _MAX_LINES} more folders")
    if top:
        rest = f" and {len(top) - _MAX_NAMES} more" if len(top) > _MAX_NAMES else ""
        lines.append(", ".join(top[:_MAX_NAMES]) + rest)
    return "\n".join(lines)
