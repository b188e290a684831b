"""Texts of refusals: what was sought, what comes nearest, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

from rapidfuzz import fuzz, process

from agent_ls.edits.keys import stripped
from agent_ls.edits.lines import split_lines
from agent_ls.edits.locate import MAX_PLACES, IndexedText
from agent_ls.edits.requests import Candidate, Refused
from agent_ls.edits.shown_marks import cut_line

_MAX_SHOWN = 5
_MAX_DIFF_LINES = 16
_MAX_LINE_CHARS = 160
_MIN_LINE_SCORE = 60.0
_MIN_WINDOW_SCORE = 50.0
_MAX_KEYS = 3
_MAX_LIKE = 8
_MAX_NEAREST = 3
MAX_SCORED_CHARS = 4_000


def ambiguous(indexed: IndexedText, firsts: Sequence[int], hint: int | None) -> Refused:
    """Return the refusal for several places; ``firsts`` are their 0-based first lines."""
    lines = indexed.file.lines
    shown = "".join(f"\n{at + 1:>6}: {cut(lines[at])}" for at in firsts[:_MAX_SHOWN])
    count = f"{len(firsts)}" if len(firsts) < MAX_PLACES else f"at least {MAX_PLACES}"
    more = f"\n  and {len(firsts) - _MAX_SHOWN} more" if len(firsts) > _MAX_SHOWN else ""
    told = "" if hint is None else f" Line {hint} does not say which one: none is clearly nearest."
    return Refused(
        f"The old text stands {count} times, beginning in these lines:{shown}{more}\n"
        f"Add surrounding lines until it is unique, or give the line where it begins.{told}",
        "ambiguous",
    )


def too_many(most: int) -> Refused:
    """Return the refusal of an edit with more than ``most`` places."""
    return Refused(
        f"The old text stands in more than {most} places, which is more than one edit may change "
        "here. Give the text exactly as it is in the file, or change the file with a command.",
        "too-many",
    )


def applied(first: int) -> Refused:
    """Return the refusal of an edit that is already applied at a 0-based line."""
    return Refused(
        f"The new text is in the file already, at line {first + 1}: the edit seems to be applied "
        "already. Read the file before going on.",
        "applied",
    )


def partly_applied(line: int) -> Refused:
    """Return the refusal of an edit that already has one of its new lines at a 0-based line."""
    return Refused(
        f"Line {line + 1}, between lines of the old text, is one that the edit adds: a part of it "
        "seems to be applied already. Read the file again and give what is left to do.",
        "applied",
    )


_INSIDE = "but only inside a longer word or line"


def not_found(
    indexed: IndexedText, old: str, standing: int | None = None, why: str = ""
) -> Refused:
    """Return the refusal of an old text that is not in the file, showing the nearest text.

    Shape: ``standing`` is the 0-based line where the new text occurs, if any. ``why`` says in
    sentences why the nearest text does not count.
    """
    there = (
        f"\nThe new text stands at line {standing + 1}: if you meant that place, nothing is left "
        "to do."
        if standing is not None
        else ""
    )
    sought = next((line for line in split_lines(old) if stripped(line)), "")
    found = nearest(indexed.file.flat, old)
    inside_at = indexed.file.flat.find(old)
    if inside_at >= 0 and not found:
        line = indexed.file.number_at(inside_at) + 1
        return Refused(f"The old text stands at line {line}, {_INSIDE}. Quote whole lines.{there}")
    if not found:
        return Refused(
            f"The old text, which begins with {cut(sought.strip())!r}, is not in the file, nor "
            f"anything like it. Read the file again.{there}",
            "not-found",
        )
    state = f"is in the file, {_INSIDE}" if inside_at >= 0 else "is not in the file"
    best, *others = found
    also = ", ".join(str(other.line) for other in others)
    return Refused(
        f"The old text {state}. The nearest text begins at line {best.line}"
        + (f" (others at {also})" if also else "")
        + f"; {_difference(best, old)}"
        + (f" {why}" if why else "")
        + there,
        "not-found",
    )


def cut(line: str) -> str:
    """Return the line, shortened for a message."""
    return cut_line(line, _MAX_LINE_CHARS)


def _difference(best: Candidate, old: str) -> str:
    wanted = split_lines(old)
    diff = list(difflib.unified_diff(wanted, best.lines, lineterm="", n=1))[2:]
    shown = "\n".join(cut(line) for line in diff[:_MAX_DIFF_LINES])
    left = f"\n({len(diff) - _MAX_DIFF_LINES} more)" if len(diff) > _MAX_DIFF_LINES else ""
    is_blank = [line.split() for line in wanted] == [line.split() for line in best.lines]
    only = "only white space differs" if is_blank else "it differs so"
    there, sought = "\n".join(best.lines), old.strip()
    if sought not in there and sought.lower() in there.lower():
        only = "only the case of letters differs"
    return f"{only} (- old text, + file):\n{shown}{left}\nUse the file's text exactly."


def nearest(text: str, wanted: str) -> list[Candidate]:
    """Return the windows of the text most similar to ``wanted``, best first; may be empty.

    Only the longest lines of ``wanted`` are searched for, so the cost grows only with the text.
    Text that differs in the case of letters alone is the nearest.
    """
    lines, goal = split_lines(text), split_lines(wanted)
    goal_text = "\n".join(goal)[:MAX_SCORED_CHARS]
    found: dict[int, Candidate] = {}
    small = text.lower()
    at = -1 if wanted.strip() in text else small.find(wanted.strip().lower())
    if at >= 0:
        start = small.count("\n", 0, at)
        found[start] = Candidate(start + 1, lines[start : start + len(goal)], 100.0)
    for start in _starts(lines, goal):
        if start not in found:
            window = lines[start : start + len(goal)]
            score = fuzz.ratio("\n".join(window)[:MAX_SCORED_CHARS], goal_text)
            found[start] = Candidate(start + 1, window, score)
    good = [one for one in found.values() if one.score >= _MIN_WINDOW_SCORE]
    return sorted(good, key=lambda one: (-one.score, one.line))[:_MAX_NEAREST]


def _starts(lines: list[str], goal: list[str]) -> Iterator[int]:
    """Yield possible first lines of windows, where one of the longest lines meets a similar one."""
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
