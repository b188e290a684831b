"""The site shows every page, and nothing in the pages leads nowhere.

`make docs` looks at links to pages and headings; what it does not look at is looked at here.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.build_site import SOURCES

_LINK = re.compile(r"\[[^\]\n]*\]\((?!https?://|#|mailto:)([^)#\s]+)")
_CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.MULTILINE | re.DOTALL)


def _leaves(nav: object) -> Iterator[str]:
    match nav:
        case str():
            yield nav
        case list():
            for one in nav:
                yield from _leaves(one)
        case dict():
            for one in nav.values():
                yield from _leaves(one)
        case _:
            pass


@pytest.fixture(scope="module")
def shown(repository: Path, tracked: list[Path]) -> set[str]:
    """The Markdown pages that the site is built from."""
    names = {path.relative_to(repository).as_posix() for path in tracked if path.suffix == ".md"}
    return {name for name in names if name in SOURCES or name.startswith("docs/")}


def test_each_page_stands_once_in_the_navigation(repository: Path, shown: set[str]) -> None:
    nav = tomllib.loads((repository / "zensical.toml").read_text("utf-8"))["project"]["nav"]
    listed = list(_leaves(nav))
    assert sorted(listed) == sorted(shown), "name each page once in `nav` of zensical.toml"


def test_each_page_begins_with_its_title(repository: Path, shown: set[str]) -> None:
    assert [n for n in shown if not (repository / n).read_text("utf-8").startswith("# ")] == []


def test_every_file_that_a_page_links_to_is_on_the_site(repository: Path, shown: set[str]) -> None:
    lost: list[str] = []
    for name in sorted(shown):
        for target in _LINK.findall(_CODE.sub("", (repository / name).read_text("utf-8"))):
            path = (repository / name).parent / target
            within = path.resolve().relative_to(repository).as_posix()
            if not path.exists() or not any(
                within == source or within.startswith(f"{source}/") for source in SOURCES
            ):
                lost.append(f"{name}: {target}")
    assert lost == []


def test_every_picture_is_shown_somewhere(
    repository: Path, tracked: list[Path], shown: set[str]
) -> None:
    texts = "\n".join((repository / name).read_text("utf-8") for name in shown)
    pictures = [path.name for path in tracked if path.is_relative_to(repository / "docs")]
    assert [name for name in pictures if name.endswith(".png") and name not in texts] == []
