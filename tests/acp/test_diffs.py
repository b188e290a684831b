"""Previews become diffs only when they are exactly a unified diff."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ls.acp.diffs import from_unified, whole
from agent_ls.edits.diff import unified


def read(payload: str) -> list[tuple[str, str | None, str]] | None:
    found = from_unified(payload, lambda path: f"/root/{path}" if path != "outside" else None)
    return found and [(one.path, one.old_text, one.new_text) for one in found]


LONG = "".join(f"{number}\n" for number in range(20))


@pytest.mark.parametrize(
    "payload, expected",
    [
        (unified("a\n", "b\n", "x.py"), [("/root/x.py", "a\n", "b\n")]),
        (unified(None, "b\n", "x.py"), [("/root/x.py", None, "b\n")]),
        (unified("a\n", None, "x.py"), [("/root/x.py", "a\n", "")]),
        (unified("a", "a\n", "x.py"), [("/root/x.py", "a", "a\n")]),
        (unified("a\n", "a", "x.py"), [("/root/x.py", "a\n", "a")]),
        (unified("-- a\n", "++ b\n", "x.py"), [("/root/x.py", "-- a\n", "++ b\n")]),
        (
            unified(LONG, f"x\n{LONG}y\n", "x.py"),
            [
                ("/root/x.py", "0\n1\n2\n", "x\n0\n1\n2\n"),
                ("/root/x.py", "17\n18\n19\n", "17\n18\n19\ny\n"),
            ],
        ),
        (
            unified("a\n", "b\n", "x") + unified("c\n", "d\n", "y"),
            [("/root/x", "a\n", "b\n"), ("/root/y", "c\n", "d\n")],
        ),
        (unified("a\n", "b\n", "outside"), None),
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
    payload = unified(before, after, "x.py")
    if payload:
        [(_, old, new)] = read(payload) or [("", None, "")]
        assert old in before
        assert new in after


def test_a_change_that_is_too_large_is_not_shown() -> None:
    assert whole("/x", "a" * 300_000, "b" * 300_000) is None
    found = whole("/x", None, "b")
    assert found is not None
    assert (found.old_text, found.new_text) == (None, "b")
