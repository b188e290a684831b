"""Which paths a command line may name: inside the roots, no secrets, no special files."""

from __future__ import annotations

import fnmatch
import glob
import os
import re
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath

from agent_ls.loop.ports.workspace import Root
from agent_ls.safety.control_files import has_secret_name
from agent_ls.safety.flags import MustAskError, words
from agent_ls.safety.paths import components_below, is_inside, real_path
from agent_ls.safety.text import visible_line

_MAX_FITTING = 2_000
_MAX_WALKED = 20_000
NOT_WALKED = frozenset({".git", "node_modules", ".venv", "venv", "site-packages", "__pycache__"})
"""Folders of third-party code, where files named like secrets are test data."""
SECRET_SAMPLES = words(
    """
    .env .env.local id_rsa id_ed25519 credentials credentials.json secrets.yml secrets.json .netrc
    .npmrc .pypirc server.pem server.key .git-credentials terraform.tfstate auth.json token.json
    .ssh .aws .gnupg .kube .docker
    """
)
"""A pattern that matches one of these names may be meant for secrets."""
_PATTERN = re.compile(r"[\w./@%+,:=-]*(?:\*[\w./@%+,:=-]*){1,3}")


@dataclass(frozen=True, slots=True)
class Reach:
    """A working directory and the folders that may be read from it."""

    folder: Path
    roots: tuple[Root, ...]

    def __post_init__(self) -> None:
        """Resolve the folder and refuse one outside."""
        real = real_path(self.folder)
        object.__setattr__(self, "folder", real)
        if not is_inside(real, self.roots):
            raise MustAskError("it would run outside of the workspace")
        if not (real.is_dir() or self.is_assumed):
            raise MustAskError(f"{_shown(real.name)} is no folder")

    @property
    def is_assumed(self) -> bool:
        """Say whether the folder is only assumed to exist, so its files are unknown."""
        around = (one for one in self.roots if self.folder.is_relative_to(one.path))
        return not self.folder.exists() and any(one.is_assumed for one in around)

    @property
    def below(self) -> tuple[str, ...]:
        """Return the components of the folder below its root."""
        return self._below(self.folder)

    def holds(self, path: Path) -> bool:
        """Say whether an absolute path lies in the workspace."""
        return is_inside(path, self.roots)

    def moved(self, path: str) -> Reach:
        """Return the reach after ``cd`` to a folder.

        Errors: ``MustAskError``, also if the path leads through a link. There ``..`` means one
        folder to the shell and another to programs.
        """
        if not path or path.startswith("-"):
            raise MustAskError("it goes to a folder that is not named")
        by_name = Path(os.path.normpath(self.folder / path))
        if not by_name == real_path(by_name) == real_path(self.folder / path):
            raise MustAskError(f"{_shown(path)} leads through a link")
        return Reach(by_name, self.roots)

    def check(self, path: str, *, may_be_name: bool = False) -> None:
        """Refuse a path that leads outside, to a secret, or to a special file.

        With ``may_be_name`` it may be a revision of git, for which no file exists.
        """
        if path in ("-", "/dev/null", "/etc/os-release"):
            return
        if "\x00" in path or (path.startswith("@") and not may_be_name):
            raise MustAskError(f"{_shown(path)} is no plain path")
        place = self.folder / path
        real = real_path(place)
        if not is_inside(real, self.roots):
            raise MustAskError(f"{_shown(path)} is outside of the workspace")
        if any(has_secret_name(parts) for parts in (_parts(path), self._below(real))):
            raise MustAskError(f"{_shown(path)} looks like a place for secrets")
        self._check_kind(path, real)

    def check_folder(
        self, path: str, *, hidden: bool, follows: bool = False, endings: tuple[str, ...] = ("",)
    ) -> None:
        """Refuse to read a folder recursively if it contains secrets.

        ``follows``: the program follows links, so the folder must not hold any. ``endings``: it
        reads only files with one of these endings.
        """
        top = real_path(self.folder / path)
        if not top.is_dir():
            return
        skipped = frozenset[str]() if follows else NOT_WALKED
        # A name such as ``.git/config`` is one only together with the folder above.
        above = self._below(top)
        for entry, below in walk_folder(top, hidden=hidden, skipped=skipped):
            name = "/".join(below)
            if follows and entry.is_symlink():
                raise MustAskError(f"it would follow the link {_shown(name)}")
            if not entry.name.endswith(endings) or not has_secret_name((*above, *below)):
                continue
            if entry.is_file(follow_symlinks=False):
                raise MustAskError(f"it would read {_shown(name)}, a place for secrets")

    def fitting(self, pattern: str) -> list[str]:
        """Return the names a pattern expands to; the pattern itself when nothing matches.

        Errors: ``MustAskError`` for a pattern that could fit options, secrets or hidden files.
        """
        if not _PATTERN.fullmatch(pattern):
            raise MustAskError(f"the pattern {_shown(pattern)} is not plain")
        for part in PurePosixPath(pattern).parts:
            if "*" in part and (part.startswith(".") or _could_be_secret(part)):
                raise MustAskError(f"the pattern {_shown(pattern)} could fit secrets")
        self.check(
            pattern.split("*", 1)[0].rpartition("/")[0] or ("/" if pattern[0] == "/" else ".")
        )
        # Path.glob would match hidden files too, unlike the shell.
        names = glob.iglob(pattern, root_dir=self.folder)  # noqa: PTH207
        found = sorted(islice(names, _MAX_FITTING + 1))
        if len(found) > _MAX_FITTING:
            raise MustAskError(f"the pattern {_shown(pattern)} fits too many files")
        if any(name.startswith("-") for name in found):
            raise MustAskError(f"the pattern {_shown(pattern)} fits a name like an option")
        for name in found:
            self.check(name)
        return found or [pattern]

    def _below(self, real: Path) -> tuple[str, ...]:
        below = (components_below(real, root.path) for root in self.roots)
        return next((one for one in below if one is not None), real.parts)

    def _check_kind(self, path: str, real: Path) -> None:
        try:
            facts = real.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return
        if stat.S_ISREG(facts.st_mode):
            if facts.st_nlink > 1 and not NOT_WALKED & set(real.parts):
                raise MustAskError(f"{_shown(path)} is a hard link")
        elif not stat.S_ISDIR(facts.st_mode):
            raise MustAskError(f"{_shown(path)} is neither a file nor a folder")


def _parts(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.split("/") if part not in ("", "."))


def _could_be_secret(pattern: str) -> bool:
    """Say whether a pattern is likely to match secrets."""
    if has_secret_name([pattern.replace("*", "x")]):
        return True
    begins = pattern.split("*", 1)[0]
    return bool(begins) and any(fnmatch.fnmatchcase(one, pattern) for one in SECRET_SAMPLES)


def walk_folder(
    top: Path,
    *,
    hidden: bool = True,
    skipped: frozenset[str] = NOT_WALKED,
    is_walked: Callable[[tuple[str, ...]], bool] = lambda _: True,
) -> Iterator[tuple[os.DirEntry[str], tuple[str, ...]]]:
    """Yield every entry below a folder with its components, following no link.

    Errors: ``MustAskError`` when there are too many.
    """
    seen = 0
    stack: list[tuple[Path, tuple[str, ...]]] = [(top, ())]
    while stack:
        folder, parts = stack.pop()
        with os.scandir(folder) as entries:
            for entry in entries:
                seen += 1
                if seen > _MAX_WALKED:
                    raise MustAskError(
                        f"{_shown(top.name)} holds more files than can be checked; use the grep "
                        "tool"
                    )
                if entry.name.startswith(".") and not hidden:
                    continue
                yield entry, (*parts, entry.name)
                below = (*parts, entry.name)
                is_kept_out = entry.name in skipped or not is_walked(below)
                if entry.is_dir(follow_symlinks=False) and not is_kept_out:
                    stack.append((folder / entry.name, below))


def _shown(path: str) -> str:
    return f"'{visible_line(path[:120])}'"
