"""Three-way merges and rebases: both changes survive, or the conflict is told."""

from __future__ import annotations

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


_TEXTS = st.lists(st.sampled_from(["a", "b", "c", "", "  d"]), max_size=9).map(
    lambda lines: "".join(f"{line}\n" for line in lines)
)


@given(_TEXTS, _TEXTS)
def test_an_unchanged_side_gives_the_other(base: str, other: str) -> None:
    check(base, base, other, other)
    check(base, other, base, other)
    check(base, other, other, other)


@given(_TEXTS, _TEXTS, _TEXTS, st.sampled_from(["x\n", "x\ny\n"]))
def test_typing_far_above_moves_an_edit(base: str, new: str, tail: str, typed: str) -> None:
    fixed = "".join(f"line {number}\n" for number in range(5))
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
