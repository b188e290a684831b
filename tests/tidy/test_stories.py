"""Every real editor and server has a story that CI plays: the main job in it."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.editors.abilities import EDITORS

# `make test` has the story of our own server (`smoke`) and all tests of Landlock.
SERVERS = {
    "acp",
    "another language server",
    "demo",
    "headless run",
    "hostile folder",
    "hostile model",
    "kills",
    "panel",
    "panel pictures",
    "postgresql",
    "sandbox escapes",
    "tool server",
}


@pytest.fixture(scope="module")
def stories(repository: Path) -> dict[str, set[str]]:
    """The files of tests that play a story, by its name."""
    found: dict[str, set[str]] = {}
    for path in sorted((repository / "tests").rglob("test_*.py")):
        name = path.relative_to(repository).as_posix()
        if path != Path(__file__) and "mark.story(" in path.read_text("utf-8"):
            module = importlib.import_module(name.removesuffix(".py").replace("/", "."))
            for story in _stories(module):
                found.setdefault(story, set()).add(name)
    return found


def _stories(module: object) -> Iterator[str]:
    """Yield the names in the marks of a module's tests, and of the rows of their tables."""
    for test in vars(module).values():
        for mark in getattr(test, "pytestmark", ()) if callable(test) else ():
            rows = mark.args[1] if mark.name == "parametrize" else ()
            marks = [mark, *(one for row in rows for one in getattr(row, "marks", ()))]
            yield from (str(*one.args) for one in marks if one.name == "story")


def test_every_editor_and_server_has_a_story(stories: dict[str, set[str]]) -> None:
    assert set(stories) == {*EDITORS, "vscode", "acpx", *SERVERS}


def test_only_stories_of_editors_are_played_once_more(stories: dict[str, set[str]]) -> None:
    """`scripts/test_editors.sh` does that for what fails in this folder."""
    folder = "tests/editors/"
    apart = {name for name, files in stories.items() if any(folder in file for file in files)}
    assert apart == set(stories) - SERVERS


def test_every_editor_that_is_installed_has_a_story(
    stories: dict[str, set[str]], repository: Path
) -> None:
    script = (repository / "tests/editors/install.sh").read_text("utf-8")
    [parts] = re.findall(r"^usual=\((.+)\)$", script, re.M)
    missing = [part for part in parts.split() if not any(one.startswith(part) for one in stories)]
    assert missing == []
