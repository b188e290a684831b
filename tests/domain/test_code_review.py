"""The result of a review: what fits its schema, and how a person reads it."""

from __future__ import annotations

import pytest

from agent_ls.domain.code_review import REVIEW_SCHEMA, CodeReview
from agent_ls.loop.evidence.output_schema import violations

_FOUND = {"path": "./shop/a.py", "line": 2, "severity": "error", "title": "Wrong"}


def test_what_fits_the_schema_is_a_review() -> None:
    fix = {"old_text": "a", "new_text": "b"}
    given = {
        "summary": "One.",
        "findings": [_FOUND | {"end_line": 3, "detail": "Why.", "fix": fix}],
    }
    assert violations(given, REVIEW_SCHEMA) == []
    text = CodeReview.model_validate(given).as_markdown()
    assert "1 finding in 1 file:" in text
    assert "| error | `shop/a.py:2-3` | Wrong |" in text
    assert text.endswith("Why.\n\n```diff\n-a\n+b\n```")


@pytest.mark.parametrize(
    "wrong",
    [{"line": 0}, {"line": "2"}, {"severity": "bad"}, {"title": None}, {"extra": 1}],
    ids=str,
)
def test_what_is_no_finding_does_not_fit(wrong: dict[str, object]) -> None:
    assert violations({"summary": "", "findings": [_FOUND | wrong]}, REVIEW_SCHEMA)


def test_no_text_breaks_the_table_or_a_fence() -> None:
    odd = {
        "path": "a`|\n# b.py",
        "title": "one | two\n\n# three \\| four",
        "fix": {"old_text": "````\nx", "new_text": ""},
    }
    review = CodeReview.model_validate({"summary": "", "findings": [_FOUND | odd]})
    lines = review.as_markdown().split("\n")
    assert "| error | `a # b.py:2` | one \\| two # three \\\\\\| four |" in lines
    assert not [one for one in lines if one.startswith("#")]
    assert lines[-4:] == ["`````diff", "-````", "-x", "`````"]


def test_a_review_that_found_nothing_says_so() -> None:
    assert CodeReview(summary="All is well.").as_markdown() == "All is well.\n\nNo findings."
