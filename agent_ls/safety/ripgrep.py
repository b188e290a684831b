"""Finds ripgrep and says which files it walks: the same for every listing and search.

A file is ignored if git ignores it, or an ``.ignore`` or ``.rgignore`` file says so; around a
repository these count up to the top of the disk. ripgrep reads those rules itself; it does not know
git's index, which ``workspace/listing.py`` adds.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from agent_ls.domain import temporary_files
from agent_ls.safety.git_places import top_of
from agent_ls.safety.programs import find_outside, lies_in
from agent_ls.safety.sandbox.own_git import avoided

NEVER_LISTED = (".git", ".hg", ".svn", ".agent-ls")
DOT_FILES = (".ignore", ".rgignore")
RULES_FILES = (".gitignore", *DOT_FILES)
"""Of the same folder, the last wins."""
_NEEDED = ("HOME", "XDG_CONFIG_HOME", "SYSTEMROOT")
"""ripgrep looks for git's global excludes in the first two."""


def find_ripgrep(roots: Sequence[Path]) -> str | None:
    """Return ripgrep's executable: that of our dependency, or on the PATH. ``roots`` are resolved.

    Invariant: never one that commands can change, unless agent-ls itself runs from there.
    """
    own = Path(sys.executable).with_name("rg")
    avoid = tuple({place for root in roots for place in avoided(root, roots)})
    is_own = own.exists() and not lies_in(own, avoid)
    found = own if is_own else find_outside("rg", avoid) or own
    return str(found) if found.exists() else None


def walk_flags(folder: Path, below: str = ".") -> list[str]:
    """Return the flags under which ripgrep, started in a resolved folder, walks what is below it.

    No file of the workspace or the user sets other flags. Where ``has_rules_between``, more is
    walked than is wanted.
    """
    above: list[str] = []
    if repository_above(folder) is None:
        # Rules count here as if it were a repository, but none from above it.
        above = ["--no-require-git", "--no-ignore-parent"]
        if below != ".":
            own = (name for name in RULES_FILES if (folder / name).is_file())
            above += [f"--ignore-file={name}" for name in own]
    left_out = (*NEVER_LISTED, temporary_files.GLOB)
    globs = [f"--glob=!{name}" for name in left_out]
    return ["--no-config", "--no-messages", "--hidden", *above, *globs]


def has_rules_between(folder: Path, below: str) -> bool:
    """Say whether rules lie between a resolved folder and one below it that ripgrep does not read.

    So it is without a repository; a flag would read them as if they lay in the outer folder.
    """
    between = list(PurePosixPath(below).parents)[:-1]
    return repository_above(folder) is None and any(
        (folder / one / name).is_file() for one in between for name in RULES_FILES
    )


def repository_above(folder: Path) -> Path | None:
    """Return the top of the repository that holds a resolved folder, which may be its top.

    None without one. A repository of the whole home folder, such as one of dotfiles, does not
    count for the folders in it: it usually ignores everything.
    """
    top = top_of(folder)
    home = Path(os.path.realpath(Path.home()))
    return None if top is None or top == home != folder else top


def walk_environment() -> dict[str, str]:
    """Return ripgrep's environment: no variable that may hold secrets, and no PATH.

    It starts no program.
    """
    return {name: os.environ[name] for name in _NEEDED if name in os.environ}
