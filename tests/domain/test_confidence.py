"""The number in a model's words about how sure it is."""

from __future__ import annotations

import pytest

from agent_ls.domain.confidence import judgement_in


@pytest.mark.parametrize(
    ("said", "score"),
    [
        ("0.7\nIt looks good.", 0.7),
        (".7", 0.7),
        ("Confidence: .25.", 0.25),
        ('{"confidence": 1.0}', 1.0),
        ("1", 1.0),
        ("0", 0.0),
        ("1. Sure: 0.9", 0.9),
        ("-0.5", 0.0),
        ("1.5", 0.0),
        ("120%", 0.0),
        ("11/10", 0.0),
        ("Hard to say.", 0.0),
        ("", 0.0),
        ("85 %\nTests pass.", 0.85),
        ("I am 70 percent sure.", 0.7),
        ("9/10", 0.9),
        ("7 out of 10", 0.7),
        ("7", 0.7),
        ("85", 0.85),
        ("0,85", 0.85),
        ("High (0.8)", 0.8),
        ("0.85 because 60% of the tests pass.", 0.85),
        ("After 3 of 12 steps.\nConfidence: 0.4", 0.4),
        ("I ran 12 tests, so **0.9**", 0.9),
        ("My confidence is 45.", 0.45),
        ("```\n0.65\n```", 0.65),
        ('{"steps": 3, "confidence": 40, "reason": "0.9"}', 0.4),
    ],
)
def test_a_confidence_is_read_in_whatever_scale_it_is_said(said: str, score: float) -> None:
    assert judgement_in(said).score == score


def test_the_other_words_are_the_reason() -> None:
    assert judgement_in("0.7\nIt looks good.").reason == "It looks good."
