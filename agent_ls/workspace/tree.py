"""Render a project's files as a short tree for the system prompt.

Of a large project, folders are counted only as far as the tree shows them.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

from agent_ls.domain.temporary_files import is_temporary
from agent_ls.safety.ripgrep import NEVER_LISTED
from agent_ls.safety.text import visible_line
from agent_ls.workspace.ignore import IgnoreRules, is_text

_MAX_CHARS = 600
"""About 150 tokens."""
_MAX_NAMES = 12
_MAX_NAME_CHARS = 60
MAX_COUNTED = 200
"""Larger folders of a large project are not counted further."""
_MAX_FOLDERS = 40
"""Folders that are looked at in a large project; about as many fit into the tree."""


def tree_of(files: Sequence[str]) -> str:
    """Return the folders with their file counts, then the top-level files.

    Shape: about ``_MAX_CHARS``; if not all folders fit, the shallowest and largest ones.
    """
    counts = Counter(folder for name in files for folder in _folders(name))
    return _rendered([name for name in files if "/" not in name], counts)


def large_tree_of(root: Path, front: str = "") -> str:
    """Return the same of a folder with more files than are listed for this. Blocking.

    Counts end at ``MAX_COUNTED``. What git tracks although a rule excludes it does not count.
    ``front`` stands before each path.
    """
    rules = IgnoreRules(root)
    top, level = _entries(root, "", rules)
    counts, is_open = dict[str, int](), False
    while level and not is_open:
        room, below = _MAX_FOLDERS - len(counts), list[str]()
        is_open = len(level) > room
        for folder in level[:room]:
            counts[folder] = len(list(islice(_below(root, folder, rules), MAX_COUNTED)))
            below += _entries(root, f"{folder}/", rules)[1]
        level = below
    named = {front + folder: count for folder, count in counts.items() if count}
    return _rendered([front + name for name in top], named, is_open=is_open, is_capped=True)


def _below(root: Path, top: str, rules: IgnoreRules) -> Iterator[str]:
    """Yield the files below a folder."""
    stack = [top]
    while stack:
        files, folders = _entries(root, f"{stack.pop()}/", rules)
        yield from files
        stack += folders


def _entries(root: Path, folder: str, rules: IgnoreRules) -> tuple[list[str], list[str]]:
    """Return the files and the folders in a folder that no rule excludes, sorted."""
    files, folders = list[str](), list[str]()
    with suppress(OSError), os.scandir(root / folder) as entries:
        for entry in entries:
            if entry.name in NEVER_LISTED or is_temporary(entry.name) or not is_text(entry.name):
                continue
            path = folder + entry.name
            if entry.is_dir(follow_symlinks=False):
                if not rules.excludes(f"{path}/"):
                    folders.append(path)
            elif entry.is_file(follow_symlinks=False) and not rules.excludes(path):
                files.append(path)
    return sorted(files), sorted(folders)


def _rendered(
    top: Sequence[str],
    counts: Mapping[str, int],
    *,
    is_open: bool = False,
    is_capped: bool = False,
) -> str:
    """Return the tree; ``is_open``: there are more folders, ``is_capped``: and files."""
    names = [_named(name) for name in top[:_MAX_NAMES]]
    rest = f" and {len(top) - _MAX_NAMES} more" if len(top) > _MAX_NAMES else ""
    last = ", ".join(names) + rest
    by_weight = sorted(counts, key=lambda folder: (folder.count("/"), -counts[folder], folder))
    room = _MAX_CHARS - len(last) - len("and 00000 more folders\n")
    shown: list[tuple[str, str]] = []
    for folder in by_weight:
        more = "+" if is_capped and counts[folder] >= MAX_COUNTED else ""
        line = f"{_named(folder)}/ ({counts[folder]}{more})"
        room -= len(line) + 1
        if room < 0:
            break
        shown.append((folder, line))
    lines = [line for _, line in sorted(shown)]
    if is_open:
        lines.append("and more folders")
    elif len(counts) > len(shown):
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
