"""Text that leaves lines out: what stands behind a mark is in the block begun before it."""

from __future__ import annotations

import pytest

from agent_ls.domain.edits import apply_replacements
from agent_ls.edits.envelope import place_envelope
from agent_ls.edits.requests import Refused, Wish
from agent_ls.edits.search_replace import place

_A5 = "def a():\n    x()\n    return 5\n\n\n"
_A1 = _A5.replace("5", "1")
_B1 = "def b():\n    y()\n    return 1\n"
_B2 = _B1.replace("1", "2")


def check(text: str, head: str, expected: str | None) -> None:
    """Assert what comes of `return 1` behind a head and a mark, in both formats."""
    old = f"{head}\n    # ...\n    return 1"
    hunk = f" {head}\n     # ...\n-    return 1\n+    return 2\n"
    patch = f"*** Begin Patch\n*** Update File: f\n@@\n{hunk}*** End Patch\n"
    wish = Wish(old, old.replace("1", "2"))
    for placed in (place(text, [wish]), place_envelope(text, patch)):
        if expected is None:
            assert isinstance(placed, Refused), apply_replacements(text, placed)
            assert placed.why == "conflict", placed.reason
            continue
        assert not isinstance(placed, Refused), placed.reason
        assert apply_replacements(text, placed) == expected


@pytest.mark.parametrize(
    "text, head, expected",
    [
        pytest.param(_A5 + _B1, "def b():", _A5 + _B2, id="in-the-block"),
        pytest.param(_A1 + _B1, "def b():", _A1 + _B2, id="the-like-is-in-another-block"),
        pytest.param(_A5 + _B1, "    y()", _A5 + _B2, id="beside-it"),
        pytest.param(_A5 + _B1, "def a():", None, id="only-in-another-block"),
        pytest.param(_B1 + "\n\n" + _A5, "def a():", None, id="only-above"),
    ],
)
def test_what_is_behind_a_mark_is_looked_for_in_its_block(
    text: str, head: str, expected: str | None
) -> None:
    check(text, head, expected)
