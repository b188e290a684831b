"""The number in a model's words about how sure it is."""

from __future__ import annotations

import pytest

from agent_ls.domain.confidence import Judgement, judgement_in


def check(said: str, score: float, reason: str | None) -> None:
    """Read the words; the reason may be left open."""
    found = judgement_in(said)
    assert found == Judgement(score, found.reason if reason is None else reason)


TABLE = [
    pytest.param("0.7\nIt looks good.", 0.7, "It looks good.", id="a-number"),
    pytest.param(".7", 0.7, "", id="without-its-zero"),
    pytest.param("Confidence: .25.", 0.25, "Confidence: .", id="in-a-sentence"),
    pytest.param('{"confidence": 1.0}', 1.0, '{"confidence": }', id="in-json"),
    pytest.param("1", 1.0, "", id="one"),
    pytest.param("0", 0.0, "", id="nought"),
    pytest.param("1. Sure: 0.9", 0.9, "Sure:", id="not-the-number-of-an-item"),
    pytest.param("1) 0.4\n2) Tests fail.", 0.4, "Tests fail.", id="in-a-list"),
    pytest.param("-0.5", 0.0, "-0.5", id="negative"),
    pytest.param("1.5", 0.0, "1.5", id="neither-of-one-nor-of-ten"),
    pytest.param("120%", 0.0, "120%", id="more-than-all"),
    pytest.param("11/10", 0.0, "11/10", id="more-than-the-scale"),
    pytest.param("101", 0.0, "101", id="no-scale-goes-so-far"),
    pytest.param("Hard to say.", 0.0, "Hard to say.", id="no-number"),
    pytest.param("", 0.0, "", id="nothing"),
    pytest.param("85%", 0.85, "", id="percent"),
    pytest.param("85 %\nTests pass.", 0.85, "Tests pass.", id="percent-apart"),
    pytest.param("I am 70 percent sure.", 0.7, None, id="percent-as-a-word"),
    pytest.param("9/10", 0.9, "", id="of-ten"),
    pytest.param("7 out of 10", 0.7, "", id="in-words"),
    pytest.param("7", 0.7, "", id="tenths"),
    pytest.param("85", 0.85, "", id="hundredths"),
    pytest.param("0,85", 0.85, "", id="a-decimal-comma"),
    pytest.param("Konfidenz 0,3 da Tests fehlen", 0.3, None, id="a-decimal-comma-in-words"),
    pytest.param("High (0.8)", 0.8, "High ()", id="in-brackets"),
    pytest.param("Low", 0.2, "Low", id="a-level"),
    pytest.param("0.85 because 60% of the tests pass.", 0.85, None, id="the-first-one-counts"),
    pytest.param("After 3 of 12 steps.\nConfidence: 0.4", 0.4, None, id="the-one-with-a-name"),
    pytest.param("I ran 12 tests, so **0.9**", 0.9, None, id="other-numbers-are-none"),
    pytest.param("My confidence is 45.", 0.45, None, id="named-and-bare"),
    pytest.param("```\n0.65\n```", 0.65, "", id="fenced"),
    pytest.param('```json\n{"score": 0.35, "why": "2 of 3"}\n```', 0.35, None, id="fenced-json"),
    pytest.param('{"steps": 3, "confidence": 40, "reason": "0.9"}', 0.4, None, id="json-hundred"),
]  # fmt: skip


@pytest.mark.parametrize(("said", "score", "reason"), TABLE)
def test_a_confidence_is_read_in_whatever_scale_it_is_said(
    said: str, score: float, reason: str | None
) -> None:
    check(said, score, reason)
