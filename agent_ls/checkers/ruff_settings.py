"""Find the configuration that ruff uses for a file, and when it last changed."""

from __future__ import annotations

import os
import stat
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, cast

from agent_ls.processes.reading import read_file

_OWN = (".ruff.toml", "ruff.toml")
_PROJECT = "pyproject.toml"
_MAX_EXTENDED = 20
_MAX_KNOWN = 1_000


@dataclass(frozen=True, slots=True)
class RuffSettings:
    """The configuration of the Python files in one folder."""

    path: Path | None
    """The file with ruff's settings; None: the project has none."""
    changed_ns: int
    """When the newest of the files that may matter changed; 0 without any."""
    is_certain: bool
    """False: it refers to files that only ruff can find, or cannot be read."""


class _File(NamedTuple):
    changed_ns: int
    number: int
    size: int


class _Content(NamedTuple):
    """What a configuration file says, as far as it decides which files matter."""

    is_for_ruff: bool
    extends: str
    is_readable: bool


@dataclass(frozen=True, slots=True)
class RuffSettingsFinder:
    """Finds configurations as ruff does. Remembers what files hold until they change."""

    _known: dict[Path, tuple[_File, _Content]] = field(
        default_factory=dict[Path, tuple[_File, _Content]], init=False, repr=False
    )

    def of_folders(self, folders: Iterable[Path]) -> Mapping[Path, RuffSettings]:
        """Return the configuration of each folder. Looks at the disk: call it on a thread."""
        return {folder: self._of_folder(folder) for folder in folders}

    def _of_folder(self, folder: Path) -> RuffSettings:
        changed, is_certain = 0, True
        for above in (folder, *folder.parents):
            for path in (above / name for name in (*_OWN, _PROJECT)):
                if (file := _file(path)) is None:
                    continue
                changed = max(changed, file.changed_ns)
                content = self._content(path, file)
                is_certain = is_certain and content.is_readable
                if content.is_for_ruff:
                    extended, is_found = self._extended(path, content)
                    return RuffSettings(path, max(changed, extended), is_certain and is_found)
        files = (_file(place / name) for place in _user_folders() for name in (*_OWN, _PROJECT))
        changed = max((changed, *(file.changed_ns for file in files if file is not None)))
        return RuffSettings(None, changed, is_certain)

    def _extended(self, path: Path, content: _Content) -> tuple[int, bool]:
        """Return when what a configuration builds upon changed, and whether all of it is known."""
        changed = 0
        for _ in range(_MAX_EXTENDED):
            if not content.extends:
                return changed, content.is_readable
            if "$" in content.extends:
                return changed, False
            path = path.parent / os.path.expanduser(content.extends)  # noqa: PTH111 - not a path yet
            if (file := _file(path)) is None:
                return changed, False
            changed = max(changed, file.changed_ns)
            content = self._content(path, file)
        return changed, False

    def _content(self, path: Path, file: _File) -> _Content:
        known = self._known.get(path)
        if known is None or known[0] != file:
            known = self._known[path] = (file, _read(path))
            while len(self._known) > _MAX_KNOWN:
                self._known.pop(next(iter(self._known)))
        return known[1]


def _user_folders() -> Iterable[Path]:
    """Return where ruff looks for the user's own configuration."""
    places = (os.environ.get("XDG_CONFIG_HOME"), "~/.config", "~/Library/Application Support")
    return (Path(place).expanduser() / "ruff" for place in places if place)


def _file(path: Path) -> _File | None:
    try:
        facts = path.stat()
    except OSError:
        return None
    if not stat.S_ISREG(facts.st_mode):
        return None
    return _File(facts.st_ctime_ns, facts.st_ino, facts.st_size)


def _read(path: Path) -> _Content:
    is_own = path.name != _PROJECT
    try:
        content = tomllib.loads(read_file(path).decode("utf-8"))
    except (OSError, ValueError, RecursionError):
        return _Content(is_own, "", is_readable=False)
    settings: Any = content if is_own else content.get("tool")
    if not is_own and isinstance(settings, dict):
        settings = cast("dict[str, Any]", settings).get("ruff")
    if not isinstance(settings, dict):
        return _Content(is_for_ruff=False, extends="", is_readable=True)
    extends = cast("dict[str, Any]", settings).get("extend", "")
    return _Content(True, extends if isinstance(extends, str) else "", is_readable=True)
