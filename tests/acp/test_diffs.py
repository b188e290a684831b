"""Previews become diffs only when they are exactly a unified diff."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ls.acp.diffs import from_unified, of_texts
from agent_ls.edits.diff import diff_to_read


def read(payload: str) -> list[tuple[str, str | None, str]] | None:
    found = from_unified(payload, lambda path: f"/root/{path}" if path != "outside" else None)
    return found and [(one.path, one.old_text, one.new_text) for one in found]


LONG = "".join(f"{number}\n" for number in range(20))


@pytest.mark.parametrize(
    "payload, expected",
    [
        (diff_to_read("a\n", "b\n", "x.py"), [("/root/x.py", "a\n", "b\n")]),
        (diff_to_read(None, "b\n", "x.py"), [("/root/x.py", None, "b\n")]),
        (diff_to_read("a\n", None, "x.py"), [("/root/x.py", "a\n", "")]),
        (diff_to_read("a", "a\n", "x.py"), [("/root/x.py", "a", "a\n")]),
        (diff_to_read("a\n", "a", "x.py"), [("/root/x.py", "a\n", "a")]),
        (diff_to_read("-- a\n", "++ b\n", "x.py"), [("/root/x.py", "-- a\n", "++ b\n")]),
        (
            diff_to_read(LONG, f"x\n{LONG}y\n", "x.py"),
            [
                ("/root/x.py", "0\n1\n2\n", "x\n0\n1\n2\n"),
                ("/root/x.py", "17\n18\n19\n", "17\n18\n19\ny\n"),
            ],
        ),
        (
            diff_to_read("a\n", "b\n", "x") + diff_to_read("c\n", "d\n", "y"),
            [("/root/x", "a\n", "b\n"), ("/root/y", "c\n", "d\n")],
        ),
        (diff_to_read("a\n", "b\n", "outside"), None),
        ("rename a.py\n    to b.py\n", None),
        ("make test\n(in /root)\n", None),
        ("--- a/x\n+++ b/x\n(30000 lines become 30001)\n", None),
        ("--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n-a\n+b\n", None),
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n\\ No newline at end of file\n", None),
        ("", None),
    ],
)  # fmt: skip
def test_a_preview_is_read(payload: str, expected: object) -> None:
    assert read(payload) == expected


LINES = st.text(st.sampled_from("ab-+ @\\\n"), max_size=30)


@given(LINES, LINES)
def test_any_small_change_is_read_as_what_it_is(before: str, after: str) -> None:
    payload = diff_to_read(before, after, "x.py")
    if payload:
        [(_, old, new)] = read(payload) or [("", None, "")]
        assert old in before
        assert new in after


def texts(before: str | None, after: str | None) -> list[tuple[str | None, str]]:
    return [(one.old_text, one.new_text) for one in of_texts("/x", before, after)]


def test_a_change_is_shown_as_whole_texts() -> None:
    assert texts(None, "b") == [(None, "b")]
    assert texts("a\n", None) == [("a\n", "")]


def test_a_change_that_is_too_large_is_not_shown() -> None:
    assert texts("a\n" * 300_000, "b\n" * 300_000) == []


def test_a_change_in_a_long_line_is_shown_in_its_surroundings() -> None:
    part = "var a=1;" * 40_000
    [(old, new)] = texts(f"1\n{part}x=1;{part}\n", f"1\n{part}x=2;{part}\n")
    assert old is not None
    assert len(old) < 500
    assert new == old.replace("x=1", "x=2") != old


def test_a_long_line_that_stays_changes_nothing() -> None:
    line = "x" * 5_000
    assert texts(f"{line}\n1\n", f"{line}\n2\n") == [(f"{line}\n1\n", f"{line}\n2\n")]
