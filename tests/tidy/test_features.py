"""docs/features.md is a map of what is there.

Files, symbols, stories and tests that it names exist, and nothing that belongs on it is missing.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent_ls import catalogue

_CODE = re.compile(r"`([^`]+)`")
_WORDS = re.compile(r"“([^”]+)”")
_SYSTEM = re.compile(r"^- \*\*(S\d)\*\*: \S", re.MULTILINE)
_HEAD = "| feature | from | where | shown by |"


@dataclass(frozen=True)
class Row:
    """One feature."""

    feature: str
    systems: str
    where: tuple[str, ...]
    shown_by: tuple[str, ...]
    says: tuple[str, ...]
    """Words that stand in one of those stories or tests, and would not without the feature."""


@pytest.fixture(scope="module")
def page(repository: Path) -> str:
    return (repository / "docs" / "features.md").read_text("utf-8")


@pytest.fixture(scope="module")
def rows(page: str) -> list[Row]:
    return list(rows_of(page))


def rows_of(page: str) -> Iterator[Row]:
    for table in page.split(_HEAD)[1:]:
        for line in table.strip("\n").split("\n")[1:]:
            if not line.startswith("|"):
                break
            feature, systems, where, shown = (one.strip() for one in line.strip("|").split("|"))
            shown_by, _, says = shown.partition("; says ")
            yield Row(
                feature,
                systems,
                tuple(_CODE.findall(where)),
                tuple(_CODE.findall(shown_by)),
                tuple(_WORDS.findall(says)),
            )


def check(found: list[str]) -> None:
    """Assert that nothing was found."""
    assert not found, "docs/features.md: " + "; ".join(found)


def test_every_feature_says_where_it_is_and_what_shows_it(rows: list[Row]) -> None:
    assert len(rows) > 80
    check([f"{row.feature!r} has no place" for row in rows if not row.where])
    check([f"{row.feature!r} is not shown" for row in rows if not row.shown_by])


def test_every_place_exists(rows: list[Row], repository: Path) -> None:
    found: list[str] = []
    for place in sorted({place for row in rows for place in row.where}):
        name, _, symbol = place.partition(":")
        path = repository / "agent_ls" / name
        if not path.is_file():
            found.append(f"there is no agent_ls/{name}")
        elif symbol and symbol not in _defined(path):
            found.append(f"agent_ls/{name} has no {symbol}")
    check(found)


def _defined(path: Path) -> set[str]:
    """Return what a module defines at its top, and the methods of its classes."""
    if path.suffix != ".py":
        return set()
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found.add(name)
            case ast.ClassDef(name=name):
                found.add(name)
            case ast.Assign(targets=[ast.Name(id=name)]):
                found.add(name)
            case ast.AnnAssign(target=ast.Name(id=name)):
                found.add(name)
            case _:
                pass
    return found


def test_everything_that_shows_a_feature_exists(rows: list[Row], repository: Path) -> None:
    stories = {
        path.stem
        for folder in ("transcripts", "markers")
        for path in (repository / "tests" / folder).glob("*.txt")
    }
    found: list[str] = []
    for name in sorted({name for row in rows for name in row.shown_by}):
        path, _, test = name.partition("::")
        if "/" not in name:
            found += [] if name in stories else [f"there is no story {name}"]
        elif not (repository / path).is_file():
            found.append(f"there is no {path}")
        elif test and f"def {test}(" not in (repository / path).read_text("utf-8"):
            found.append(f"{path} has no {test}")
    check(found)


def test_what_shows_a_feature_says_what_the_page_says(rows: list[Row], repository: Path) -> None:
    found: list[str] = []
    for row in rows:
        texts = [_text_of(name, repository) for name in row.shown_by]
        missing = [words for words in row.says if not any(words in text for text in texts)]
        found += [f"nothing that shows {row.feature!r} says {words!r}" for words in missing]
        # The name of a test is itself a sentence about the feature.
        if not row.says and not all("::" in name for name in row.shown_by):
            found.append(f"{row.feature!r} does not say which words show it (“…”)")
    check(found)


def _text_of(name: str, repository: Path) -> str:
    """Return a story, or a file of tests; empty when there is none."""
    path = repository / name.partition("::")[0]
    if "/" in name:
        return path.read_text("utf-8") if path.is_file() else ""
    places = (repository / "tests" / one / f"{name}.txt" for one in ("transcripts", "markers"))
    return next((place.read_text("utf-8") for place in places if place.is_file()), "")


def test_every_golden_transcript_shows_a_feature(rows: list[Row], repository: Path) -> None:
    named = {name for row in rows for name in row.shown_by}
    stories = {path.stem for path in (repository / "tests" / "transcripts").glob("*.txt")}
    check([f"no row names the transcript {name}" for name in sorted(stories - named)])


def test_every_part_in_the_catalogue_is_a_feature(rows: list[Row]) -> None:
    named = {place.partition(":")[0] for row in rows for place in row.where}
    parts = (*catalogue.POLICIES, *catalogue.TOOLS, *catalogue.CHECKERS)
    files = {part.__module__.removeprefix("agent_ls.").replace(".", "/") + ".py" for part in parts}
    check([f"no row names {name}" for name in sorted(files - named)])


def test_every_system_is_described_and_every_feature_comes_from_one(
    page: str, rows: list[Row]
) -> None:
    systems = set(_SYSTEM.findall(page))
    assert systems == {"S0", "S1", "S2", "S3", "S4"}
    for row in rows:
        assert set(row.systems.split(" ")) <= {*systems, "own"}, row.feature
