"""The least change between two texts, and the diffs that show it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_ls.domain.edits import apply_replacements
from agent_ls.edits.diff import diff_to_read, patch_to_apply, statistics
from agent_ls.edits.lines import FlatText, LineIndex, split_lines
from agent_ls.edits.minimal import replacements_between


def check(before: str, after: str, expected: list[tuple[str, str]]) -> None:
    """Assert what is replaced by what."""
    placed = replacements_between(before, after)
    assert [(before[one.start : one.end], one.text) for one in placed] == expected


@pytest.mark.parametrize(
    "before, after, expected",
    [
        ("", "", []),
        ("same\n", "same\n", []),
        ("", "new", [("", "new")]),
        ("old", "", [("old", "")]),
        ("a\nb\nc\n", "a\nX\nc\n", [("b", "X")]),
        ("a\nb\nc\nd\n", "A\nb\nc\nD\n", [("a", "A"), ("d", "D")]),
        ("a\nb\n", "a\nx\nb\n", [("", "x\n")]),
        ("a\nb", "a\nb\n", [("", "\n")]),
        ("f(a)", "f(a, b)", [("", ", b")]),
        ("a\r\nb\r\n", "a\nb\n", []),
        ("a\r\nb\r\n", "a\nc\nb\n", [("", "c\r\n")]),
        ("a\r\nb\n", "a\nb\nc\n", [("", "c\n")]),
        ("a\rb\n\nc\n", "a\r\nc\n".replace("\r", "\n"), [("\rb\n", "\n")]),
    ],
)
def test_only_what_differs_is_replaced(
    before: str, after: str, expected: list[tuple[str, str]]
) -> None:
    check(before, after, expected)


_LINES = st.lists(st.sampled_from(["a", "b", "", "c d", "é😀", "\x0c"]), max_size=12)
_TEXTS = st.builds(
    lambda lines, end: end.join(lines), _LINES, st.sampled_from(["\n", "\r\n", "\r"])
)


@settings(max_examples=300)
@given(_TEXTS, _TEXTS)
def test_the_replacements_make_the_other_text(before: str, after: str) -> None:
    result = apply_replacements(before, replacements_between(before, after))
    if "\r" in before.replace("\r\n", ""):
        result, after = result.replace("\r\n", "\n"), after.replace("\r\n", "\n")
        assert result.replace("\r", "\n") == after.replace("\r", "\n")
    else:
        assert result.replace("\r\n", "\n") == after.replace("\r\n", "\n")


def test_texts_beyond_comparison_are_replaced_as_a_block() -> None:
    before = "".join(f"{number}\n" for number in range(5_000))
    after = "".join(f"{number}!\n" for number in range(5_000))
    assert len(replacements_between(before, after)) == 1
    assert apply_replacements(before, replacements_between(before, after)) == after


@given(st.text(alphabet="a\r\n", max_size=20))
def test_flat_offsets_lead_back_and_never_into_a_crlf(text: str) -> None:
    flat = FlatText(text)
    for at in range(len(flat.text) + 1):
        source = flat.offset(at)
        assert text[:source].replace("\r\n", "\n").replace("\r", "\n") == flat.text[:at]
        assert text[source - 1 : source + 1] != "\r\n" or source == 0
    assert flat.offset(len(flat.text)) == len(text)


@given(st.text(alphabet="a\n", max_size=20), st.lists(st.integers(0, 20)))
def test_the_order_in_which_flat_offsets_are_asked_for_does_not_matter(
    text: str, asked: list[int]
) -> None:
    text = text.replace("\n", "\r\n")
    flat = FlatText(text)
    for at in asked:
        at = min(at, len(flat.text))
        assert flat.offset(at) == FlatText(text).offset(at)


@pytest.mark.parametrize(
    "text, lines",
    [
        ("", []),
        ("a", ["a"]),
        ("a\n", ["a"]),
        ("a\r\nb\rc\n\nd", ["a", "b", "c", "", "d"]),
        ("a\x0cb\u2028c\x85d\ve", ["a\x0cb\u2028c\x85d\ve"]),
    ],
)
def test_lines_end_where_lsp_says(text: str, lines: list[str]) -> None:
    assert split_lines(text) == lines
    index = LineIndex(text)
    assert [index.line_of(at) for at in range(len(text))] == sorted(
        index.line_of(at) for at in range(len(text))
    )


@pytest.mark.parametrize(
    "before, after, lines",
    [
        ("a\nb\n", "a\nc\n", ["--- a/f", "+++ b/f", "@@ -1,2 +1,2 @@", " a", "-b", "+c"]),
        (None, "a\n", ["--- /dev/null", "+++ b/f", "@@ -0,0 +1 @@", "+a"]),
        ("a\n", None, ["--- a/f", "+++ /dev/null", "@@ -1 +0,0 @@", "-a"]),
        (None, "", ["--- /dev/null", "+++ b/f"]),
        ("a", "a\n",
         ["--- a/f", "+++ b/f", "@@ -1 +1 @@", "-a", "\\ No newline at end of file", "+a"]),
        ("a\r\n", "b\r\n", ["--- a/f", "+++ b/f", "@@ -1 +1 @@", "-a", "+b"]),
        ("same", "same", []),
    ],
)  # fmt: skip
def test_a_diff_shows_the_change(before: str | None, after: str | None, lines: list[str]) -> None:
    assert diff_to_read(before, after, "f").splitlines() == lines
    assert patch_to_apply(before, after, "f").splitlines() == lines


def test_a_huge_change_is_only_counted() -> None:
    assert "lines become" in diff_to_read("a\n" * 15_000, "b\n" * 15_000, "f")


def test_a_diff_is_one_that_patch_carries_out(tmp_path: Path) -> None:
    before, after = "one\ntwo\nthree", "one\n2\nthree\nfour"
    (tmp_path / "f").write_text(before)
    subprocess.run(
        ["git", "apply", "-"],
        cwd=tmp_path,
        input=patch_to_apply(before, after, "f"),
        text=True,
        check=True,
    )
    assert (tmp_path / "f").read_text() == after


def test_the_statistics_count_lines() -> None:
    assert str(statistics("a\nb\n", "a\nc\nd\n")) == "+2 -1"
    assert str(statistics(None, "a\n")) == "+1 -0"
