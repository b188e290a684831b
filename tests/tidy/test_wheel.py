"""The wheel carries what an installed agent-ls needs, and nothing of the workshop."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def wheel(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The names inside a wheel built from this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory"]
    built = subprocess.run([*command, str(folder)], cwd=repository, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    (path,) = folder.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        return set(archive.namelist())


def check(wheel: set[str], tracked: list[Path], below: Path, inside: str) -> None:
    """Assert that the wheel has every tracked file of a folder, under its name inside the wheel."""
    names = {
        f"{inside}/{path.relative_to(below).as_posix()}"
        for path in tracked
        if path.is_relative_to(below)
    }
    assert names
    assert not names - wheel


def test_the_wheel_has_every_file_of_the_package(
    wheel: set[str], tracked: list[Path], repository: Path
) -> None:
    check(wheel, tracked, repository / "agent_ls", "agent_ls")


def test_the_wheel_has_the_language_data_inside_the_package(
    wheel: set[str], tracked: list[Path], repository: Path
) -> None:
    check(wheel, tracked, repository / "grammars", "agent_ls/grammars")


def test_the_wheel_has_nothing_of_the_workshop(wheel: set[str]) -> None:
    outside = {name for name in wheel if not name.startswith("agent_ls/")}
    beside = {name.partition("/")[2] for name in outside if ".dist-info/" not in name}
    assert beside == {"data/share/man/man1/agent-ls.1"}
