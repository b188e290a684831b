"""A place in another dress and one that lacks a line in its own are rivals."""

from __future__ import annotations

import pytest

from agent_ls.domain.edits import apply_replacements
from agent_ls.edits.envelope import place_envelope
from agent_ls.edits.requests import Refused, Wish
from agent_ls.edits.search_replace import place
from agent_ls.edits.unified import place_unified

_INNER = "if a:\n    if b:\n        one()\n        two()\n        {}three()\n        four()\n"
_OUTER = "else:\n    one()\n    two()\n    three()\n    four()\n"
_USER = _INNER.format("user()\n        ") + _OUTER
_HUNK = "         one()\n         two()\n+        added()\n         three()\n         four()\n"


def check(text: str, hunk: str, expected: str | None) -> None:
    """Assert the text after a diff with and without a number, and after the envelope."""
    patch = f"*** Begin Patch\n*** Update File: f\n@@\n{hunk}*** End Patch\n"
    diffs = [f"--- a/f\n+++ b/f\n@@ {numbers} @@\n{hunk}" for numbers in ("...", "-3,4 +3,5")]
    for placed in (place_envelope(text, patch), *(place_unified(text, one) for one in diffs)):
        if expected is None:
            assert isinstance(placed, Refused), apply_replacements(text, placed)
            continue
        assert not isinstance(placed, Refused), placed.reason
        assert apply_replacements(text, placed) == expected


@pytest.mark.parametrize(
    "text, hunk, expected",
    [
        pytest.param(_USER, _HUNK, None, id="a-line-came-into-the-one-in-its-own-indentation"),
        pytest.param(_INNER.format("") + _OUTER, _HUNK,
                     _INNER.format("added()\n        ") + _OUTER, id="an-exact-place-wins"),
        pytest.param("if a:\n    go(1)\n" + _OUTER, _HUNK,
                     "if a:\n    go(1)\n" + _OUTER.replace("    three", "    added()\n    three"),
                     id="no-other-place"),
        pytest.param("def a():\n    first()\n    second()\n    user()\n\n    leave(1)\n\n\n"
                     "def b():\n    first()\n    second()\n    leave(1)\n",
                     "     first()\n     second()\n \n+    added()\n     leave(1)\n", None,
                     id="a-line-came-into-the-one-with-its-own-blank-lines"),
    ],
)  # fmt: skip
def test_another_dress_is_no_better_than_a_line_that_changed(
    text: str, hunk: str, expected: str | None
) -> None:
    check(text, hunk, expected)


def test_a_line_number_tells_of_a_place_that_was_changed() -> None:
    text = "if a:\n    if b:\n        one()\n        two(5)\nelse:\n    one()\n    two()\n"
    diff = "@@ -3,2 +3,2 @@\n         one()\n-        two()\n+        two(1)\n"
    assert isinstance(place_unified(text, "--- a/f\n+++ b/f\n" + diff), Refused)


def test_a_quote_has_rivals_as_well() -> None:
    old = "        one()\n        two()\n        three()\n        four()"
    placed = place(_USER, [Wish(old, old.replace("three()", "three(1)"))])
    assert isinstance(placed, Refused)
    assert placed.why == "ambiguous"


def test_a_place_of_which_one_line_is_indented_otherwise_has_rivals() -> None:
    there = "    {0}wake(now)\n    open(door)\n    turn({1})\n"
    text = there.format("", "wheel") + "leave()\n" + there.format("  ", "handle")
    old = there.format("", "handle")
    placed = place(text, [Wish(old, old.replace("turn", "pull"))])
    assert isinstance(placed, Refused)


def test_a_line_as_it_was_written_that_the_rival_lacks_speaks_for_the_place() -> None:
    text = "def a():\n    first()\n    second()\n\n\ndef b():\n    first()\n\n    second()\n"
    placed = place(text, [Wish("def b():\n    first()\n    second()", "def b():\n    third()")])
    assert not isinstance(placed, Refused), placed.reason
    assert (
        apply_replacements(text, placed) == text[: text.index("def b")] + "def b():\n    third()\n"
    )


def test_other_characters_are_no_worse_than_a_line_that_is_missing() -> None:
    text = "say(\u201ca\u201d)\nopen(door)\nturn(it)\nwait()\nopen(door)\nturn(it)\n"
    old = 'say("a")\nopen(door)\nturn(it)'
    placed = place(text, [Wish(old, old.replace("it", "all"))])
    assert not isinstance(placed, Refused), placed.reason
    assert apply_replacements(text, placed) == text.replace("it", "all", 1)
