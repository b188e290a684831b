"""Tells what git itself makes from what makes git run programs, in a repository's data folder.

Reads settings as git writes them, and takes anything else for no work of git: it never runs git.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Iterator
from pathlib import Path

from agent_ls.safety.git_places import Repositories, data_folder, git_steering

_MAX_BYTES = 65_536
_SECTION = re.compile(r'\[([a-z]+)(?: "([^"\\\]]*)")?\]', re.IGNORECASE)
_SETTING = re.compile(r"\t([a-z]+) = ([^\"\\#;]*)", re.IGNORECASE)
_WRITTEN = frozenset(
    {
        *("core.repositoryformatversion", "core.filemode", "core.bare", "core.logallrefupdates"),
        *("core.ignorecase", "core.precomposeunicode", "core.symlinks", "core.worktree"),
        *("extensions.objectformat", "extensions.refstorage", "user.name", "user.email"),
        *("remote.*.url", "remote.*.fetch", "remote.*.tagopt"),
        *("branch.*.remote", "branch.*.merge", "branch.*.rebase"),
        *("submodule.active", "submodule.*.url", "submodule.*.active"),
    }
)
"""Settings that git writes when it makes a repository, none of which names a program."""
_PARTS = frozenset({"hooks", "config", "config.worktree", "commondir", "attributes"})
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
    """Say whether what steers git is as git makes it, and makes it run nothing.

    ``path`` is a ``.git``, a repository without work tree, or what ``git_steering`` yields.
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
    return has_parts and all(_is_plain_part(one, (folder,)) for one in git_steering(folder))


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
        case _:
            return False


def _has_plain_settings(path: Path) -> bool:
    for name, value in _settings(path):
        if name not in _WRITTEN:
            return False
        if name == "core.worktree" and not _is_worktree_of(path.parent, value):
            return False
        # A transport such as ext:: is a program.
        if name.endswith(".url") and ("::" in value or value.startswith("-")):
            return False
    return True


def _settings(path: Path) -> Iterator[tuple[str, str]]:
    """Yield each setting, a subsection as ``*``. Errors: ``ValueError`` if git did not write it."""
    section = ""
    for line in _text(path).removesuffix("\n").split("\n"):
        if not line.removeprefix("\t").isprintable():
            raise ValueError("not written by git")
        if found := _SECTION.fullmatch(line):
            section = f"{found[1].lower()}.*" if found[2] is not None else found[1].lower()
        elif section and (found := _SETTING.fullmatch(line)):
            yield f"{section}.{found[1].lower()}", found[2]
        else:
            raise ValueError("not written by git")


def _is_worktree_of(folder: Path, value: str) -> bool:
    """Say whether a submodule's setting names the folder whose ``.git`` leads back to its data."""
    return "modules" in folder.parts and _led_to(folder / value / ".git") == _plain(folder)


def _leads_to_own_place(dot: Path, repositories: Collection[Path]) -> bool:
    """Say whether a ``.git`` file leads to the data of this work tree or submodule, which is plain.

    Errors: ``OSError``, ``ValueError``.
    """
    own = _led_to(dot)
    if own.resolve() != own:
        return False
    if own.parent.name == "worktrees":
        common, back = own.parent.parent, (own / "gitdir").read_text("utf-8").strip()
        if _plain(own / back) != _plain(dot) or not _is_plain_part(own / "commondir", (common,)):
            return False
        if os.path.lexists(own / "config.worktree"):
            return False
        return common in repositories or is_plain_repository(common)
    if not any(one / "modules" in own.parents for one in repositories):
        return False
    named = [value for name, value in _settings(own / "config") if name == "core.worktree"]
    leads_back = len(named) == 1 and _plain(own / named[0]) == _plain(dot.parent)
    return leads_back and is_plain_repository(own)


def _led_to(dot: Path) -> Path:
    """Return the folder that a ``.git`` file names. Errors: ``OSError``, ``ValueError``."""
    text = _text(dot)
    named = text.removesuffix("\n").removeprefix("gitdir: ")
    if not text.startswith("gitdir: ") or not named.isprintable():
        raise ValueError("not written by git")
    return _plain(dot.parent / named)


def _plain(path: Path) -> Path:
    return Path(os.path.normpath(path))


def _text(path: Path) -> str:
    """Return a small file's text. Errors: ``OSError``, ``ValueError``."""
    facts = path.lstat()
    if not stat.S_ISREG(facts.st_mode) or facts.st_size > _MAX_BYTES:
        raise ValueError("not written by git")
    return path.read_text("utf-8")
