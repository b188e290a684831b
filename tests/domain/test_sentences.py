"""Words that many messages are made of."""

from __future__ import annotations

import pytest

from agent_ls.domain.sentences import seconds


@pytest.mark.parametrize(
    ("value_s", "words"),
    [(1200, "1200 s"), (86_400, "86400 s"), (13.2345, "13.2 s"), (0.25, "0.25 s"), (60, "60 s")],
)
def test_a_time_has_no_exponent(value_s: float, words: str) -> None:
    assert seconds(value_s) == words
