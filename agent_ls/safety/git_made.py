"""Tells what git itself makes from what makes git run programs, in a repository's data folder.

Reads settings as git writes them, and takes anything else for no work of git: it never runs git.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Iterator
from pathlib import Path

from agent_ls.safety.git_places import (
    REBASE_STEPS,
    Repositories,
    data_folder,
    git_steering,
    rebase_steps,
    repositories_at,
)
from agent_ls.safety.paths import real_path

_MAX_BYTES = 65_536
_PLAIN_LINE = re.compile(
    r"""\[(?:core|extensions|user|remote|branch|submodule)(?:\ "[^"\\\]]*")?\]
    |\t(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks
    |objectformat|refstorage|name|email|url|fetch|tagopt|remote|merge|rebase|active)
    \ =\ (?!-|[^\n]*::)[^"\\\#;]*""",
    re.VERBOSE | re.IGNORECASE,
)
"""What git writes into a repository's settings when it makes one. No key of these sections names a
program; a URL may, where it has two colons or begins with a dash."""
_WORKTREE_LINE = re.compile(r"\tworktree = ([^\"\\#;]*)")
_STEPS = Path(REBASE_STEPS).name
_RUNS = re.compile(rb"^\s*(?:x|exec)\b.*", re.MULTILINE)
"""A step of a rebase that runs a program."""
_MAX_STEPS_BYTES = 2**22
_PARTS = frozenset({"hooks", "config", "config.worktree", "commondir", "attributes", _STEPS})
_TOP_NAMES = frozenset(
    {
        *("HEAD", "FETCH_HEAD", "ORIG_HEAD", "COMMIT_EDITMSG", "config", "description", "index"),
        *("packed-refs", "shallow", "branches", "hooks", "info", "logs", "modules", "objects"),
        *("refs", "worktrees"),
    }
)
"""What git makes at the top of a data folder."""
_NO_LINKS = ("HEAD", "config", "hooks", "info", "objects", "refs", "modules", "worktrees")


def is_made_by_git(path: Path, repositories: Collection[Path]) -> bool:
    """Say whether git itself made something that steers it, and whether git runs no program by it.

    ``path`` is a ``.git``, a repository without work tree, or what ``git_steering`` and
    ``rebase_steps`` yield.
    ``repositories`` are data folders that a ``.git`` file may lead into although they are not
    plain.
    """
    try:
        kind = path.lstat().st_mode
        if path.name in _PARTS:
            return _is_plain_part(path, repositories)
        if path.name != ".git":
            is_bare = stat.S_ISDIR(kind) and all(one.name in _TOP_NAMES for one in path.iterdir())
            return is_bare and is_plain_repository(path)
        if stat.S_ISDIR(kind):
            return is_plain_repository(path)
        return stat.S_ISREG(kind) and _leads_to_own_place(path, repositories)
    except (OSError, ValueError):
        return False


def work_trees(repositories: Repositories) -> Iterator[Path]:
    """Yield the tops of linked work trees that are as git makes them."""
    for _, top in repositories.places:
        dot = top / ".git"
        is_tree = dot.is_file() and data_folder(dot).parent.name == "worktrees"
        if is_tree and is_made_by_git(dot, repositories.folders):
            yield top


def running_steps(steps: Path) -> frozenset[str]:
    """Return the steps of a rebase that run programs; of a list that is none of git's, its kind."""
    try:
        facts = steps.lstat()
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > _MAX_STEPS_BYTES:
            return frozenset({f"{facts.st_mode} {facts.st_size}"})
        return frozenset(one.decode(errors="replace") for one in _RUNS.findall(steps.read_bytes()))
    except OSError as error:
        return frozenset({str(error.strerror)})


def is_plain_repository(folder: Path) -> bool:
    """Say whether a data folder holds only what git makes: no hooks, and settings that run nothing.

    Errors: ``OSError``, ``ValueError``.
    """
    if any((folder / name).is_symlink() for name in _NO_LINKS):
        return False
    if os.path.lexists(folder / "commondir"):
        # Only a work tree's data lead elsewhere.
        return False
    has_parts = (folder / "HEAD").is_file() and (folder / "config").is_file()
    parts = (*git_steering(folder), *rebase_steps(folder))
    return has_parts and all(_is_plain_part(one, (folder,)) for one in parts)


def _is_plain_part(path: Path, repositories: Collection[Path]) -> bool:
    """Say whether a part of a data folder that steers git is as git makes it.

    A work tree's data lead to their repository, which is a ``.git`` or one of ``repositories``.
    """
    if path.is_symlink():
        return False
    match path.name:
        case "hooks":
            return path.is_dir() and all(
                one.suffix == ".sample" and not one.is_symlink() for one in path.iterdir()
            )
        case "config":
            return _has_plain_settings(path)
        case "commondir":
            repository = path.parent.parent.parent
            is_known = repository.name == ".git" or repository in repositories
            is_tree = is_known and path.parent.parent.name == "worktrees"
            return is_tree and _text(path) == "../..\n"
        case _ if path.name == _STEPS:
            return not running_steps(path)
        case _:
            return False


def _has_plain_settings(path: Path) -> bool:
    for line in _text(path).removesuffix("\n").split("\n"):
        if not line.removeprefix("\t").isprintable():
            return False
        if named := _WORKTREE_LINE.fullmatch(line):
            # Of a submodule, whose folder leads back to its data.
            dot = path.parent / named[1] / ".git"
            if "modules" not in path.parts or data_folder(dot) != path.parent:
                return False
        elif not _PLAIN_LINE.fullmatch(line):
            return False
    return True


def _leads_to_own_place(dot: Path, repositories: Collection[Path]) -> bool:
    """Say whether a ``.git`` file leads to the data of this work tree or submodule, which is plain.

    Errors: ``OSError``, ``ValueError``.
    """
    own, common = data_folder(dot), next((folder for folder, _ in repositories_at(dot)), None)
    if common is None or real_path(own) != own:
        return False
    if own.parent.name == "worktrees":
        is_plain = _is_plain_part(own / "commondir", (common,))
        is_plain = is_plain and not os.path.lexists(own / "config.worktree")
        return is_plain and (common in repositories or is_plain_repository(common))
    is_submodule = any(one / "modules" in own.parents for one in repositories)
    return is_submodule and is_plain_repository(own)


def _text(path: Path) -> str:
    """Return a small file's text. Errors: ``OSError``, ``ValueError``."""
    facts = path.lstat()
    if not stat.S_ISREG(facts.st_mode) or facts.st_size > _MAX_BYTES:
        raise ValueError("not written by git")
    return path.read_text("utf-8")
