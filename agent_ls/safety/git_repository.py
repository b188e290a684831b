"""Decides whether git may run unasked in a folder, by what git says about its repository.

Owns the questions to git and what the answers must be: an ordinary repository inside the
workspace, no part of which lies elsewhere, with settings that run nothing.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_ls.safety.control_files import has_secret_name
from agent_ls.safety.flags import MustAskError
from agent_ls.safety.git_config import config_objection
from agent_ls.safety.git_reading import GitUse
from agent_ls.safety.sandbox import own_git
from agent_ls.safety.text import visible_line

_QUESTIONS = (
    ("rev-parse", "--show-toplevel", "--absolute-git-dir", "--git-common-dir"),
    ("config", "--list", "--show-origin", "-z"),
    ("ls-files", "-z", "--full-name", "--stage", "--", ":/"),
)
"""For the places of a repository's parts, its settings and its index."""
_MAX_ENTRIES = 50_000
_OTHERS = frozenset({"hooks", "lfs", "modules", "annex"})
"""Folders in .git that read-only commands never open."""


def check_repository(folder: Path, roots: Sequence[Path]) -> bool:
    """Refuse unless git may run in this folder unasked; False when there is no repository.

    ``folder`` and ``roots`` are resolved. Without a repository most of git only fails.
    Errors: ``MustAskError``, ``OSError``, ``ValueError`` and ``SubprocessError``.
    """
    if not any(
        os.path.lexists(top / ".git") or os.path.lexists(top / "HEAD")
        for top in (folder, *folder.parents)
    ):
        return False
    places, settings, index = own_git.run_all(folder, roots, _QUESTIONS)
    if places is None:
        raise MustAskError("what git sees here is no plain repository")
    found = _places(folder, places)
    if found.top.resolve() != found.top or not _is_in(found.top, roots):
        raise MustAskError("the repository reaches beyond the workspace")
    _check_marker(found)
    for place in {found.own, found.common}:
        _check_parts(place)
    _check_settings(settings)
    _check_submodules(found.top, index)
    return True


def runs_nothing(folder: Path, roots: Sequence[Path]) -> bool:
    """Say whether no setting of a resolved folder's repository may run a program.

    Errors: ``OSError`` and ``SubprocessError``.
    """
    (settings,) = own_git.run_all(folder, roots, _QUESTIONS[1:2])
    try:
        _check_settings(settings)
    except MustAskError:
        return False
    return True


def check_printing(
    use: GitUse, folder: Path, below: tuple[str, ...], roots: Sequence[Path]
) -> None:
    """Refuse when git says that it would print the text of a secret, or of an unnamed object.

    ``folder`` and ``roots`` are resolved, ``below`` are the folder's components in the workspace.
    Errors: as ``check_repository``.
    """
    if not (use.names or use.objects):
        return
    if _holds_text(folder, use, roots):
        raise MustAskError("it would print an object that has no name")
    for name in printed_names(use, folder, roots):
        if has_secret_name((*below, *name.split("/"))):
            shown = visible_line(name)[:120]
            raise MustAskError(f"it would print the text of {shown}, a place for secrets")


def printed_names(use: GitUse, folder: Path, roots: Sequence[Path]) -> Iterator[str]:
    """Yield what may be the names of files whose text git would print, below some folder.

    Errors: ``OSError`` and ``SubprocessError``.
    """
    names = own_git.run(folder, roots, *use.names).stdout if use.names else b""
    for name in os.fsdecode(_COLOUR.sub(b"", names)).split("\0"):
        # Text with line ends is a commit message. After a colon comes the file of a revision.
        spelled = () if "\n" in name else (name, name.partition(":")[2])
        yield from filter(None, spelled)


_COLOUR = re.compile(rb"\x1b\[[\d;]*m")
_RANGE = re.compile(r"\.\.\.?")


def _holds_text(folder: Path, use: GitUse, roots: Sequence[Path]) -> bool:
    """Say whether an operand is an object whose text would be printed without a full path."""
    named = [part.lstrip("^") for one in use.objects for part in _RANGE.split(one)]
    bare = [one for one in named if one and ":" not in one]
    if any(not one.isprintable() for one in bare):
        return True
    question = ("cat-file", "--batch-check=%(objecttype)")
    lines = "".join(f"{one}^{{}}\n" for one in bare)
    answers = own_git.run(folder, roots, *question, lines=lines).stdout
    # Only a comparison or a search prints texts from a tree; otherwise just its names.
    kinds = (b"blob", b"tree") if use.names and use.names[0] != "show" else (b"blob",)
    return any(line in kinds or line.endswith(b" ambiguous") for line in answers.splitlines())


@dataclass(frozen=True, slots=True)
class _Places:
    """Locations of a repository's parts, as git reports them."""

    top: Path
    own: Path
    common: Path


def _places(folder: Path, answer: bytes) -> _Places:
    lines = os.fsdecode(answer).split("\n")
    if len(lines) != 4 or lines[-1]:
        raise MustAskError("git's answer about the repository is not understood")
    top, own, common = (Path(os.path.normpath(folder / line)) for line in lines[:3])
    return _Places(top, own, common)


def _check_marker(found: _Places) -> None:
    """Refuse unless ``.git`` is the repository, or this is a worktree that the repository knows."""
    marker = found.top / ".git"
    kind = marker.lstat().st_mode
    if stat.S_ISDIR(kind) and found.own == found.common == marker:
        return
    is_worktree = (
        stat.S_ISREG(kind)
        and found.own.parent == found.common / "worktrees"
        and found.own.resolve() == found.own
        and _knows(found.own, marker)
    )
    if not is_worktree:
        raise MustAskError("parts of the repository lie elsewhere, or it is a submodule")


def _knows(own: Path, marker: Path) -> bool:
    back = own / "gitdir"
    if not stat.S_ISREG(back.lstat().st_mode) or back.lstat().st_size > 10_000:
        return False
    return Path(os.path.normpath(own / back.read_text("utf-8").rstrip("\n"))) == marker


def _is_in(path: Path, roots: Sequence[Path]) -> bool:
    return any(path.is_relative_to(root) for root in roots)


def _check_parts(place: Path) -> None:
    """Refuse links, pipes and hard links in .git, and objects of another repository."""
    for count, entry in enumerate(_entries(place)):
        if count > _MAX_ENTRIES:
            raise MustAskError("the repository has more files than can be checked")
        if entry.is_symlink():
            raise MustAskError(f"the repository holds a link, {entry.name}")
        if entry.is_dir():
            continue
        if not entry.is_file():
            raise MustAskError(f"the repository holds {entry.name}, which is no file")
        if entry.name in ("alternates", "http-alternates"):
            raise MustAskError("the repository takes objects from another one")
        # A local clone hard-links the object files of its origin, which is harmless.
        is_object = entry.path.startswith(f"{place}/objects/")
        if not is_object and entry.stat().st_nlink > 1:
            raise MustAskError(f"the repository holds a hard link, {entry.name}")


def _entries(place: Path) -> Iterator[os.DirEntry[str]]:
    stack = [str(place)]
    while stack:
        with os.scandir(stack.pop()) as entries:
            for entry in entries:
                if entry.name in _OTHERS and Path(entry.path).parent == place:
                    continue
                yield entry
                if entry.is_dir(follow_symlinks=False):
                    stack.append(entry.path)


def _check_settings(answer: bytes | None) -> None:
    if answer is None:
        raise MustAskError("git cannot read the repository's configuration")
    fields = answer.decode("utf-8", "surrogateescape").split("\0")[:-1]
    for origin, setting in zip(fields[::2], fields[1::2], strict=True):
        if origin.startswith("command line:"):
            continue
        name, _, value = setting.partition("\n")
        if objection := config_objection(name, value):
            raise MustAskError(objection)


def _check_submodules(top: Path, listing: bytes | None) -> None:
    """Refuse checked-out submodules: git runs in them with their settings."""
    if listing is None:
        raise MustAskError("git cannot read the index")
    for line in listing.split(b"\0"):
        if not line.startswith(b"160000 "):
            continue
        place = top / os.fsdecode(line.partition(b"\t")[2])
        if os.path.lexists(place / ".git"):
            raise MustAskError(f"it has a submodule, {visible_line(place.name)}")


def tracked_names(
    folder: Path, pathspecs: Sequence[str], roots: Sequence[Path]
) -> list[str] | None:
    """Return the names that git tracks, relative to a folder; None when git cannot say.

    Without pathspecs: all below the folder.
    """
    done = own_git.run(folder, roots, "ls-files", "-z", "--", *pathspecs)
    return os.fsdecode(done.stdout).split("\0")[:-1] if done.returncode == 0 else None
