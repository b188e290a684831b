"""What holds for any text and any edit of it, in each format."""

from __future__ import annotations

import difflib
import re
from bisect import bisect_right

from hypothesis import given, settings
from hypothesis import strategies as st

from agent_ls.domain.edits import Replacement, apply_replacements
from agent_ls.edits.envelope import place_envelope
from agent_ls.edits.requests import EditRequest, Refused
from agent_ls.edits.search_replace import place
from agent_ls.edits.unified import place_unified

_WORDS = [
    "alpha()",
    "  beta",
    "\tgamma",
    "é😀",
    "x ",
    "",
    "}",
    "q\x0cr",
    "cafe\u0301",
    "“a”",
    "a b",
]
_LINES = st.lists(st.sampled_from(_WORDS), max_size=10)
_ENDS = st.sampled_from(["\n", "\r\n", "\r"])


def check(text: str, placed: tuple[Replacement, ...] | Refused, expected: str) -> None:
    """Assert that a strict client gets the expected text, or that it is refused with words."""
    if isinstance(placed, Refused):
        assert placed.reason
        return
    assert apply_replacements(text, placed) == expected
    assert _by_a_strict_client(text, placed) == expected
    for one in placed:
        assert text[one.start : one.end] != one.text
        assert "\r\n" not in (text[one.start - 1 : one.start + 1], text[one.end - 1 : one.end + 1])


def _by_a_strict_client(text: str, placed: tuple[Replacement, ...]) -> str:
    """Return the text as a client makes it that knows lines and UTF-16 columns alone."""
    units = text.encode("utf-16-le")
    starts = [0, *(match.end() for match in re.finditer("\r\n|\n|\r", text))]

    def offset(at: int) -> int:
        line = bisect_right(starts, at) - 1
        column = len(text[starts[line] : at].encode("utf-16-le"))
        return len(text[: starts[line]].encode("utf-16-le")) + column

    for one in reversed(placed):
        units = units[: offset(one.start)] + one.text.encode("utf-16-le") + units[offset(one.end) :]
    return units.decode("utf-16-le")


def _texts(lines: list[str], new: list[str], end: str) -> tuple[str, str]:
    """Return a text before and after, with lines at both ends that stand once."""
    return (
        "".join(f"{line}{end}" for line in ["first line", *lines, "last line"]),
        "".join(f"{line}{end}" for line in ["first line", *new, "last line"]),
    )


@settings(max_examples=200)
@given(_LINES, _LINES, _ENDS)
def test_an_exact_edit_gives_the_text_that_was_meant(
    old: list[str], new: list[str], end: str
) -> None:
    before, after = _texts(old, new, end)
    request = EditRequest(before.replace(end, "\n"), after.replace(end, "\n"))
    check(before, place(before, [request]), after)


@settings(max_examples=200)
@given(_LINES, _LINES, _ENDS, st.integers(1, 90))
def test_a_diff_gives_the_text_that_was_meant_whatever_its_numbers(
    old: list[str], new: list[str], end: str, number: int
) -> None:
    before, after = _texts(old, new, end)
    sides = [text.split(end)[:-1] for text in (before, after)]
    body = list(difflib.unified_diff(*sides, lineterm="", n=99))[3:]
    if body:
        diff = "\n".join([f"@@ -{number},3 +{number},4 @@", *body]) + "\n"
        check(before, place_unified(before, diff), after)
        patch = "\n".join(["*** Begin Patch", "*** Update File: f", "@@", *body, "*** End Patch"])
        check(before, place_envelope(before, patch), after)


@settings(max_examples=200)
@given(_LINES, _LINES, _LINES, st.sampled_from(_WORDS), st.sampled_from(_WORDS), _ENDS)
def test_what_an_edit_does_not_touch_keeps_its_bytes(
    head: list[str], old: list[str], tail: list[str], word: str, other: str, end: str
) -> None:
    top = "".join(f"{line}{end}" for line in [*head, "above"])
    bottom = "".join(f"{line}{end}" for line in ["below", *tail])
    text = top + "".join(f"{line}{end}" for line in [word, *old]) + bottom
    lines = ["above", word.strip(), *(line.strip() for line in old), "below"]
    goal = ["above", f"{other}!", *lines[2:]]
    placed = place(text, [EditRequest("\n".join(lines), "\n".join(goal))])
    if not isinstance(placed, Refused):
        after = apply_replacements(text, placed)
        assert after.startswith(top) or "above" in head
        assert after.endswith(bottom) or "below" in tail


@settings(max_examples=300)
@given(
    st.text(alphabet="ab \n\r\té😀.“", max_size=60),
    st.lists(st.tuples(*[st.text(alphabet="ab \n\r\té😀.“", max_size=25)] * 2), max_size=3),
    st.booleans(),
    st.none() | st.integers(1, 9),
)
def test_any_request_is_carried_out_in_order_or_refused_with_a_reason(
    text: str, pairs: list[tuple[str, str]], is_all: bool, line: int | None
) -> None:
    placed = place(text, [EditRequest(old, new, line, is_all) for old, new in pairs])
    check(text, placed, "" if isinstance(placed, Refused) else apply_replacements(text, placed))
    diff = "@@ @@\n" + "".join(f"-{old}\n+{new}\n" for old, new in pairs)
    placed = place_unified(text, diff)
    check(text, placed, "" if isinstance(placed, Refused) else apply_replacements(text, placed))


_ODD = ["", "a", "  a", "b", "  }", "if x:", "x = 1", "  x = 1", "...", "// existing code", "```"]
_ODD += ["1: a", "a  # note", "&lt;a&gt;", "- i", '"s"']
_DRIFTED = st.lists(st.sampled_from(_ODD), max_size=8)


@given(_DRIFTED, _DRIFTED, _DRIFTED, st.none() | st.integers(1, 9))
@settings(deadline=None)
def test_drifted_lines_are_carried_out_or_refused_with_a_reason(
    file: list[str], old: list[str], new: list[str], line: int | None
) -> None:
    text = "\n".join(file)
    rows = [*(f"-{one}" for one in old), *(f"+{one}" for one in new)]
    rows = [*(f" {one}" for one in file[:1]), *rows]
    patch = "\n".join(["*** Begin Patch", "*** Update File: a", "@@", *rows, "*** End Patch"])
    for placed in (
        place(text, [EditRequest("\n".join(old), "\n".join(new), line)]),
        # What begins like the file drifts from it only behind.
        place(
            text, [EditRequest("\n".join([*file[:4], *old]), "\n".join([*file[:4], *new]), line)]
        ),
        place_unified(text, "\n".join(["@@ @@", *rows])),
        place_envelope(text, patch),
    ):
        check(text, placed, "" if isinstance(placed, Refused) else apply_replacements(text, placed))
