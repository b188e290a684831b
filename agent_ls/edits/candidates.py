"""What in a text is most like a text that is not in it: for error messages, never for edits."""

from __future__ import annotations

from collections.abc import Iterator

from rapidfuzz import fuzz, process

from agent_ls.edits.lines import split_lines
from agent_ls.edits.requests import Candidate

_MIN_LINE_SCORE = 60.0
_MIN_WINDOW_SCORE = 50.0
_MAX_KEYS = 3
_MAX_LIKE = 8
MAX_SCORED_CHARS = 4_000


def nearest(text: str, wanted: str, limit: int = 3) -> list[Candidate]:
    """Return the windows most like ``wanted``, best first; empty when none is like it at all.

    Looks for the longest lines of ``wanted`` first, so that the cost grows with the text alone.
    """
    lines, goal = split_lines(text), split_lines(wanted)
    goal_text = "\n".join(goal)[:MAX_SCORED_CHARS]
    found: dict[int, Candidate] = {}
    for start in _starts(lines, goal):
        if start not in found:
            window = lines[start : start + len(goal)]
            score = fuzz.ratio("\n".join(window)[:MAX_SCORED_CHARS], goal_text)
            found[start] = Candidate(start + 1, window, score)
    good = [one for one in found.values() if one.score >= _MIN_WINDOW_SCORE]
    return sorted(good, key=lambda one: (-one.score, one.line))[:limit]


def _starts(lines: list[str], goal: list[str]) -> Iterator[int]:
    """Yield where windows could begin: so that one of the longest lines meets a line like it."""
    stripped = [line.strip()[:MAX_SCORED_CHARS] for line in lines]
    order = sorted(range(len(goal)), key=lambda number: -len(goal[number].strip()))
    for number in order[:_MAX_KEYS]:
        key = goal[number].strip()[:MAX_SCORED_CHARS]
        if not key:
            return
        like = process.extract(
            key, stripped, scorer=fuzz.ratio, limit=_MAX_LIKE, score_cutoff=_MIN_LINE_SCORE
        )
        for _, _, at in like:
            yield max(0, min(at - number, len(lines) - 1))
