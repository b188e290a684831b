"""What an installation weighs, with litellm and what litellm alone brings, and without both.

    python -m benchmarks.footprint [--repetitions 5] [--json]

Sizes are those of the files that packages say they installed, with their compiled modules, in the
environment that runs this. Only packages that agent-ls needs without its extras are counted.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from benchmarks.figures import Figure, finish, median
from benchmarks.places import AGENT_LS, REPOSITORY

_OWN = "agent-ls"
_LITELLM = "litellm"
_LARGE_MB = 20


def measure(repetitions: int) -> list[Figure]:
    """Return megabytes, packages and milliseconds."""
    sizes = {name: size_mb(name) for name in needed(_OWN)}
    without = needed(_OWN, left_out=_LITELLM)
    alone = {name: sizes[name] for name in without}
    largest = max(alone, key=lambda name: alone[name])
    version = _ms([*AGENT_LS, "--version"], repetitions)
    return [
        Figure("packages, with litellm", len(sizes)),
        Figure("packages, without it", len(alone)),
        Figure("size, with litellm", sum(sizes.values()), "MB"),
        Figure("size, without it", sum(alone.values()), "MB", goal=70),
        Figure(f"largest without it: {largest}", alone[largest], "MB", goal=_LARGE_MB),
        Figure("agent-ls --version", version, "ms", goal=100),
        Figure("import litellm", _ms([sys.executable, "-c", "import litellm"], repetitions), "ms"),
    ]


def needed(package: str, *, left_out: str = "") -> set[str]:
    """Return what a package needs here, itself included.

    ``left_out`` and what it alone brings are not in it.
    """
    found: set[tuple[str, str]] = set()
    open_ = [(canonicalize_name(package), "")]
    while open_:
        one = open_.pop()
        if one in found or one[0] == left_out:
            continue
        found.add(one)
        for requirement in map(Requirement, metadata.requires(one[0]) or ()):
            marker = requirement.marker
            if marker is None or marker.evaluate({"extra": one[1]}):
                name = canonicalize_name(requirement.name)
                open_ += [(name, extra) for extra in ("", *requirement.extras)]
    return {name for name, _ in found}


def size_mb(package: str) -> float:
    """Return the size of a package's files; ours are those of the checkout."""
    if package == _OWN:
        files = [path for path in (REPOSITORY / "agent_ls").rglob("*") if path.is_file()]
    else:
        named = [Path(str(file.locate())) for file in metadata.files(package) or ()]
        files = [path for path in named if path.is_file()]
    return sum(path.stat().st_size for path in files) / 1e6


def _ms(command: list[str], repetitions: int) -> float:
    def once() -> float:
        begun_s = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        return (time.perf_counter() - begun_s) * 1000

    once()
    return median(once() for _ in range(repetitions))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    return finish("footprint", measure(options.repetitions), as_json=options.json)


if __name__ == "__main__":
    raise SystemExit(main())
