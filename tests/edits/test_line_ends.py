"""Lines that come back to a file of mixed line ends end as they did."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ls.domain.edits import apply_replacements
from agent_ls.edits.line_ends import with_ends_of
from agent_ls.edits.minimal import replacements_between


def check(before: str, now: str, expected: str, goal: str | None = None) -> None:
    """Assert what brings the text back, or makes ``goal`` of it."""
    found = replacements_between(now, before if goal is None else goal)
    assert apply_replacements(now, with_ends_of(before, now, found)) == expected


@pytest.mark.parametrize(
    "before, now, expected",
    [
        pytest.param("u0\r\nu1\nu2\n", "u1\nu2\n", "u0\r\nu1\nu2\n", id="a-first-line"),
        pytest.param("u0\r\nu1\nu2\r\n", "u0\r\nu2\r\n", "u0\r\nu1\nu2\r\n", id="in-the-middle"),
        pytest.param("a\r\nb\nc\nd\r\n", "a\r\nd\r\n", "a\r\nb\nc\nd\r\n", id="two-lines"),
        pytest.param("a\nb\r\nc\nd\n", "a\nc\n", "a\nb\r\nc\nd\n", id="two-places"),
        pytest.param("\ufeffa\r\nb\n", "b\n", "a\r\nb\n", id="behind-a-mark"),
        pytest.param("a\rx\r\nb\nc\n", "b\nc\n", "a\rx\r\nb\nc\n", id="with-a-cr-alone"),
        pytest.param("a\rx\nb\n", "b\n", "a\rx\nb\n", id="with-a-cr-alone-and-one-kind"),
        pytest.param("a\rb\nc\r", "a\rc\r", "a\rb\nc\r", id="in-the-middle-of-cr-alone"),
        pytest.param("a\nb\n", "b\n", "a\nb\n", id="one-kind"),
        pytest.param("a\r\nb\n", "", "a\r\nb\n", id="everything"),
        pytest.param("a1\r\nb1\r\n", "a2\nb2\n", "a1\r\nb1\r\n", id="ends-beside-what-came-back"),
        pytest.param("a1\nb1\n", "a2\r\nb2\r\n", "a1\nb1\n", id="of-another-kind-everywhere"),
        pytest.param("a\r\nb1\r\n", "a\r\nb2\n", "a\r\nb1\r\n", id="beside-one-that-stays"),
    ],
)
def test_a_line_that_comes_back_ends_as_before(before: str, now: str, expected: str) -> None:
    check(before, now, expected.removeprefix("\ufeff"), goal=before.removeprefix("\ufeff"))


@pytest.mark.parametrize(
    "now, expected",
    [
        pytest.param("b\nc\n", "a\nb\nc\n", id="below"),
        pytest.param("a\nc\n", "a\nb\nc\n", id="above"),
    ],
)
def test_ends_that_somebody_chose_meanwhile_stay(now: str, expected: str) -> None:
    check("a\r\nb\nc\r\n", now, expected)


def test_a_line_that_was_not_there_takes_its_neighbours_end() -> None:
    check("a\r\nb\nc\n", "b\nc\n", "a\r\nb\nx\nc\n", goal="a\nb\nx\nc\n")


@given(st.data())
def test_lines_that_were_taken_away_come_back_byte_for_byte(data: st.DataObject) -> None:
    ends = data.draw(st.lists(st.sampled_from(["\n", "\r\n", "\r"]), max_size=8))
    lines = [f"line {number}{end}" for number, end in enumerate(ends)]
    low = data.draw(st.integers(0, len(lines)))
    high = data.draw(st.integers(low, len(lines)))
    before = "".join(lines)
    check(before, "".join([*lines[:low], *lines[high:]]), before)
