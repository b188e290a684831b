"""Tells what only a formatter changed: white space, quotes, last commas and semicolons. Pure.

What stands inside quotes is no formatter's, nor are lines that came into another block.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent_ls.domain.edits import apply_replacements
from agent_ls.edits.lines import flattened
from agent_ls.edits.merge import Merged, changes_between, meet, merge
from agent_ls.edits.minimal import replacements_between

_TOKEN = re.compile(
    r"""(?P<long>\"{3}(?:\\.|[^\\])*?\"{3}|'{3}(?:\\.|[^\\])*?'{3})"""
    r"""|(?P<quote>["'])(?P<quoted>(?:\\.|(?!(?P=quote))[^\\\n])*)(?P=quote)"""
    r"""|(?P<raw>`(?:\\.|[^`\\])*`)"""
    r"""|,(?=\s*[)\]}])"""
    r"""|(?<=\w)(?P<space>\s)\s*(?=\w)|\s+""",
    re.DOTALL,
)


def is_reformatted(old: Sequence[str], new: Sequence[str]) -> bool:
    """Tell whether lines differ only as a formatter changes them.

    The first and the last line keep their indentation, as the lines around them do. In between,
    lines that were in one block still are, and lines of two blocks still are in two.
    """
    if _plain(old) != _plain(new):
        return False
    was, now = ([line for line in lines if line.strip()] for lines in (old, new))
    if not was or not now:
        return True
    # A last bracket may come to stand on a line of its own, which is no block's.
    ends = [] if any(one[-1].lstrip()[0] in ")]}" for one in (was, now)) else [-1]
    has_ends = all(_indent(was[at]) == _indent(now[at]) for at in (0, *ends))
    return has_ends and _keeps_blocks(was, now)


def _keeps_blocks(was: Sequence[str], now: Sequence[str]) -> bool:
    """Tell whether lines with the same text have the same indentation as each other as before."""
    changes = changes_between([one.strip() for one in was], [one.strip() for one in now])
    there: dict[str, str] = {}
    back: dict[str, str] = {}
    low = first = 0
    ends = [(one.low, one.high, one.first, one.past) for one in changes]
    for upto, high, until, past in [*ends, (len(was), 0, len(now), 0)]:
        for old, new in zip(was[low:upto], now[first:until], strict=True):
            pair = _indent(old), _indent(new)
            if there.setdefault(*pair) != pair[1] or back.setdefault(*pair[::-1]) != pair[0]:
                return False
        low, first = high, past
    return True


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
    """Return what no formatter changes in lines."""
    return _TOKEN.sub(_kept, "\n".join(line.rstrip().removesuffix(";") for line in lines))


def _kept(token: re.Match[str]) -> str:
    if token["long"]:
        # The indentation of a text of several lines follows its block's.
        return '"""' + "\n".join(line.strip() for line in token["long"][3:-3].split("\n")) + '"""'
    if token["quote"]:
        return '"' + re.sub(r"""\\(["'])""", r"\1", token["quoted"]) + '"'
    return token["raw"] or (" " if token["space"] else "")


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]
