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
"in-a-sentence": ("Confidence: .25.", 0.25, "Confidence: .25."),
"in-json": ('{"confidence": 1.0}', 1.0, '{"confidence": 1.0}'),
"one": ("1", 1.0, ""),
"nought": ("0", 0.0, ""),
"not-the-number-of-an-item": ("1. Sure: 0.9", 0.9, "Sure: 0.9"),
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
"in-brackets": ("High (0.8)", 0.8, "High (0.8)"),
"a-level": ("Low", 0.2, "Low"),
"the-first-one-counts": ("0.85 because 60% of the tests pass.", 0.85, None),
"the-one-with-a-name": ("After 3 of 12 steps.\nConfidence: 0.4", 0.4, None),
"other-numbers-are-none": ("I ran 12 tests, so **0.9**", 0.9, None),
"named-and-bare": ("My confidence is 45.", 0.45, None),
"fenced": ("```\n0.65\n```", 0.65, ""),
"fenced-json": ('```json\n{"score": 0.35, "why": "2 of 3"}\n```', 0.35, None),
"json-hundred": ('{"steps": 3, "confidence": 40, "reason": "0.9"}', 0.4, None),}  # fmt: skip


# The reason keeps all that was said: these are the words beside the number.
IN_WORDS: dict[str, tuple[str, float]] = {
"nearest-to-the-word": ("90% of the tests pass, so 40% confidence.", 0.4),
"not-a-share-of-the-tests": ("60% of tests pass. I'd put my confidence around 45%.", 0.45),
"the-word-after-it": ("After 12 steps I am at 30 % certainty.", 0.3),
"certainty": ("7/10 checks pass; certainty that it gets there is 0.35.", 0.35),
"joined-over-other-numbers": ("My confidence after 12 of 40 tests is 20.", 0.2),
"bare-beside-the-word": ("confidence 45 (3 tests fail)", 0.45),
"a-dash": ("Confidence - 45", 0.45),
"a-sure": ("It took 9 steps, I'm 55% sure.", 0.55),
"another-sentence-is-further-off": ("Confidence was never high. 8/10.", 0.8),
"the-newest-end-of-a-change": ("Confidence went from 0.9 to 0.4.", 0.4),
"a-range-by-its-lower-end": ("Confidence: 30-40%", 0.3),
"a-range-in-words": ("between 0.6 and 0.7, I guess", 0.6),
"less-than-is-below": ("Confidence is less than 50%.", 0.49),
"below-is-below": ("below 0.5", 0.49),
"at-most": ("no more than 40%", 0.4),
"progress-is-none": ("The work is 80% done.", 0.0),
"coverage-is-none": ("We have 92% coverage.", 0.0),
"a-count-is-none": ("9/10 tests pass.", 0.0),
"out-of-100": ("85 out of 100", 0.85),
"out-of-a-hundred": ("85 out of a hundred", 0.85),
"of-100": ("I'd say 85 of 100.", 0.85),
"out-of-10": ("I would put it at 8 out of 10.", 0.8),
"of-ten": ("eight out of ten", 0.8),
"one-of-ten": ("Confidence (out of 10): 1", 0.1),
"its-scale-stands-before-it": ("Confidence (out of 100): 85", 0.85),
"its-scale-stands-in-brackets": ("Confidence (0-100): 7", 0.07),
"its-scale-is-a-fraction": ("Confidence (0.0-1.0): 0.7", 0.7),
"its-scale-stands-behind-it": ("Confidence: 8. That is on a scale of 0 to 10.", 0.8),
"its-scale-stands-in-front": ("On a scale from 1 to 10, I'd say 4.", 0.4),
"a-scale-with-per-cent": ("On a scale of 0 to 100%: 35%", 0.35),
"a-number-in-words": ("ninety-five percent", 0.95),
"a-number-in-words-in-a-sentence": ("I am seventy percent sure.", 0.7),
"a-hundred": ("one hundred percent", 1.0),
"even": ("fifty-fifty", 0.5),
"even-in-digits": ("It is 50/50.", 0.5),
"medium": ("medium", 0.5),
"medium-with-why": ("Medium: the tests pass, nobody looked at the docs.", 0.5),
"medium-is-named": ("Confidence level: medium", 0.5),
"medium-beside-counts": ("Confidence: medium, 12 of 40 tests pass.", 0.5),
"medium-behind-its-name": ("About 40% of the tests pass, confidence medium.", 0.5),
"low-behind-its-name": ("Confidence very low", 0.2),
"high": ("I have high confidence that it works.", 0.8),
"high-degree": ("With a high degree of certainty.", 0.8),
"low-is-named": ("My confidence in this is rather low.", 0.2),
"low-in-json": ('{"confidence": "low", "why": "2 of 3 fail"}', 0.2),
"medium-to-high": ("Confidence: medium-high", 0.65),
"very-confident": ("I am very confident.", 0.8),
"confident": ("I'm confident that it is done.", 0.8),
"somewhat": ("Somewhat confident.", 0.5),
"hardly": ("I am hardly sure.", 0.2),
"unsure": ("I am unsure about all of it.", 0.2),
"the-number-wins-over-the-word": ("High confidence: 0.55", 0.55),
"not-90": ("not 90 %", 0.0),
"not-90-but-40": ("I am not 90% sure, more like 40%.", 0.4),
"far-from": ("Far from 90%.", 0.0),
"would-not-say": ("I would not say 90 %.", 0.0),
"is-not": ("It isn't 0.9.", 0.0),
"do-not-think": ("I don't think it is 95%; 20% is fair.", 0.2),
"40-and-not-90": ("40%, not 90%", 0.4),
"nicht": ("nicht 90 %", 0.0),
"no-number-is-negated": ("I am not sure: 40%", 0.4),
"not-high": ("Confidence is not high.", 0.0),
"not-confident": ("I am not confident.", 0.0),
"not-very": ("I am not very confident.", 0.0),
"no-confidence": ("I have no confidence in this.", 0.0),
"a-version-is-none": ("Python 3.11 is missing.", 0.0),
"make-sure": ("I will make sure that it works.", 0.0),}  # fmt: skip


@pytest.mark.parametrize(("said", "score"), IN_WORDS.values(), ids=IN_WORDS)
def test_a_confidence_is_read_in_words(said: str, score: float) -> None:
    found = judgement_in(said)
    assert found.score == pytest.approx(score)
    is_alone = said in ("85 out of 100", "eight out of ten", "ninety-five percent",
                        "85 out of a hundred", "one hundred percent")  # fmt: skip
    assert found.reason == ("" if is_alone else said)
    assert confidence_of(said) == found.score


def test_the_number_is_left_out_of_the_reason_only_where_it_stands_alone() -> None:
    assert judgement_in("**85 %**\nThe tests pass.\nNothing is open.") == Judgement(
        0.85, "The tests pass. Nothing is open."
    )
    said = "Not 90 %.\nThe tests fail."
    assert judgement_in(said) == Judgement(0.0, "Not 90 %. The tests fail.")


def test_a_long_judgement_is_read_in_a_moment() -> None:
    for part in ("confidence ", "not a ", "12 ", "1-", "high ", "of 10 "):
        assert judgement_in(part * 20_000).score <= 1


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
