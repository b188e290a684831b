"""Outlines: what a text defines, in every language that has a query.

``UPDATE_GOLDEN=1`` rewrites the outlines; read the difference before believing it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent_ls.domain.symbols import Symbol
from agent_ls.syntax.definitions import query_of
from agent_ls.syntax.languages import Language, language_of, languages
from agent_ls.syntax.outline import outline_of
from tests.support.archive import read_archive

_OUTLINES = Path(__file__).with_name("outlines")
_UPDATES = os.environ.get("UPDATE_GOLDEN") == "1"


def check(text: str, file_name: str) -> list[Symbol]:
    """Return the outline, after asserting that its spans lie in the text and in each other."""
    language = language_of("", file_name)
    assert language is not None
    symbols = outline_of(text, language)
    assert symbols is not None
    above: list[Symbol] = []
    for one in symbols:
        assert 0 <= one.start < one.end <= len(text)
        assert one.first_line <= one.line <= one.last_line
        assert text.count("\n", 0, one.start) + 1 == one.first_line, one
        assert text.count("\n", 0, one.end) + 1 == one.last_line, one
        assert one.name.split("::")[-1].rpartition(" for ")[2] in text[one.start : one.end]
        del above[one.depth :]
        if above:
            assert above[-1].start <= one.start
            assert one.end <= above[-1].end
        assert len(above) == one.depth
        above.append(one)
    return symbols


def _told(symbols: list[Symbol]) -> str:
    return "".join(
        f"{'  ' * one.depth}{one.kind} {one.qualified} {one.first_line}-{one.last_line}"
        f" @{one.line}: {one.signature}\n"
        for one in symbols
    )


def _cases() -> list[Path]:
    return sorted(_OUTLINES.glob("*.txt"))


@pytest.mark.parametrize("path", _cases(), ids=lambda one: one.stem)
def test_a_text_has_the_outline_that_is_written_beside_it(path: Path) -> None:
    archive = read_archive(path)
    ((file_name, text),) = archive.below("file").items()
    archive_outline = _told(check(text, file_name))
    if _UPDATES:
        archive.members["outline"] = archive_outline
        path.write_text(str(archive), encoding="utf-8")
    assert archive_outline == archive.members["outline"]


@pytest.mark.parametrize("path", _cases(), ids=lambda one: one.stem)
def test_crlf_moves_offsets_and_nothing_else(path: Path) -> None:
    archive = read_archive(path)
    ((file_name, text),) = archive.below("file").items()
    crlf = text.replace("\n", "\r\n")
    plain, other = check(text, file_name), check(crlf, file_name)
    assert _told(other) == _told(plain)
    assert [crlf[one.start : one.end].replace("\r\n", "\n") for one in other] == [
        text[one.start : one.end] for one in plain
    ]


@pytest.mark.parametrize("path", _cases(), ids=lambda one: one.stem)
def test_a_byte_order_mark_is_no_part_of_a_symbol(path: Path) -> None:
    archive = read_archive(path)
    ((file_name, text),) = archive.below("file").items()
    marked = check(f"\ufeff{text}", file_name)
    assert _told(marked) == _told(check(text, file_name))
    assert not any("\ufeff" in f"\ufeff{text}"[one.start : one.end] for one in marked)


@pytest.mark.parametrize("language", [one for one in languages() if one.outline], ids=str)
def test_each_query_fits_its_grammar(language: Language) -> None:
    assert query_of(language) is not None


@pytest.mark.parametrize("text", ["", "\n", "\ufeff", "   \r\n"])
def test_an_empty_text_defines_nothing(text: str) -> None:
    assert check(text, "a.py") == []


@pytest.mark.parametrize(
    "file_name, opener, closer",
    [
        ("a.json", '{"a":', "}"),
        ("a.rs", "mod a {", "}"),
        ("a.js", "function a(){", "}"),
        ("a.js", "// a\nfunction a(){\n", "}\n"),
        ("a.cpp", "namespace a {", "}"),
        ("a.java", "@A class a {", "}"),
    ],
)
def test_nesting_takes_as_long_as_the_text(file_name: str, opener: str, closer: str) -> None:
    # With a climb from each definition this takes minutes, and ends as a test that is too slow.
    depth = 3_000
    text = opener * depth + ("1" if file_name == "a.json" else "") + closer * depth
    language = language_of("", file_name)
    assert language is not None
    symbols = outline_of(text, language)
    assert symbols is not None
    assert [one.depth for one in symbols] == [*range(201)]


def test_half_a_character_does_not_stop_an_outline() -> None:
    (symbol,) = check("x = '\ud800'\r\ndef ä(): pass\n", "a.py")[1:]
    assert (symbol.name, symbol.line) == ("ä", 2)


def test_what_has_no_grammar_has_no_outline() -> None:
    ini = language_of("", "a.ini")
    assert ini is not None
    assert outline_of("[a]\nb = 1\n", ini) is None
