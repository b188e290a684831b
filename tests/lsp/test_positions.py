"""Positions: columns in three encodings, line ends as LSP defines them."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ls.lsp.connection.positions import ENCODINGS, Encoding, TextPositions, split_lines

ODD = "a\x0bb\x0cc\x1cd\x85e\u2028f\u2029g"


def check(text: str, encoding: Encoding, offset: int) -> tuple[tuple[int, int], int]:
    """Where an offset stands, and which offset that place is."""
    positions = TextPositions(text, encoding)
    place = positions.position(offset)
    return place, positions.offset(*place)


PLACES = {
    "start": ("abc", "utf-16", 0, (0, 0)),
    "end-of-text": ("abc", "utf-16", 3, (0, 3)),
    "beyond-the-end": ("abc", "utf-16", 99, (0, 3)),
    "before-the-start": ("abc", "utf-16", -1, (0, 0)),
    "after-a-line-feed": ("a\nb", "utf-16", 2, (1, 0)),
    "after-a-carriage-return": ("a\rb", "utf-16", 2, (1, 0)),
    "after-both": ("a\r\nb", "utf-16", 3, (1, 0)),
    "before-both": ("a\r\nb", "utf-16", 1, (0, 1)),
    "last-empty-line": ("a\n", "utf-16", 2, (1, 0)),
    "odd-separators-are-characters": (ODD, "utf-16", 12, (0, 12)),
    "utf8-accent": ("äb", "utf-8", 1, (0, 2)),
    "utf16-accent": ("äb", "utf-16", 1, (0, 1)),
    "utf8-astral": ("😀b", "utf-8", 1, (0, 4)),
    "utf16-astral": ("😀b", "utf-16", 1, (0, 2)),
    "utf32-astral": ("😀b", "utf-32", 1, (0, 1)),
}


@pytest.mark.parametrize("text, encoding, offset, place", PLACES.values(), ids=PLACES.keys())
def test_an_offset_has_one_place_and_the_place_leads_back(
    text: str, encoding: Encoding, offset: int, place: tuple[int, int]
) -> None:
    found, back = check(text, encoding, offset)
    assert found == place
    assert back == max(0, min(offset, len(text)))


def test_the_place_inside_a_crlf_is_before_it() -> None:
    assert check("a\r\nb", "utf-16", 2) == ((0, 1), 1)


@pytest.mark.parametrize(
    "encoding, column, offset",
    [("utf-16", 2, 1), ("utf-8", 2, 1), ("utf-8", 3, 1), ("utf-8", 4, 1), ("utf-8", 5, 2)],
)
def test_a_column_inside_a_character_is_its_start(
    encoding: Encoding, column: int, offset: int
) -> None:
    assert TextPositions("a😀b\n", encoding).offset(0, column) == offset


@pytest.mark.parametrize(
    "line, column, offset",
    [(0, 99, 1), (0, -3, 0), (-1, 5, 0), (1, 99, 4), (2, 0, 4), (99, 99, 4)],
)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_places_outside_the_text_are_clamped(
    encoding: Encoding, line: int, column: int, offset: int
) -> None:
    assert TextPositions("a\r\nb", encoding).offset(line, column) == offset


@given(text=st.text(alphabet=st.sampled_from(list("ab\r\n\x0c\x85\u2028é€😀𐐷\ud800"))))
def test_every_offset_survives_the_way_there_and_back(text: str) -> None:
    for encoding in ENCODINGS:
        for offset in range(len(text) + 1):
            _, back = check(text, encoding, offset)
            inside_crlf = text[max(0, offset - 1) : offset + 1] == "\r\n"
            assert back == offset - inside_crlf


@given(text=st.text(alphabet=st.sampled_from(list("ab\r\n\x0b\x0c\x1e\x85\u2028\u2029😀"))))
def test_lines_end_only_where_lsp_says(text: str) -> None:
    lines = split_lines(text)
    assert "".join(lines) == text
    assert all(line.endswith(("\n", "\r")) for line in lines[:-1])
    for line in lines:
        content = line.removesuffix("\n").removesuffix("\r") if line != "\n" else ""
        assert "\n" not in content
        assert "\r" not in content
    assert not any(a.endswith("\r") and b.startswith("\n") for a, b in itertools.pairwise(lines))
    assert not lines[-1].endswith(("\n", "\r"))
