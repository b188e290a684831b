"""Restore the line ends of restored lines in a file with mixed line ends.

Texts are merged by lines without their ends, and a new line takes its neighbours' end. A restored
line gets the end it had before instead.
"""

from __future__ import annotations

import re

from agent_ls.domain.edits import Replacement, apply_replacements
from agent_ls.edits.lines import BOM
from agent_ls.edits.merge import changes_between, unchanged

_END = re.compile("\r\n|\r|\n")
"""A CR alone counts too, as it does in merges."""


def with_ends_of(
    before: str, now: str, replacements: tuple[Replacement, ...]
) -> tuple[Replacement, ...]:
    """Return the replacements with each restored line ending as it did in ``before``.

    Shape: unchanged if untouched lines end differently than before, since somebody has changed
    the line ends meanwhile.
    """
    ends = _END.findall(before)
    texts = (now, *(one.text for one in replacements))
    if len({*ends, *(end for text in texts for end in _END.findall(text))}) < 2:
        return replacements
    after, was = (_lines(text) for text in (apply_replacements(now, replacements), before))
    same = unchanged(changes_between(after, was), len(after))
    wanted = {line: ends[there] for line, there in same.items() if there < len(ends)}
    found: list[Replacement] = []
    line = at = 0
    is_touched = False
    for one in (*replacements, None):
        for end in _END.finditer(now, at, len(now) if one is None else one.start):
            goal = wanted.get(line, end[0])
            if goal != end[0] and not is_touched:
                return replacements
            if goal != end[0]:
                # The line is restored, but the replacement left its old end in place.
                found.append(Replacement(start=end.start(), end=end.end(), text=goal))
            line, is_touched = line + 1, False
        if one is None:
            break
        first, *others = _END.split(one.text)
        own = enumerate(_END.findall(one.text), line)
        text = first + "".join(
            wanted.get(number, end) + piece
            for (number, end), piece in zip(own, others, strict=True)
        )
        found.append(Replacement(start=one.start, end=one.end, text=text))
        line += len(others)
        at = one.end
        is_whole = one.text.endswith(("\n", "\r")) or (not one.text and _is_begin(now, one.start))
        is_touched = not (is_whole and _is_begin(now, at))
    return tuple(found)


def _is_begin(text: str, at: int) -> bool:
    return at == 0 or text[at - 1] == "\n" or (text[at - 1] == "\r" and text[at : at + 1] != "\n")


def _lines(text: str) -> list[str]:
    return _END.split(text.removeprefix(BOM))
