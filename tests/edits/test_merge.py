"""Three-way merges and rebases: both changes survive, or the conflict is told."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ls.domain.edits import apply_replacements
from agent_ls.edits.merge import merge, rebase
from agent_ls.edits.minimal import replacements_between
from agent_ls.edits.requests import Refused

_BASE = "a\nb\nc\nd\ne\n"


def check(base: str, ours: str, theirs: str, expected: str | None) -> None:
    """Assert what both sides together give; None for a conflict, which changes nothing else."""
    merged = merge(base, ours, theirs)
    if expected is None:
        assert merged.conflicts
        return
    assert not merged.conflicts
    assert apply_replacements(ours, merged.replacements) == expected


@pytest.mark.parametrize(
    "ours, theirs, expected",
    [
        pytest.param("a\nB\nc\nd\ne\n", "a\nb\nc\nD\ne\n", "a\nB\nc\nD\ne\n", id="apart"),
        pytest.param("a\nB\nc\nd\ne\n", "a\nb\nC\nd\ne\n", "a\nB\nC\nd\ne\n", id="side-by-side"),
        pytest.param("x\na\nb\nc\nd\ne\n", "a\nb\nc\ne\n", "x\na\nb\nc\ne\n", id="shifted"),
        pytest.param("a\nB\nc\nd\ne\n", "a\nB\nc\nd\ne\n", "a\nB\nc\nd\ne\n", id="the-same"),
        pytest.param("a\r\nb\r\nC\r\nd\r\ne\r\n", "A\nb\nc\nd\ne\n", "A\r\nb\r\nC\r\nd\r\ne\r\n",
                     id="our-line-ends"),
        pytest.param("a\nb\nc\nD\ne\n", "a\nb\nc\nd\ne", "a\nb\nc\nD\ne", id="final-end-lost"),
        pytest.param("a\nX\nc\nd\ne\n", "a\nY\nc\nd\ne\n", None, id="same-line"),
        pytest.param("a\nx\nb\nc\nd\ne\n", "a\ny\nb\nc\nd\ne\n", None, id="same-gap"),
        pytest.param("a\nc\nd\ne\n", "a\nB\nc\nd\ne\n", None, id="deleted-and-changed"),
    ],
)  # fmt: skip
def test_both_changes_survive_or_the_conflict_is_told(
    ours: str, theirs: str, expected: str | None
) -> None:
    check(_BASE, ours, theirs, expected)


@pytest.mark.parametrize(
    "base, ours, theirs, expected",
    [
        pytest.param("u0\nu1\nu2", "u0\nu2", "u1", "", id="both-deleted-all-around"),
        pytest.param("a\nc\nb", "a\nb", "c\n", "", id="and-the-end-came"),
        pytest.param("a\nb\n", "a\nb\n", "a\nB", "a\nB", id="lost-with-a-change"),
        pytest.param("a\nb", "a\nb", "a\nB\n", "a\nB\n", id="gained-with-a-change"),
        pytest.param("a\nb", "a\nb\n", "a\nb\nc", "a\nb\nc\n", id="saved-with-an-end"),
        pytest.param("a\nb\n", "A\nb\n", "a", "A", id="lost-with-the-last-line"),
        pytest.param("", "", "a", "a", id="never-there"),
        pytest.param("a\n", "", "a", "", id="of-nothing"),
        pytest.param("a\r\nb\r\n", "a\r\nb\r\n", "a\nB", "a\r\nB", id="of-two-characters"),
        pytest.param("\ufeffa\n", "\ufeffa\n", "\ufeffb", "\ufeffb", id="behind-a-mark"),
    ],
)
def test_the_final_line_end_is_merged_like_a_line(
    base: str, ours: str, theirs: str, expected: str
) -> None:
    check(base, ours, theirs, expected)


_TEXTS = st.builds(
    lambda lines, end: "\n".join(lines) + end,
    st.lists(st.sampled_from(["a", "b", "c", "", "  d"]), max_size=9),
    st.sampled_from(["", "\n"]),
)


@given(_TEXTS, _TEXTS)
def test_an_unchanged_side_gives_the_other(base: str, other: str) -> None:
    check(base, base, other, other)
    check(base, other, base, other)
    check(base, other, other, other)


@given(_TEXTS, _TEXTS, _TEXTS, st.booleans(), st.sampled_from(["\n", "\r\n"]))
def test_replacements_are_in_order_and_apart(
    base: str, ours: str, theirs: str, beside: bool, end: str
) -> None:
    ours = ours.replace("\n", end)
    merged = merge(base, ours, theirs, beside=beside).replacements
    moved = rebase(base, replacements_between(base, theirs), ours)
    for found in (merged, () if isinstance(moved, Refused) else moved):
        apply_replacements(ours, found)
        assert all(one.end <= other.start for one, other in pairwise(found))
        assert not any(ours[at - 1 : at + 1] == "\r\n" for one in found
                       for at in (one.start, one.end))  # fmt: skip


@given(_TEXTS, _TEXTS, _TEXTS, st.sampled_from(["x\n", "x\ny\n"]))
def test_typing_far_above_moves_an_edit(base: str, new: str, tail: str, typed: str) -> None:
    fixed = "".join(f"line {number}\n" for number in range(5))
    base, new, tail = (f"{text}\n" if text else "" for text in (base, new, tail))
    before, after = fixed + base + tail, fixed + new + tail
    moved = rebase(before, replacements_between(before, after), typed + before)
    if before == after:
        return
    assert not isinstance(moved, Refused)
    assert apply_replacements(typed + before, moved) == typed + after


def test_a_rebase_onto_changed_lines_is_refused() -> None:
    moved = rebase(_BASE, replacements_between(_BASE, "a\nB\nc\nd\ne\n"), "a\nother\nc\nd\ne\n")
    assert isinstance(moved, Refused)
    assert moved.why == "conflict"
    assert "other" in moved.reason


def test_a_rebase_onto_the_edited_text_says_it_is_applied() -> None:
    moved = rebase(_BASE, replacements_between(_BASE, "a\nB\nc\nd\ne\n"), "a\nB\nc\nd\ne\n")
    assert isinstance(moved, Refused)
    assert moved.why == "applied"


@pytest.mark.parametrize(
    "base, edited, now",
    [
        pytest.param("a\n}\n}\nb\n", "a\n}\nx\n}\nb\n", "a\n}\n}\n}\nb\n", id="beside-equal-lines"),
        pytest.param(
            "a\n}\n}\n}\nb\n", "a\n}\n}\nx\n}\nb\n", "a\n}\n}\nb\n", id="from-equal-lines"
        ),
        pytest.param("a\n}\n}\nb\n", "a\n}\n}\n}\nb\n", "a\n}\ny\n}\nb\n", id="the-edit-itself"),
        pytest.param("a\nr\nd\nr\nc\n", "a\nR\nd\nr\nd\nc\n", "a\nr\n}\nr\nc\n", id="which-came"),
        pytest.param("q\na\nb\nq\nc\nd\n", "Q\na\nb\nq\nc\nd\n", "q\nu\nd\n", id="which-stayed"),
        pytest.param("a\nb\n\nc\nd\n", "a\nB\n\nC\nd\n", "a\nb\n}\nc\nd\n", id="in-its-middle"),
    ],
)
def test_a_rebase_is_refused_where_two_outcomes_are_possible(
    base: str, edited: str, now: str
) -> None:
    moved = rebase(base, replacements_between(base, edited), now)
    assert isinstance(moved, Refused)
    assert moved.why == "conflict"


_LINES = st.lists(st.sampled_from(["a", "b", "}", ""]), min_size=1, max_size=8)


@given(_LINES, st.data())
def test_a_rebase_keeps_every_line_of_both_sides(base: list[str], data: st.DataObject) -> None:
    def changed(name: str) -> str:
        low = data.draw(st.integers(0, len(base)))
        high = data.draw(st.integers(low, len(base)))
        new = data.draw(st.lists(st.sampled_from([name, "}"]), max_size=3))
        return "".join(f"{line}\n" for line in [*base[:low], *new, *base[high:]])

    text = "".join(f"{line}\n" for line in base)
    edited, now = changed("edited"), changed("typed")
    moved = rebase(text, replacements_between(text, edited), now)
    if isinstance(moved, Refused):
        assert moved.reason
        return
    after = apply_replacements(now, moved).split("\n")
    assert after.count("edited") == edited.count("edited")
    assert after.count("typed") == now.count("typed")
    for line in set(base):
        gone = sum(
            text.split("\n").count(line) - one.split("\n").count(line) for one in (edited, now)
        )
        assert after.count(line) == text.split("\n").count(line) - gone
