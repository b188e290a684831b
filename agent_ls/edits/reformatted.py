"""Tells what only a formatter changed: white space, quotes, last commas and semicolons. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent_ls.domain.edits import apply_replacements
from agent_ls.edits.lines import flattened
from agent_ls.edits.merge import Merged, changes_between, meet, merge
from agent_ls.edits.minimal import replacements_between

_LAST_COMMA = re.compile(r",(?=\s*[)\]}])")
_SPACE = re.compile(r"(?<=\w)(\s)\s*(?=\w)|\s+")


def is_reformatted(old: Sequence[str], new: Sequence[str]) -> bool:
    """Tell whether lines differ only as a formatter changes them.

    Lines with other indentation at an end are not: what stays around them has it, too.
    """
    if _plain(old) != _plain(new):
        return False
    was, now = ([line for line in lines if line.strip()] for lines in (old, new))
    if not was or not now:
        return True
    # A last bracket may come to stand on a line of its own, which is no block's.
    ends = [] if any(one[-1].lstrip()[0] in ")]}" for one in (was, now)) else [-1]
    return all(_indent(was[at]) == _indent(now[at]) for at in (0, *ends))


def merge_reformatted(base: str, ours: str, theirs: str) -> Merged:
    """Merge theirs into ours as ``merge`` does, but let theirs win where ours only reformatted.

    Lines that theirs changes stand as in theirs then, without the formatting.
    """
    merged = merge(base, ours, theirs, beside=True)
    if not merged.conflicts:
        return merged
    plain = _without_formatting(base, ours, theirs)
    again = merge(base, plain, theirs, beside=True)
    if again.conflicts:
        return merged
    return Merged(replacements_between(ours, apply_replacements(plain, again.replacements)))


def _without_formatting(base: str, ours: str, theirs: str) -> str:
    """Return ours, with the lines that theirs changes as in the base where only reformatted."""
    old, lines, wanted = (flattened(text).split("\n") for text in (base, ours, theirs))
    others = changes_between(old, wanted)
    found: list[str] = []
    at = 0
    for one in changes_between(old, lines):
        found += lines[at : one.first]
        was, now = old[one.low : one.high], lines[one.first : one.past]
        is_met = any(meet(one, other) for other in others)
        found += was if is_met and is_reformatted(was, now) else now
        at = one.past
    return "\n".join([*found, *lines[at:]])


def _plain(lines: Sequence[str]) -> str:
    text = "\n".join(line.rstrip().removesuffix(";") for line in lines).replace("'", '"')
    return _SPACE.sub(lambda found: " " if found[1] else "", _LAST_COMMA.sub("", text))


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]
