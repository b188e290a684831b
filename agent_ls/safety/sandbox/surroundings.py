"""What a confined command sees besides the workspace: the system, and the user's toolchains."""

from __future__ import annotations

import os
import shutil
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path

_FACTS: dict[str, str] = tomllib.loads(
    Path(__file__).with_name("surroundings.toml").read_text("utf-8")
)
REGISTRIES = frozenset(_FACTS["registries"].split())
_PREFIXES = (
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "NVM_DIR",
    "GOROOT",
    "RUSTUP_HOME",
    "JAVA_HOME",
    "PYENV_ROOT",
)
"""Variables that name the folder of a toolchain."""
_ETC = Path("/etc")
_ETC_FOLDERS = tuple(
    dict.fromkeys((_ETC / name).parent for name in (_FACTS["etc"] + _FACTS["etc_network"]).split())
)
_PROGRAMS = ("bin", "sbin", "shims", "Scripts")
_PARTS = ("lib", "lib64", "libexec", "include", "pkg")
"""What a toolchain has beside its programs."""


@cache
def system_folders() -> tuple[Path, ...]:
    """Return the folders of the system's programs that exist, links included."""
    return tuple(path for path in map(Path, _FACTS["system"].split()) if path.exists())


def etc_files(*, network: bool) -> tuple[Path, ...]:
    """Return the parts of /etc that programs need, with what a network needs if it is shared."""
    return _etc_files(network, _changes(map(str, _ETC_FOLDERS)))


def resolver_folders() -> Iterator[Path]:
    """Yield where links in /etc lead that a network needs."""
    yield from (path for path in map(Path, _FACTS["etc_network_targets"].split()) if path.exists())


def copied_etc(place: Path, *, network: bool) -> Path:
    """Return a folder below ``place`` with copies of what ``etc_files`` names.

    Mounting this takes a tenth of the time of mounting each file. Copied again when they change.
    """
    files = etc_files(network=network)
    return _copied_etc(place, files, _changes(map(str, files)))


@lru_cache(maxsize=2)
def _etc_files(network: bool, _changed: tuple[int, ...]) -> tuple[Path, ...]:
    names = _FACTS["etc"].split() + (_FACTS["etc_network"].split() if network else [])
    return tuple(path for name in names for path in sorted(_ETC.glob(name)))


@lru_cache(maxsize=8)
def _copied_etc(place: Path, files: tuple[Path, ...], _changed: tuple[int, ...]) -> Path:
    # Commands that run still have the last one.
    copy = Path(tempfile.mkdtemp(prefix="etc-", dir=place))
    copy.chmod(0o755)
    for path in files:
        target = copy / path.relative_to(_ETC)
        target.parent.mkdir(parents=True, exist_ok=True)
        # What cannot be read here could not be read in the sandbox.
        with suppress(OSError):
            if path.is_dir() and not path.is_symlink():
                shutil.copytree(path, target, symlinks=True)
            else:
                shutil.copy2(path, target, follow_symlinks=False)
    return copy


def toolchains(environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the folders with the user's toolchains, as they are named.

    These are the usual ones in the home folder, and those of the programs on PATH; also programs
    elsewhere in the home folder that links on PATH lead to.
    """
    home = environment.get("HOME", "/")
    prefixes = tuple(value for name in _PREFIXES if (value := environment.get(name)))
    entries = tuple(environment.get("PATH", "").split(os.pathsep))
    return _toolchains(
        home, prefixes, entries, _changes((*map(str, _parents(Path(home))), *prefixes, *entries))
    )


def _changes(names: Iterable[str]) -> tuple[int, ...]:
    """Return when these files and folders changed."""
    found: list[int] = []
    for path in names:
        try:
            found.append(os.stat(path).st_mtime_ns)  # noqa: PTH116 - each command waits for it
        except (OSError, ValueError):
            found.append(0)
    return tuple(found)


@lru_cache(maxsize=8)
def _toolchains(
    home_folder: str, prefixes: tuple[str, ...], path: tuple[str, ...], _changed: tuple[int, ...]
) -> tuple[Path, ...]:
    home, entries = Path(home_folder), list(map(Path, path))
    named = [home / name for name in _FACTS["home"].split()] + list(map(Path, prefixes))
    shared = _shared(home.resolve())
    named += [one for entry in entries for one in (entry, _prefix(entry))]
    found = [one for one in _existing(named, home.resolve()) if one.resolve() not in shared]
    reals = [one.resolve() for one in found]
    targets = [real for entry in entries for real in _targets(entry, home.resolve())]
    found += [one for one in targets if not any(map(one.is_relative_to, reals))]
    return tuple(dict.fromkeys(found))


def git_files(environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the user's own settings of git."""
    home = Path(environment.get("HOME", "/")).resolve()
    found = _existing([home / name for name in _FACTS["git"].split()], home)
    return tuple(one.resolve() for one in found)


def _existing(paths: Iterable[Path], home: Path) -> Iterator[Path]:
    for path in paths:
        try:
            real = path.resolve()
            # Never the home folder as a whole, and nothing above it.
            is_seen = home.is_relative_to(real) or any(map(real.is_relative_to, system_folders()))
            if path.is_absolute() and real.exists() and not is_seen:
                yield path
        except (OSError, RuntimeError, ValueError):
            continue


def _shared(home: Path) -> frozenset[Path]:
    """Return the folders above the toolchains of the table, which hold keys and settings too."""
    return frozenset(_parents(home))


@lru_cache(maxsize=4)
def _parents(home: Path) -> tuple[Path, ...]:
    named = [home / name for name in _FACTS["home"].split()]
    return tuple({above: None for path in named for above in path.parents})


def _prefix(folder: Path) -> Path:
    """Return the folder of a toolchain whose programs are in this one; else this one."""
    above = folder.parent
    is_toolchain = folder.name in _PROGRAMS and any((above / one).is_dir() for one in _PARTS)
    return above if is_toolchain else folder


def _targets(folder: Path, home: Path) -> Iterator[Path]:
    """Yield the programs in the home folder that links in a folder lead to."""
    try:
        if folder.is_absolute() and folder.resolve().is_relative_to(home):
            links = [Path(one.path) for one in os.scandir(folder) if one.is_symlink()]
            reals = (one.resolve() for one in links if os.access(one, os.X_OK))
            yield from (real for real in reals if real.is_relative_to(home) and real.is_file())
    except (OSError, RuntimeError, ValueError):
        return
