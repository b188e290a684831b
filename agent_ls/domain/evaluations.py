"""How a model says whether finished work is complete: one reader for the gate and the store."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agent_ls.domain.confidence import confidence_of
from agent_ls.domain.json_answers import first_object, texts_of

_UNQUOTED = re.compile(r'("confidence"\s*:\s*)([^\s"\[{][^"\[{}\n]*?)(?=\s*(?:,\s*"|,?\s*[}\n]))')
"""A confidence such as 95% or 9/10 without quotes, which is no JSON."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A model's verdict on the finished work."""

    completed: bool
    confidence: float
    issues: tuple[str, ...]
    suggestion: str

    def passes(self, threshold: float) -> bool:
        """Say whether the work is complete, with at least this confidence."""
        return self.completed and self.confidence >= threshold


def evaluation_in(text: str) -> Evaluation:
    """Return the evaluation in a model's answer; an unreadable one counts as failed."""
    found = first_object(text) or first_object(_UNQUOTED.sub(r'\1"\2"', text))
    if found is None:
        return Evaluation(False, 0.0, ("The evaluation could not be read.",), "")
    return Evaluation(
        completed=found.get("completed") is True,
        confidence=confidence_of(found.get("confidence")),
        issues=texts_of(found.get("issues")),
        suggestion=" ".join(texts_of(found.get("suggestion"))),
    )
