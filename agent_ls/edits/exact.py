"""Exact search and replace: each old text stands exactly once, or the edit is refused.

Pure: text and wishes in, replacements or a refusal out. Several edits of one call are all or
nothing, each found in the text as it was, so their order does not matter.
"""

from __future__ import annotations

import difflib
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from agent_ls.domain.edits import Replacement

_MAX_SHOWN = 5
_MAX_CONTEXT_LINES = 12
_MAX_SCANNED_LINES = 20_000


@dataclass(frozen=True, slots=True)
class Wish:
    """Replace ``old`` by ``new``."""

    old: str
    new: str
    line: int | None = None
    """1-based hint for the first line of ``old``: breaks ties, never overrules a unique place."""
    replace_all: bool = False


@dataclass(frozen=True, slots=True)
class Refused:
    """Why nothing is changed, in words a model can act on."""

    reason: str


def place(text: str, wishes: Sequence[Wish]) -> tuple[Replacement, ...] | Refused:
    """Return the sorted replacements that carry out all wishes, or why none is carried out."""
    found: list[tuple[Replacement, int]] = []
    for number, wish in enumerate(wishes, 1):
        placed = _place_one(text, wish)
        if isinstance(placed, Refused):
            which = f"Edit {number} of {len(wishes)}: " if len(wishes) > 1 else ""
            return Refused(which + placed.reason)
        found += [(one, number) for one in placed]
    found.sort(key=lambda pair: (pair[0].start, pair[0].end))
    for (first, one), (second, other) in pairwise(found):
        if second.start < first.end:
            return Refused(
                f"Edits {one} and {other} overlap at line {_line_of(text, second.start)}. "
                "Join them into one edit."
            )
    return tuple(one for one, _ in found)


def _place_one(text: str, wish: Wish) -> list[Replacement] | Refused:
    if wish.old == wish.new:
        return Refused("old_string and new_string are equal, so there is nothing to change.")
    if not wish.old.strip():
        if text.strip():
            return Refused(
                "old_string is empty or blank. Give the text to replace, or write_file to "
                "replace the whole file."
            )
        return [Replacement(start=0, end=len(text), text=wish.new)]
    places = _occurrences(text, wish.old)
    if not places:
        return Refused(_not_found(text, wish))
    if len(places) > 1 and not wish.replace_all:
        chosen = _by_hint(text, places, wish.line)
        if chosen is None:
            return Refused(_ambiguous(text, places))
        places = [chosen]
    return [Replacement(start=at, end=at + len(wish.old), text=wish.new) for at in places]


def _occurrences(text: str, old: str) -> list[int]:
    """Return where ``old`` begins, without overlaps, from the start."""
    places: list[int] = []
    at = text.find(old)
    while at >= 0:
        places.append(at)
        at = text.find(old, at + len(old))
    return places


def _by_hint(text: str, places: list[int], line: int | None) -> int | None:
    """Return the one place nearest to the hinted line; None without a hint or with a tie."""
    if line is None:
        return None
    starts = _line_starts(text)
    ranked = sorted((abs(bisect_right(starts, at) - line), at) for at in places)
    if ranked[0][0] == ranked[1][0]:
        return None
    return ranked[0][1]


def _ambiguous(text: str, places: list[int]) -> str:
    starts = _line_starts(text)
    lines = [str(bisect_right(starts, at)) for at in places[:_MAX_SHOWN]]
    more = f" and {len(places) - _MAX_SHOWN} more" if len(places) > _MAX_SHOWN else ""
    return (
        f"old_string stands {len(places)} times, at lines {', '.join(lines)}{more}. "
        "Add surrounding lines until it is unique, give `line`, or set replace_all."
    )


def _not_found(text: str, wish: Wish) -> str:
    """Say what was looked for, what comes nearest, and what to do."""
    if wish.new.strip() and wish.new in text:
        line = _line_of(text, text.index(wish.new))
        return (
            f"old_string is not in the file, and new_string already is, at line {line}: the "
            "edit seems to be applied already. Read the file before going on."
        )
    near = _nearest(text, wish.old)
    if near is None:
        return "old_string is not in the file, nor anything like it. Read the file again."
    line, theirs = near
    diff = list(
        difflib.unified_diff(wish.old.splitlines(), theirs, "old_string", "file", lineterm="", n=1)
    )[2:]
    shown = "\n".join(diff[:_MAX_CONTEXT_LINES])
    return (
        f"old_string is not in the file exactly. The nearest text begins at line {line} and "
        f"differs so:\n{shown}\nUse the file's text exactly, white space included."
    )


def _nearest(text: str, old: str) -> tuple[int, list[str]] | None:
    """Return the 1-based line and the lines of the window most like ``old``."""
    lines = text.splitlines()
    wanted = old.splitlines()
    if len(lines) > _MAX_SCANNED_LINES or not lines:
        return None
    key = max(wanted, key=lambda line: len(line.strip())).strip()
    offset = next(i for i, line in enumerate(wanted) if line.strip() == key)
    found = difflib.get_close_matches(key, {line.strip() for line in lines}, n=1, cutoff=0.6)
    if not found:
        return None
    best: tuple[float, int] | None = None
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(wanted)
    candidates = [i for i, line in enumerate(lines) if line.strip() == found[0]]
    for at in candidates[:50]:
        start = max(0, at - offset)
        matcher.set_seq1(lines[start : start + len(wanted)])
        score = matcher.ratio()
        if best is None or score > best[0]:
            best = (score, start)
    if best is None:
        return None
    return best[1] + 1, lines[best[1] : best[1] + len(wanted)]


def _line_starts(text: str) -> list[int]:
    starts = [0]
    at = text.find("\n")
    while at >= 0:
        starts.append(at + 1)
        at = text.find("\n", at + 1)
    return starts


def _line_of(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1
