"""The number in a model's words about how sure it is."""

from __future__ import annotations

import pytest

from agent_ls.domain.confidence import Judgement, confidence_of, judgement_in


def check(said: str, score: float, reason: str | None) -> None:
    """Read the words; the reason may be left open."""
    found = judgement_in(said)
    assert found == Judgement(score, found.reason if reason is None else reason)


TABLE = {"a-number": ("0.7\nIt looks good.", 0.7, "It looks good."),
"without-its-zero": (".7", 0.7, ""),
"in-a-sentence": ("Confidence: .25.", 0.25, "Confidence: ."),
"in-json": ('{"confidence": 1.0}', 1.0, '{"confidence": }'),
"one": ("1", 1.0, ""),
"nought": ("0", 0.0, ""),
"not-the-number-of-an-item": ("1. Sure: 0.9", 0.9, "Sure:"),
"in-a-list": ("1) 0.4\n2) Tests fail.", 0.4, "Tests fail."),
"negative": ("-0.5", 0.0, "-0.5"),
"neither-of-one-nor-of-ten": ("1.5", 0.0, "1.5"),
"more-than-all": ("120%", 0.0, "120%"),
"more-than-the-scale": ("11/10", 0.0, "11/10"),
"no-scale-goes-so-far": ("101", 0.0, "101"),
"no-number": ("Hard to say.", 0.0, "Hard to say."),
"nothing": ("", 0.0, ""),
"percent": ("85%", 0.85, ""),
"percent-apart": ("85 %\nTests pass.", 0.85, "Tests pass."),
"percent-as-a-word": ("I am 70 percent sure.", 0.7, None),
"of-ten": ("9/10", 0.9, ""),
"in-words": ("7 out of 10", 0.7, ""),
"tenths": ("7", 0.7, ""),
"hundredths": ("85", 0.85, ""),
"a-decimal-comma": ("0,85", 0.85, ""),
"a-decimal-comma-in-words": ("Konfidenz 0,3 da Tests fehlen", 0.3, None),
"in-brackets": ("High (0.8)", 0.8, "High ()"),
"a-level": ("Low", 0.2, "Low"),
"the-first-one-counts": ("0.85 because 60% of the tests pass.", 0.85, None),
"the-one-with-a-name": ("After 3 of 12 steps.\nConfidence: 0.4", 0.4, None),
"other-numbers-are-none": ("I ran 12 tests, so **0.9**", 0.9, None),
"named-and-bare": ("My confidence is 45.", 0.45, None),
"fenced": ("```\n0.65\n```", 0.65, ""),
"fenced-json": ('```json\n{"score": 0.35, "why": "2 of 3"}\n```', 0.35, None),
"json-hundred": ('{"steps": 3, "confidence": 40, "reason": "0.9"}', 0.4, None),}  # fmt: skip


@pytest.mark.parametrize(("said", "score", "reason"), TABLE.values(), ids=TABLE)
def test_a_confidence_is_read_in_whatever_scale_it_is_said(
    said: str, score: float, reason: str | None
) -> None:
    check(said, score, reason)


@pytest.mark.parametrize(
    ("value", "score"),
    [
        (0.5, 0.5),
        (1, 1.0),
        (0, 0.0),
        (1.0, 1.0),
        (95, 0.95),
        (95.0, 0.95),
        (9, 0.9),
        (1e-05, 0.00001),
        ("0.7", 0.7),
        ("95%", 0.95),
        ("9/10", 0.9),
        ("9 out of 10", 0.9),
        ("0,9", 0.9),
        ("high", 0.8),
        (True, 0.0),
        (-1, 0.0),
        (1.5, 0.0),
        (101, 0.0),
        ("11/10", 0.0),
        ("sure", 0.0),
        (None, 0.0),
        ([0.5], 0.0),
        (float("nan"), 0.0),
        (float("inf"), 0.0),
        (10**400, 0.0),
        (-(10**400), 0.0),
    ],
)
def test_a_json_value_is_read_like_words(value: object, score: float) -> None:
    assert confidence_of(value) == score
