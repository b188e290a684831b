"""The wheel carries what an installed agent-ls needs and no more; the sdist has the repository."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tools.package_metadata import long_description


def build(repository: Path, folder: Path, *options: str, address: str = "") -> None:
    """Build into a folder, as published at an address."""
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder), *options]
    variables = {**os.environ, "REPOSITORY": address}
    built = subprocess.run(command, cwd=repository, capture_output=True, text=True, env=variables)
    assert built.returncode == 0, built.stderr


@pytest.fixture(scope="module")
def built(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the sdist of this checkout."""
    folder = tmp_path_factory.mktemp("dist")
    build(repository, folder)
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> set[str]:
    """The names inside the wheel."""
    (path,) = built.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def sdist(built: Path) -> set[str]:
    """The names inside the sdist, below its one folder."""
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


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
    assert "agent_ls/py.typed" in wheel


def test_the_wheel_has_the_language_data_inside_the_package(
    wheel: set[str], tracked: list[Path], repository: Path
) -> None:
    check(wheel, tracked, repository / "grammars", "agent_ls/grammars")


def test_the_wheel_has_nothing_of_the_workshop(wheel: set[str]) -> None:
    outside = {name for name in wheel if not name.startswith("agent_ls/")}
    beside = {name.partition("/")[2] for name in outside if ".dist-info/" not in name}
    assert beside == {"data/share/man/man1/agent-ls.1"}


def test_the_sdist_has_the_tests_and_what_they_read(
    sdist: set[str], tracked: list[Path], repository: Path
) -> None:
    names = {path.relative_to(repository).as_posix() for path in tracked}
    assert not names - sdist - {".gitattributes"}


def test_an_index_would_take_both(built: Path) -> None:
    command = [sys.executable, "-m", "twine", "check", "--strict", *map(str, built.iterdir())]
    checked = subprocess.run(command, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout


def test_the_addresses_are_those_of_who_publishes_also_in_a_wheel_from_the_sdist(
    repository: Path, tmp_path: Path
) -> None:
    address = "https://host.example/owner/agent-ls"
    build(repository, tmp_path, "-t", "sdist", address=f"{address}.git")
    (path,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        archive.extractall(tmp_path, filter="data")
    (folder,) = (one for one in tmp_path.iterdir() if one.is_dir())
    build(folder, tmp_path / "wheel", "-t", "wheel")
    (path,) = (tmp_path / "wheel").glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        (name,) = (one for one in archive.namelist() if one.endswith("/METADATA"))
        text = archive.read(name).decode()
    assert f"Project-URL: Issues, {address}/issues\n" in text
    assert re.findall(r"\]\((?!https?://)[^)]*\)", text) == []


@pytest.mark.parametrize(
    "text, with_address, without",
    [
        ("[a](docs/a.md#b)", "[a](https://h.example/o/r/blob/HEAD/docs/a.md#b)", "a"),
        ("![a](docs/a.png)", "![a](https://h.example/o/r/raw/HEAD/docs/a.png)", ""),
        ("[a](#b)", "[a](#b)", "a"),
        ("[a](https://b.example/c)", "[a](https://b.example/c)", "[a](https://b.example/c)"),
        ("x\n\n![a](a.png)\n\ny", "x\n\n![a](https://h.example/o/r/raw/HEAD/a.png)\n\ny", "x\n\ny"),
    ],
)
def test_links_are_whole_or_words(text: str, with_address: str, without: str) -> None:
    assert long_description(text, "https://h.example/o/r") == with_address
    assert long_description(text, "") == without
