"""Lists the files of a folder that are not ignored, in git's meaning. Blocking.

ripgrep walks; the files of git's index are added, which no rule ignores. Only an ``.ignore`` file,
which is no rule of git's, excludes those too. Without ripgrep, ``ignore.py`` walks.
"""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import SubprocessError

from agent_ls.safety.ripgrep import (
    DOT_FILES,
    find_ripgrep,
    has_rules_between,
    repository_above,
    walk_environment,
    walk_flags,
)
from agent_ls.safety.sandbox.own_git import IndexFiles, index_files
from agent_ls.safety.sandbox.tracked import index_stamp
from agent_ls.workspace.ignore import IgnoreRules, is_text, walk

MAX_FILES = 500_000
"""More are not listed; the result says that it is cut."""
_LIMIT_S = 10.0
"""A walk that takes longer is ended."""
_READ_BYTES = 2**16

_indexes: dict[Path, tuple[object, IndexFiles]] = {}
"""By root: a state of its repository's index, and the files in it."""
_excluded: dict[Path, tuple[object, list[str]]] = {}
"""By root: such a state, and the files of the index that a rule excluded then."""


@dataclass(frozen=True, slots=True)
class FolderFiles:
    """The files below a folder, relative to the root, each group sorted."""

    walked: list[str]
    """No rule excludes these."""
    tracked: list[str]
    """git tracks these although a rule excludes them, so they are not ignored."""
    hidden: list[str]
    """git tracks these, but an ``.ignore`` file excludes them: not ignored, but not listed."""
    is_cut: bool
    unnamed: int = 0
    """So many more have names that are no text, so that the model could not name them."""


def is_large(root: Path, roots: Sequence[Path], most: int) -> bool:
    """Say whether a walk of a folder finds more than so many files; ends it there."""
    program = find_ripgrep(roots)
    found = _by_ripgrep(program, root, ".", most) if program else None
    return found is not None and found[1]


def list_files(
    root: Path, roots: Sequence[Path], below: str = ".", *, max_files: int = MAX_FILES
) -> FolderFiles:
    """Return the files below a folder of a resolved root, at most ``max_files`` walked ones.

    ``roots`` are all folders of the workspace, none of whose programs is started.
    """
    found, is_cut = walked_files(root, roots, below)
    walked = [name for name in found if is_text(name)]
    unnamed = len(found) - len(walked)
    is_cut |= len(walked) > max_files
    del walked[max_files:]
    if is_cut:
        return FolderFiles(walked, [], [], is_cut, unnamed)
    known = set(walked)
    index = index_of(root, roots)
    return with_tracked(root, walked, index.regular - known, index.links - known, below, unnamed)


def with_tracked(
    root: Path,
    walked: list[str],
    regular: Iterable[str],
    links: Iterable[str],
    below: str = ".",
    unnamed: int = 0,
) -> FolderFiles:
    """Return walked files with those of git's index beside them that exist below a folder."""
    front = "" if below == "." else f"{below}/"
    others = sorted(
        name
        for names, is_there in ((regular, _is_file), (links, _leads_inside))
        for name in names
        if name.startswith(front) and is_text(name) and is_there(root, name)
    )
    rules = IgnoreRules(root, names=DOT_FILES)
    is_hidden = {name: rules.excludes(name) for name in others}
    return FolderFiles(
        walked,
        [name for name in others if not is_hidden[name]],
        [name for name in others if is_hidden[name]],
        is_cut=False,
        unnamed=unnamed,
    )


def tracked_though_excluded(root: Path, roots: Sequence[Path], below: str) -> list[str]:
    """Return the files below a folder that git tracks although a rule excludes them, sorted.

    A root is listed once for each state of the index; a rule that changes later counts from then.
    """
    top = repository_above(root)
    if top is None:
        return []
    state = index_stamp(top)
    known = _excluded.get(root)
    if known is None or known[0] != state:
        found = list_files(root, roots)
        known = state, found.tracked
        if not found.is_cut:
            _excluded[root] = known
    front = "" if below == "." else f"{below}/"
    return [name for name in known[1] if name.startswith(front)]


def walked_files(root: Path, roots: Sequence[Path], below: str) -> tuple[list[str], bool]:
    """Return the files that no rule excludes, sorted, and whether the walk was ended early."""
    if has_rules_between(root, below) and (inside := sorted(walk(root, below))):
        return inside, False
    # A folder that a rule excludes is listed if it is named.
    program = find_ripgrep(roots)
    found = _by_ripgrep(program, root, below) if program else None
    if found is None:
        return sorted(walk(root, "" if below == "." else below)), False
    return found


def _by_ripgrep(
    program: str, root: Path, below: str, most: int | None = None
) -> tuple[list[str], bool] | None:
    """Return what ``walked_files`` does; None if ripgrep could not walk.

    The walk also ends early at more than ``most`` files, which are any.
    """
    start = [] if below == "." else ["--", f"./{below}"]
    parts, count = list[bytes](), 0
    try:
        with subprocess.Popen(
            [program, "--files", "--null", *walk_flags(root, below), *start],
            cwd=root,
            env=walk_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as process:
            timer = threading.Timer(_LIMIT_S, process.kill)
            timer.start()
            while process.stdout and (data := os.read(process.stdout.fileno(), _READ_BYTES)):
                parts.append(data)
                count += data.count(0)
                if most is not None and count > most:
                    process.kill()
            timer.cancel()
    except OSError:
        return None
    output, is_ended = b"".join(parts), process.returncode == -signal.SIGKILL
    # It may have ended by itself before it was killed.
    is_ended |= most is not None and count > most
    if not output and (is_ended or process.returncode not in (0, 1)):
        # An old ripgrep that does not know a flag, or a pipe in the place of a rules file.
        return None
    names = os.fsdecode(output).split("\0")[:-1]
    return sorted(name.removeprefix("./") for name in names), is_ended


def _is_file(root: Path, name: str) -> bool:
    """Say whether a regular file exists, not behind a link to a folder."""
    place = root / name
    try:
        is_plain = os.path.realpath(place.parent) == str(place.parent)
        return is_plain and stat.S_ISREG(place.lstat().st_mode)
    except OSError:
        return False


def _leads_inside(root: Path, name: str) -> bool:
    """Say whether a link leads to a file below the root."""
    real = Path(os.path.realpath(root / name))
    return real.is_relative_to(root) and real.is_file()


def index_of(root: Path, roots: Sequence[Path]) -> IndexFiles:
    """Return the files below a folder that git tracks; none where git cannot tell.

    Asks git once for each state of the index.
    """
    top = repository_above(root)
    if top is None:
        return IndexFiles()
    state = index_stamp(top)
    known = _indexes.get(root)
    if known is None or state is None or known[0] != state:
        files = IndexFiles()
        with suppress(OSError, ValueError, SubprocessError):
            files = index_files(root, roots, top)
        known = _indexes[root] = state, files
    return known[1]
