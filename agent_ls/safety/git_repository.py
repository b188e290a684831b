"""Whether git may run unasked in a folder: git itself says which repository it would use and how.

Owns the questions to git and what the answers must be: an ordinary repository inside the
workspace, no part of which lies elsewhere, with settings that run nothing.
"""

from __future__ import annotations

import os
import re
import stat
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_ls.safety.control_files import has_secret_name
from agent_ls.safety.git_config import CLEAN_GIT, config_objection
from agent_ls.safety.git_reading import GitUse
from agent_ls.safety.programs import child_path
from agent_ls.safety.text import visible_line

_ANSWER_S = 2.0
_MAX_ENTRIES = 50_000
_MAX_SUBMODULES = 50
_OTHERS = frozenset({"hooks", "lfs", "modules", "annex"})
"""Folders of a repository that reading never looks into."""


class _UnfitError(Exception):
    """The repository is not an ordinary one; the message completes "it asks because"."""


def _run(folder: Path, *question: str, lines: str = "") -> subprocess.CompletedProcess[bytes]:
    """Return how git ended, run as an allowed command would be; ``lines`` are its input."""
    kept = {name: os.environ[name] for name in ("HOME", "TMPDIR") if name in os.environ}
    return subprocess.run(
        ["git", *question],
        cwd=folder,
        env={"PATH": child_path(), **kept, **CLEAN_GIT, "LC_ALL": "C.UTF-8"},
        input=os.fsencode(lines),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        timeout=_ANSWER_S,
        check=False,
    )


def _ask(folder: Path, *question: str) -> bytes | None:
    """Return what git prints; None when it fails."""
    done = _run(folder, *question)
    return done.stdout if done.returncode == 0 else None


def repository_objection(folder: Path, roots: Sequence[Path]) -> str | None:
    """Say why git must not run in this folder unasked; empty when nothing speaks against it.

    ``folder`` and ``roots`` are resolved. None: there is no repository, so most of git only fails.
    Never raises: what cannot be read is an objection.
    """
    try:
        found = _places(folder)
        if found is None:
            return None if _is_outside_git(folder) else "what git sees here is no plain repository"
        _check(found, roots)
    except _UnfitError as error:
        return str(error)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return f"the repository cannot be checked ({type(error).__name__})"
    return ""


def printing_objection(use: GitUse, folder: Path, below: tuple[str, ...]) -> str:
    """Say why what git would print may be secret; empty when git names only other files.

    ``folder`` is resolved, ``below`` are its components in the workspace. Never raises.
    """
    if not (use.names or use.objects):
        return ""
    try:
        if _holds_text(folder, use):
            return "it would print an object that has no name"
        names = _run(folder, *use.names).stdout if use.names else b""
    except subprocess.TimeoutExpired:
        return "git needs too long to say whose text it would print"
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return f"what it would print cannot be checked ({type(error).__name__})"
    for name in os.fsdecode(_COLOUR.sub(b"", names)).split("\0"):
        # Lines are messages of commits. Behind a colon stands a file of a revision.
        spelled = [] if "\n" in name else [name, name.partition(":")[2]]
        if any(has_secret_name((*below, *one.split("/"))) for one in spelled if one):
            return f"it would print the text of {visible_line(name)[:120]}, a place for secrets"
    return ""


_COLOUR = re.compile(rb"\x1b\[[\d;]*m")
_RANGE = re.compile(r"\.\.\.?")


def _holds_text(folder: Path, use: GitUse) -> bool:
    """Say whether an operand is an object whose text, or whose files' text, has no full name."""
    named = [part.lstrip("^") for one in use.objects for part in _RANGE.split(one)]
    bare = [one for one in named if one and ":" not in one]
    if any(not one.isprintable() for one in bare):
        return True
    question = ("cat-file", "--batch-check=%(objecttype)")
    answers = _run(folder, *question, lines="".join(f"{one}^{{}}\n" for one in bare)).stdout
    # The names in a tree are all that is shown of it where nothing is compared or searched.
    kinds = (b"blob", b"tree") if use.names and use.names[0] != "show" else (b"blob",)
    return any(line in kinds or line.endswith(b" ambiguous") for line in answers.splitlines())


@dataclass(frozen=True, slots=True)
class _Places:
    """Where the parts of a repository lie, by git's own word."""

    top: Path
    own: Path
    common: Path


def _places(folder: Path) -> _Places | None:
    question = ("rev-parse", "--show-toplevel", "--absolute-git-dir", "--git-common-dir")
    answer = _ask(folder, *question)
    if answer is None:
        return None
    lines = os.fsdecode(answer).split("\n")
    if len(lines) != 4 or lines[-1]:
        raise _UnfitError("git's answer about the repository is not understood")
    top, own, common = (Path(os.path.normpath(folder / line)) for line in lines[:3])
    return _Places(top, own, common)


def _is_outside_git(folder: Path) -> bool:
    """Say whether nothing around a folder looks like a part of a repository."""
    return not any(
        os.path.lexists(top / ".git") or os.path.lexists(top / "HEAD")
        for top in (folder, *folder.parents)
    )


def _check(found: _Places, roots: Sequence[Path]) -> None:
    if found.top.resolve() != found.top or not _is_in(found.top, roots):
        raise _UnfitError("the repository reaches beyond the workspace")
    _check_marker(found, roots)
    for place in {found.own, found.common}:
        _check_parts(place)
    _check_settings(found)
    _check_submodules(found, roots)


def _check_marker(found: _Places, roots: Sequence[Path]) -> None:
    """Refuse unless ``.git`` is the repository, or a file of one that knows this folder."""
    marker = found.top / ".git"
    kind = marker.lstat().st_mode
    if stat.S_ISDIR(kind):
        if not found.own == found.common == marker:
            raise _UnfitError("parts of the repository lie elsewhere")
        return
    if not stat.S_ISREG(kind):
        raise _UnfitError("the repository's .git is neither a folder nor a file")
    if found.own.resolve() != found.own or found.common.resolve() != found.common:
        raise _UnfitError("the repository's .git leads through a link")
    if found.own == found.common:
        # A submodule: everything of it has to be here.
        if not _is_in(found.own, roots):
            raise _UnfitError("its .git file points out of the workspace")
    elif found.own.parent != found.common / "worktrees" or not _knows(found.own, marker):
        # A worktree is one only when the repository knows it, so a file cannot point elsewhere.
        raise _UnfitError("its .git file points to a repository that does not know it")


def _knows(own: Path, marker: Path) -> bool:
    back = own / "gitdir"
    if not stat.S_ISREG(back.lstat().st_mode) or back.lstat().st_size > 10_000:
        return False
    return Path(os.path.normpath(own / back.read_text("utf-8").rstrip("\n"))) == marker


def _is_in(path: Path, roots: Sequence[Path]) -> bool:
    return any(path.is_relative_to(root) for root in roots)


def _check_parts(place: Path) -> None:
    """Refuse links, pipes and second names inside a repository, and objects of another one."""
    for count, entry in enumerate(_entries(place)):
        if count > _MAX_ENTRIES:
            raise _UnfitError("the repository has more files than can be checked")
        if entry.is_symlink():
            raise _UnfitError(f"the repository holds a link, {entry.name}")
        if entry.is_dir():
            continue
        if not entry.is_file():
            raise _UnfitError(f"the repository holds {entry.name}, which is no file")
        if entry.name in ("alternates", "http-alternates"):
            raise _UnfitError("the repository takes objects from another one")
        # A clone beside its origin shares the files of objects, which hold nothing else.
        is_object = entry.path.startswith(f"{place}/objects/")
        if not is_object and entry.stat().st_nlink > 1:
            raise _UnfitError(f"the repository holds a hard link, {entry.name}")


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


def _check_settings(found: _Places) -> None:
    answer = _ask(found.top, "config", "--list", "--show-origin", "-z")
    if answer is None:
        raise _UnfitError("git cannot read the repository's configuration")
    fields = answer.decode("utf-8", "surrogateescape").split("\0")[:-1]
    is_module = found.own == found.common and (found.top / ".git").is_file()
    for origin, setting in zip(fields[::2], fields[1::2], strict=True):
        if origin.startswith("command line:"):
            continue
        name, _, value = setting.partition("\n")
        if name == "core.worktree" and is_module:
            continue
        if objection := config_objection(name, value):
            raise _UnfitError(objection)


def _check_submodules(found: _Places, roots: Sequence[Path]) -> None:
    """Judge the repositories inside: git runs itself there, with their settings too."""
    listing = _ask(found.top, "ls-files", "-z", "--stage")
    if listing is None:
        raise _UnfitError("git cannot read the index")
    links = [line for line in listing.split(b"\0") if line.startswith(b"160000 ")]
    if len(links) > _MAX_SUBMODULES:
        raise _UnfitError("the repository has too many submodules")
    for link in links:
        place = found.top / os.fsdecode(link.split(b"\t", 1)[1])
        if not os.path.lexists(place / ".git"):
            continue
        inner = _places(place) if place.resolve() == place else None
        if inner is None or inner.top != place:
            raise _UnfitError(f"the submodule {place.name} is not an ordinary one")
        _check(inner, roots)


def tracked_names(folder: Path, pathspecs: Sequence[str]) -> list[str] | None:
    """Return the names that git tracks, relative to a folder; None when git cannot say.

    Of no pathspec all below the folder.
    """
    try:
        listing = _ask(folder, "ls-files", "-z", "--", *pathspecs)
    except (OSError, subprocess.SubprocessError):
        return None
    return None if listing is None else os.fsdecode(listing).split("\0")[:-1]
