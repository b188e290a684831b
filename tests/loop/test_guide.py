"""docs/loop-guide.md is true: followed to the letter on a copy, its parts work and its tests pass.

A block whose info string names a file is that file; a ``diff`` block is a change to one. The
copies run in a process of their own, as a checkout of somebody who followed the page.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = pytest.mark.heavy

_BLOCK = re.compile(r"^```(python|diff) file=(\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_KINDS = ("check", "guard", "gate", "tool", "write tool", "checker")


@dataclass(frozen=True)
class Block:
    """One block of the page that goes into a file."""

    kind: str
    path: str
    text: str


def check(page: str, checkout: Path) -> list[str]:
    """Do what the page says in a checkout; returns the tests that it wrote."""
    tests: list[str] = []
    for block in blocks(page):
        place = checkout / block.path
        if block.kind == "diff":
            place.write_text(changed(place.read_text("utf-8"), block.text), "utf-8")
            continue
        assert not place.exists(), f"the page would overwrite {block.path}"
        place.write_text(block.text, "utf-8")
        if block.path.startswith("tests/"):
            tests.append(block.path)
    return tests


def blocks(page: str) -> list[Block]:
    return [Block(*found) for found in _BLOCK.findall(page)]


def changed(text: str, diff: str) -> str:
    """Return the text after the hunks of a diff, which are parted by empty lines."""
    for hunk in diff.split("\n\n"):
        lines = hunk.strip("\n").split("\n")
        before = "\n".join(line[1:] for line in lines if line[0] in " -")
        after = "\n".join(line[1:] for line in lines if line[0] in " +")
        assert text.count(f"{before}\n") == 1, f"not, or not once, in the file:\n{before}"
        text = text.replace(f"{before}\n", f"{after}\n")
    return text


@pytest.fixture(scope="module")
def page(repository: Path) -> str:
    return (repository / "docs" / "loop-guide.md").read_text("utf-8")


@pytest.fixture(scope="module")
def checkout(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the parts and their tests need of the repository, copied."""
    folder = tmp_path_factory.mktemp("checkout")
    skipped = shutil.ignore_patterns("__pycache__", "editors", "markers")
    for name in ("agent_ls", "grammars", "tests", "tools"):
        kept = shutil.ignore_patterns("node*", "__pycache__") if name == "tools" else skipped
        shutil.copytree(repository / name, folder / name, ignore=kept)
    for name in ("pyproject.toml", "requirements.lock"):
        shutil.copy(repository / name, folder / name)
    (folder / "docs").mkdir()
    return folder


@pytest.fixture(scope="module")
def tests_of_the_page(page: str, checkout: Path) -> list[str]:
    """The tests that somebody who has followed the page has in the checkout."""
    return check(page, checkout)


def run(checkout: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    return subprocess.run(
        [sys.executable, *words], cwd=checkout, env=environment, capture_output=True, text=True
    )


def test_the_page_has_an_example_of_every_kind(page: str) -> None:
    for kind in _KINDS:
        assert re.search(rf"^## A {kind}: ", page, re.MULTILINE), kind
    assert len(blocks(page)) == 3 * len(_KINDS)


def test_who_follows_the_page_gets_parts_that_work(
    tests_of_the_page: list[str], checkout: Path
) -> None:
    assert len(tests_of_the_page) == len(_KINDS)
    ran = run(checkout, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests_of_the_page)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    # Of the copy, not of the package beside this test.
    asked = "import agent_ls.policies.checks.many_files as m; print(m.__file__)"
    assert str(checkout) in run(checkout, "-P", "-c", asked).stdout
    # The parts are chosen, and their options are settings.
    known = run(checkout, "-P", "tools/generate_settings.py")
    assert known.returncode == 0, known.stderr
    settings = (checkout / "docs" / "settings.md").read_text("utf-8")
    for key in (
        "policies.many_files.max_files",
        "policies.generated_files.patterns",
        "policies.changelog.folder",
        "checkers.json_syntax.enabled",
    ):
        assert f"| `{key}` |" in settings
    tidy = run(
        checkout, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/tidy/test_catalogue.py"
    )
    assert tidy.returncode == 0, tidy.stdout


@pytest.mark.usefixtures("tests_of_the_page")
def test_the_pages_code_is_formatted_and_clean(page: str, checkout: Path) -> None:
    names = [block.path for block in blocks(page) if block.kind == "python"]
    for command in (("format", "--check"), ("check",)):
        ran = run(checkout, "-m", "ruff", *command, *names)
        assert ran.returncode == 0, ran.stdout + ran.stderr
