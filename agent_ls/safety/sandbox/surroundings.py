"""What a confined command sees besides the workspace: the system, and the person's toolchains."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
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
_PROGRAMS = ("bin", "sbin", "shims", "Scripts")
_PARTS = ("lib", "lib64", "libexec", "include", "pkg")
"""What a toolchain has beside its programs."""


@cache
def system_folders() -> tuple[Path, ...]:
    """Return the folders of the system's programs that exist, links included."""
    return tuple(path for path in map(Path, _FACTS["system"].split()) if path.exists())


def etc_files(*, network: bool) -> Iterator[Path]:
    """Yield the parts of /etc that programs need, with what a network needs if it is shared."""
    names = _FACTS["etc"].split() + (_FACTS["etc_network"].split() if network else [])
    for name in names:
        yield from sorted(Path("/etc").glob(name))
    if network:
        yield from (
            path for path in map(Path, _FACTS["etc_network_targets"].split()) if path.exists()
        )


def toolchains(environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the folders with the person's toolchains, as they are named.

    These are the usual ones in the home folder, and those of the programs on PATH; also programs
    elsewhere in the home folder that links on PATH lead to.
    """
    home = environment.get("HOME", "/")
    prefixes = tuple(value for name in _PREFIXES if (value := environment.get(name)))
    entries = tuple(environment.get("PATH", "").split(os.pathsep))
    return _toolchains(home, prefixes, entries, _changes(Path(home), (*prefixes, *entries)))


def _changes(home: Path, names: Iterable[str]) -> tuple[int, ...]:
    """Return when the folders changed in which toolchains come, go or are linked elsewhere."""
    found: list[int] = []
    for path in (*_parents(home), *names):
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
    """Return the person's own settings of git."""
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
