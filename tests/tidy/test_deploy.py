"""The files for Docker and Homebrew name what is there. Neither program is needed to read them."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest

from tools.homebrew import formula


@pytest.fixture(scope="module")
def project(repository: Path) -> dict[str, object]:
    return tomllib.loads((repository / "pyproject.toml").read_text("utf-8"))["project"]


def _steps(repository: Path) -> list[tuple[str, list[str]]]:
    text = (repository / "deploy" / "Dockerfile").read_text("utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    steps = [line.partition(" ") for line in lines]
    return [(name, shlex.split(words)) for name, _, words in steps]


def test_the_image_has_a_python_that_was_tried_and_extras_that_exist(
    repository: Path, project: dict[str, list[str] | dict[str, list[str]]]
) -> None:
    steps = _steps(repository)
    (image,) = (words[0] for name, words in steps if name == "FROM")
    version = image.removeprefix("python:").removesuffix("-slim")
    assert f"Programming Language :: Python :: {version}" in project["classifiers"]
    (extras,) = re.findall(r"/src\[([\w,]+)\]", str(steps))
    assert set(extras.split(",")) <= set(project["optional-dependencies"])


def test_the_image_does_not_run_as_root_and_starts_a_conversation(repository: Path) -> None:
    names = [name for name, _ in _steps(repository)]
    # Compose gives the scheduler and the workers commands of their own, so there is no ENTRYPOINT.
    assert names[-3:] == ["USER", "WORKDIR", "CMD"]


def test_what_the_build_reads_is_not_kept_from_it(repository: Path, tracked: list[Path]) -> None:
    ignored = (repository / ".dockerignore").read_text("utf-8").split("\n")[1:-1]
    tops = {path.relative_to(repository).parts[0] for path in tracked}
    assert not tops & set(ignored)
    # What a checkout makes is large, and a token may lie in it.
    assert {".venv", ".git", "**/node_modules"} <= set(ignored)


@pytest.mark.parametrize(
    "repository_address, address",
    [
        (
            "https://h.example/o/r.git",
            "https://h.example/o/r/releases/download/v1.2/agent_ls-1.2.tar.gz",
        ),
        ("", "file://"),
    ],
)
def test_the_formula_is_complete(repository_address: str, address: str, tmp_path: Path) -> None:
    sdist = tmp_path / "agent_ls-1.2.tar.gz"
    sdist.write_bytes(b"sources")
    text = formula(sdist, repository_address)
    assert "@" not in text.replace("python@3.13", "")
    assert f'url "{address}' in text
    assert re.search(r'sha256 "[0-9a-f]{64}"', text)


def test_the_formula_finds_the_pins_of_the_lock(repository: Path) -> None:
    (pattern,) = re.findall(
        r"grep\(/\\A(.+?)/\)", (repository / "deploy" / "homebrew.rb").read_text()
    )
    lines = (repository / "requirements.lock").read_text("utf-8").splitlines()
    pins = [line for line in lines if re.match(pattern, line)]
    assert len(pins) > 50
    assert all(line.endswith(" \\") for line in pins)
