"""What a confined command sees besides the workspace: the system, and the person's toolchains."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

_FACTS: dict[str, str] = tomllib.loads(
    Path(__file__).with_name("surroundings.toml").read_text("utf-8")
)
KEPT_ABSENT = tuple(_FACTS["kept_absent"].split())
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
    """Return the folders with the person's toolchains, without links.

    These are the usual ones in the home folder, and those of the programs on PATH.
    """
    home = Path(environment.get("HOME", "/")).resolve()
    found = [home / name for name in _FACTS["home"].split()]
    found += [Path(value) for name in _PREFIXES if (value := environment.get(name))]
    found += [_prefix(Path(one), home) for one in environment.get("PATH", "").split(os.pathsep)]
    return tuple(dict.fromkeys(_existing(found, home)))


def git_files(environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the person's own settings of git."""
    home = Path(environment.get("HOME", "/")).resolve()
    return tuple(_existing([home / name for name in _FACTS["git"].split()], home))


def _existing(paths: Iterable[Path], home: Path) -> Iterator[Path]:
    for path in paths:
        try:
            real = path.resolve()
            # Never the home folder as a whole, and nothing above it.
            is_seen = home.is_relative_to(real) or any(map(real.is_relative_to, system_folders()))
            if path.is_absolute() and real.exists() and not is_seen:
                yield real
        except (OSError, RuntimeError, ValueError):
            continue


def _prefix(folder: Path, home: Path) -> Path:
    """Return the folder of a toolchain whose programs are in this one."""
    above = folder.parent
    # Beside the toolchains of the table there is much that is none, such as keys.
    is_shared = any(above == (home / name).parent for name in _FACTS["home"].split())
    return folder if folder.name not in _PROGRAMS or is_shared else above
