"""What the rules about the repository look at: its files, and our modules as syntax trees."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def tracked(repository: Path) -> list[Path]:
    """The files git knows or would add, that still exist."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=repository,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return [path for name in listing.split("\0") if name and (path := repository / name).is_file()]


@pytest.fixture(scope="session")
def modules(repository: Path) -> dict[str, ast.Module]:
    """Our own modules by path below the root, parsed."""
    package = repository / "agent_ls"
    return {
        path.relative_to(repository).as_posix(): ast.parse(path.read_text("utf-8"))
        for path in sorted(package.rglob("*.py"))
        if "project" not in path.relative_to(package).parts
    }
