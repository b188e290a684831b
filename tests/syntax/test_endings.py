"""How pieces of code end."""

from __future__ import annotations

from agent_ls.syntax.endings import code_end
from agent_ls.syntax.languages import language_of


def test_nesting_takes_no_longer_than_the_text() -> None:
    # With a climb from the end of it this takes minutes, and ends as a test that is too slow.
    python = language_of("", "a.py")
    assert python is not None
    deep = "x = " + "-" * 150_000 + "1"
    assert code_end(f"{deep}  # c\n", python) == len(deep)
