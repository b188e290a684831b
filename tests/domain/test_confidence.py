"""The number in a model's words about how sure it is."""

from __future__ import annotations

import pytest

from agent_ls.domain.confidence import Judgement, judgement_in


def check(said: str, score: float, reason: str) -> None:
    """Read the words."""
    assert judgement_in(said) == Judgement(score, reason)


TABLE = [
    pytest.param("0.7\nIt looks good.", 0.7, "It looks good.", id="a-number"),
    pytest.param(".7", 0.7, "", id="without-its-zero"),
    pytest.param("Confidence: .25.", 0.25, "Confidence: .", id="in-a-sentence"),
    pytest.param('{"confidence": 1.0}', 1.0, '{"confidence": }', id="in-json"),
    pytest.param("1", 1.0, "", id="one"),
    pytest.param("1. Sure: 0.9", 0.9, "Sure:", id="not-the-number-of-an-item"),
    pytest.param("1) 0.4\n2) Tests fail.", 0.4, "Tests fail.", id="in-a-list"),
    pytest.param("7 out of 10", 0.0, "7 out of 10", id="another-scale"),
    pytest.param("85%", 0.0, "85%", id="percent"),
    pytest.param("-0.5", 0.0, "-0.5", id="negative"),
    pytest.param("1.5", 0.0, "1.5", id="too-much"),
    pytest.param("", 0.0, "", id="nothing"),
]


@pytest.mark.parametrize(("said", "score", "reason"), TABLE)
def test_a_confidence_is_a_number_between_0_and_1_or_none_at_all(
    said: str, score: float, reason: str
) -> None:
    check(said, score, reason)
