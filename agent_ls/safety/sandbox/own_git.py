"""Runs git for agent-ls itself: never a program of the workspace, and in a read-only view.

What a repository's settings and attributes name may run inside of the view, where it changes
nothing and reaches no network. Where no sandbox works, git only lists what it tracks, for which it
starts no program.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from agent_ls.safety.git_config import CLEAN_GIT, HELD_GIT
from agent_ls.safety.paths import components_below
from agent_ls.safety.programs import find_outside, path_outside
from agent_ls.safety.sandbox.confinement import Wrapped

_ANSWER_S = 5.0
_FILE, _LINK = "100", "120"
"""Beginnings of the modes of files and links in the index."""


class ReadOnlyView(Protocol):
    """The sandbox around the programs that agent-ls runs in some folders."""

    @property
    def roots(self) -> Callable[[], Sequence[Path]]:
        """Return what returns the workspace's folders, without links."""
        ...

    @property
    def changeable(self) -> Sequence[Path]:
        """Return the folders beyond the workspace that its commands may change."""
        ...

    def wrapped_git(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> Wrapped:
        """Return how to start git so that it changes nothing. Errors: ``OSError``."""
        ...


_views: list[ReadOnlyView] = []
"""The open ones. Judging a command asks git from a dozen places; none of them can forget this."""


def open_view(view: ReadOnlyView) -> None:
    """From now on, run git in this view if it is asked about a folder of the view's workspace."""
    _views.append(view)


def close_view(view: ReadOnlyView) -> None:
    """Forget a view."""
    _views[:] = [one for one in _views if one is not view]


def view_of(folder: Path) -> ReadOnlyView | None:
    """Return the view for git in a folder, which is resolved; None if no sandbox holds it."""
    for view in reversed(_views):
        if any(components_below(folder, root) is not None for root in view.roots()):
            return view
    return None


def wrapped(arguments: Sequence[str], folder: Path, roots: Sequence[Path]) -> Wrapped:
    """Return how to start git in a resolved folder; call ``end`` of the result afterwards.

    Errors: ``OSError``, also if there is no git outside of the workspace.
    """
    view, avoid = view_of(folder), avoided(folder, roots)
    return _confined((_git(avoid), *arguments), view, folder, avoid)


def run(
    folder: Path,
    roots: Sequence[Path],
    *arguments: str,
    lines: str = "",
    limit_s: float = _ANSWER_S,
) -> subprocess.CompletedProcess[bytes]:
    """Run git with ``lines`` as its input. Errors: ``OSError`` and ``SubprocessError``."""
    return _run(wrapped(arguments, folder, roots), folder, lines, limit_s)


class IndexFiles(NamedTuple):
    """The files of git's index that are checked out, relative to a folder."""

    regular: frozenset[str] = frozenset()
    links: frozenset[str] = frozenset()


def index_files(folder: Path, roots: Sequence[Path], top: Path) -> IndexFiles:
    """Return the files that git tracks below a folder of the repository with this top folder.

    None are returned where git cannot say. Errors: ``OSError`` and ``SubprocessError``.
    """
    below = folder.relative_to(top).as_posix()
    # From the top: in a view, git does not look for it beyond the folder.
    place = ("--literal-pathspecs", "-C", str(top))
    done = run(folder, roots, *place, "ls-files", "-t", "-s", "-z", "--", below)
    rows = os.fsdecode(done.stdout).split("\0")[:-1] if done.returncode == 0 else []
    front = 0 if below == "." else len(below) + 1
    # A row is "H 100644 OBJECT STAGE<tab>NAME"; what is not checked out has another mark than H.
    named = [(row[2:5], row.partition("\t")[2][front:]) for row in rows if row[0] in "HM"]
    return IndexFiles(
        frozenset(name for mode, name in named if mode == _FILE),
        frozenset(name for mode, name in named if mode == _LINK),
    )


def avoided(folder: Path, roots: Sequence[Path]) -> tuple[Path, ...]:
    """Return where no program may come from: what commands of the folder's workspace may change."""
    view = view_of(folder)
    return tuple(roots) if view is None else (*roots, *view.roots(), *view.changeable)


def _git(avoid: Sequence[Path]) -> str:
    git = find_outside("git", avoid)
    if git is None:
        raise FileNotFoundError("git is not installed outside of the workspace")
    return str(git)


def _confined(
    argv: Sequence[str], view: ReadOnlyView | None, folder: Path, avoid: Sequence[Path]
) -> Wrapped:
    kept = {name: os.environ[name] for name in ("HOME", "TMPDIR") if name in os.environ}
    clean = CLEAN_GIT if view is None else HELD_GIT
    env = {"PATH": path_outside(avoid), **kept, **clean}
    return (
        Wrapped(tuple(argv), env) if view is None else view.wrapped_git(argv, cwd=folder, env=env)
    )


def _run(
    wrapped: Wrapped, folder: Path, lines: str, limit_s: float
) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            wrapped.argv,
            cwd=folder,
            env=dict(wrapped.env),
            input=os.fsencode(lines),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=limit_s,
            check=False,
        )
    finally:
        wrapped.end()
