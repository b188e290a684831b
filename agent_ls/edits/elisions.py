"""Marks that stand for lines left out (``...``, ``# ... existing code ...``).

Owns what is such a mark and what it stands for. A mark never gets into a file: what it stands
for is certain, or the edit is refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from rapidfuzz import fuzz

from agent_ls.edits.keys import stripped
from agent_ls.edits.requests import Refused

_OPEN = r"(?:(?P<comment>//+|#+|--+|;+|%+|/\*+|\*|<!--|\{/\*|\(\*)[ \t]*)?"
_CLOSE = r"[ \t]*(?:\*/\}?|-->|\*\))?"
_WORDS = (
    r"(?:existing|rest|remain\w*|unchanged|same|previous|original|omitted|elided|other|code|keep|"
    r"stays?|implementation|truncated|skipped|snip\w*|more|lines?|content\w*|body|as before)"
)
_DOTS = re.compile(
    rf"^{_OPEN}(?:\.{{3,}}|…|\[\.{{3}}\])[ \t]*(?P<words>.*?)[ \t]*(?:\.{{3,}}|…)?{_CLOSE}$", re.I
)
_PLAIN = re.compile(
    rf"^{_OPEN}\(?(?:the )?(?:rest of (?:the |this )?(?:existing )?(?:code|file|function|method|"
    rf"class|implementation|body)|existing (?:code|implementation|content)|remaining code|"
    rf"(?:code|rest) (?:remains|stays|is) (?:the same|unchanged))\b[^\n]{{0,40}}?\)?\.*{_CLOSE}$",
    re.I,
)
_MIN_ALIKE = 60.0
_MIN_AHEAD = 15.0


def is_marker(line: str) -> bool:
    """Tell whether the line may stand for lines that were left out."""
    return is_sure_marker(line) or stripped(line) in ("...", "…", "[...]", "....")


def is_sure_marker(line: str) -> bool:
    """Tell whether the line can hardly be anything else: it is a comment or says so."""
    body = stripped(line)
    if "..." not in body and "…" not in body:
        match = _PLAIN.match(body)
        return bool(match and match["comment"])
    match = _DOTS.match(body)
    if match is None:
        return False
    words = match["words"]
    if not words:
        return match["comment"] not in (None, "*", "%")
    return len(words) <= 80 and bool(re.search(rf"\b{_WORDS}\b", words, re.I))


def added_markers(old: Sequence[str], new: Sequence[str], flat: str) -> list[int]:
    """Return the numbers of new lines that are marks of the new text alone.

    ``...`` is a statement too, in Python: where it is the body of a block and nothing much goes
    for it, it is meant.
    """
    known = {stripped(line) for line in old}
    found: list[int] = []
    for number, line in enumerate(new):
        if not is_marker(line) or stripped(line) in known:
            continue
        if is_sure_marker(line):
            if line not in flat:
                found.append(number)
        elif not _is_statement(new, number, lost=len(old) - len(new)):
            found.append(number)
    return found


def _is_statement(new: Sequence[str], number: int, lost: int) -> bool:
    before = next((stripped(line) for line in reversed(new[:number]) if stripped(line)), "")
    is_body = before.endswith((":", '"""', "'''", "= (", "[", ","))
    return stripped(new[number]) == "..." and is_body and lost <= 2


def restored(old: Sequence[str], new: Sequence[str], marks: Sequence[int]) -> list[str] | Refused:
    """Return the new lines with each mark replaced by the old lines that it stands for."""
    bounds = [-1, *marks, len(new)]
    parts = [new[low + 1 : high] for low, high in pairwise(bounds)]
    result: list[str] = list(parts[0])
    at = 0
    for above, below in pairwise(parts):
        start = _after(old, above, at)
        stop = _before(old, below, start) if start is not None else None
        if start is None or stop is None or not any(stripped(line) for line in old[start:stop]):
            return unclear_marker()
        result += [*old[start:stop], *below]
        at = stop
    return result


def unclear_marker() -> Refused:
    """Return the refusal of a mark whose lines are not certain."""
    return Refused(
        "The new text has a mark for left-out code (like `...`), and it is not certain which "
        "lines it stands for. Nothing was changed. Write the new text in full, or edit only the "
        "lines that change.",
        "marker",
    )


def _after(old: Sequence[str], above: Sequence[str], at: int) -> int | None:
    """Return where in ``old`` the part above a mark ends."""
    solid = [line for line in above if stripped(line)]
    if not solid:
        return at
    return _known(old, solid[-1], at, len(solid), from_top=True)


def _before(old: Sequence[str], below: Sequence[str], at: int) -> int | None:
    """Return where in ``old`` the part below a mark begins."""
    solid = [line for line in below if stripped(line)]
    if not solid:
        return len(old)
    past = _known(old, solid[0], at, len(solid), from_top=False)
    return None if past is None else past - 1


def _known(old: Sequence[str], line: str, at: int, reach: int, *, from_top: bool) -> int | None:
    """Return the number after the one old line that this line is, or is a change of."""
    same = [number for number in range(at, len(old)) if old[number] == line]
    if same:
        return same[0] + 1 if len(same) == 1 else None
    near = (
        range(at, min(len(old), at + reach + 1))
        if from_top
        else range(max(at, len(old) - reach - 1), len(old))
    )
    scored = sorted(
        ((fuzz.ratio(stripped(old[number]), stripped(line)), number) for number in near),
        reverse=True,
    )
    if not scored or scored[0][0] < _MIN_ALIKE:
        return None
    if len(scored) > 1 and scored[0][0] - scored[1][0] < _MIN_AHEAD:
        return None
    return scored[0][1] + 1
