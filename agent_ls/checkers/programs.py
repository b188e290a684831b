"""Find the programs of checkers that may run.

Never returns a program inside an untrusted folder, neither through PATH nor through a link.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from agent_ls.loop.ports.workspace import Root
from agent_ls.processes.reading import read_file
from agent_ls.safety.programs import lies_in, path_outside

_OWN_PROGRAMS = ("node_modules/.bin", ".venv/bin", "venv/bin")


@dataclass(frozen=True, slots=True)
class TypeScript:
    """One installed TypeScript."""

    package: Path
    """The package's folder, with its ``package.json``."""
    version: str

    @property
    def checks_loose_files(self) -> bool:
        """Tell whether it knows the options for files without a project."""
        major, minor = (int(part) for part in self.version.split(".")[:2])
        return (major, minor) >= (5, 4)

    @property
    def tsc(self) -> Path:
        """Return the path of tsc, to be run by node."""
        return self.package / "bin" / "tsc"


def untrusted(roots: Iterable[Root]) -> tuple[Path, ...]:
    """Return the folders whose programs must not run."""
    return tuple(root.path for root in roots if not root.is_trusted)


def own_programs(folders: Iterable[Path]) -> tuple[Path, ...]:
    """Return the program folders inside these folders, which must be trusted."""
    places = (folder / below for folder in folders for below in _OWN_PROGRAMS)
    return tuple(place for place in places if place.is_dir())


def find_program(
    name: str, *, configured: str, avoid: Sequence[Path], first: Iterable[Path] = ()
) -> Path | None:
    """Return a program: the configured one, else from ``first``, PATH or beside our Python."""
    if configured:
        return _runnable(Path(configured).expanduser())
    for entry in (*map(str, first), *path_outside(avoid).split(os.pathsep)):
        found = shutil.which(name, path=entry)
        if found and not lies_in(Path(found), avoid):
            return Path(found)
    # Our interpreter's folder is safe: this process runs from it already.
    return _runnable(Path(sys.executable).parent / name)


def find_typescript(
    folders: Iterable[Path], *, configured: str, avoid: Sequence[Path], node: Path
) -> TypeScript | None:
    """Return a TypeScript: the configured one, else one in ``folders``, else a global one.

    A global one is on PATH or belongs to ``node``. Packages inside ``avoid`` do not count.
    """
    if configured:
        return _typescript_of(Path(configured).expanduser())
    for folder in folders:
        if not lies_in(folder, avoid):
            found = _typescript_at(folder / "node_modules" / "typescript")
            if found is not None:
                return found
    for program in (find_program("tsc", configured="", avoid=avoid), node):
        found = _typescript_of(program) if program else None
        if found is not None and not lies_in(found.package, avoid):
            return found
    return None


def trust_words(checker: str, root: Root) -> str:
    """Return a message that a checker waits for the user's trust in a folder, and how to trust.

    The action stands in front: some editors show the beginning only.
    """
    return (
        f"{checker} waits for “Agent: Trust {root.name}” (a code action, or "
        f"agent-ls trust {shlex.quote(str(root.path))}): it runs code that the folder brings."
    )


def has_typescript(folders: Iterable[Path]) -> bool:
    """Tell whether one of the folders has a TypeScript, trusted or not."""
    return any(_typescript_at(folder / "node_modules" / "typescript") for folder in folders)


def _typescript_of(place: Path) -> TypeScript | None:
    """Return the TypeScript of a package folder, or beside a ``tsc`` or ``node``."""
    real = place.resolve()
    # …/typescript · …/typescript/bin/tsc · PREFIX/bin/node with PREFIX/lib/node_modules
    candidates = [
        real,
        real.parent.parent,
        place.parent.parent / "typescript",
        place.parent.parent / "lib" / "node_modules" / "typescript",
        real.parent.parent / "lib" / "node_modules" / "typescript",
    ]
    for candidate in candidates:
        found = _typescript_at(candidate)
        if found is not None:
            return found
    return None


def _typescript_at(package: Path) -> TypeScript | None:
    try:
        told: object = json.loads(read_file(package / "package.json"))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(told, dict):
        return None
    facts = cast("dict[str, object]", told)
    version = facts.get("version")
    if facts.get("name") != "typescript" or not isinstance(version, str):
        return None
    return TypeScript(package, version) if re.match(r"\d+\.\d+", version) else None


def _runnable(program: Path) -> Path | None:
    return program if program.is_file() and os.access(program, os.X_OK) else None
