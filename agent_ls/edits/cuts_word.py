"""Tell whether an exact match cuts a word, a number or an expression in two.

Such a line is not the one that the model saw, so the match does not count.
"""

from __future__ import annotations

import re

from agent_ls.edits.requests import EditRequest

_PART = re.compile(r"\.\w|[\[(]")
"""Start of a continuation of the name before it: an attribute, a call, an index."""
_SHUT = re.compile(r"(?:[^\S\n]|[,;:)\]}])*+(?![^\n])")
"""Rest of a line that may stay, whatever the text before it becomes.

The rest of a line is matched in its place: to copy it for each of many places in one long line
would take seconds.
"""
_BLANK = re.compile(r"[ \t]*+(?![^\n])")


def is_torn(flat: str, request: EditRequest, at: int, end: int) -> bool:
    """Tell whether the old text means whole words or lines, but the file's go on beyond it."""
    if request.old.replace("_", "").isalnum():
        return False
    if _is_inside(flat, at) or _is_inside(flat, end):
        return True
    olds, news = request.old.split("\n"), request.new.split("\n")
    first, *below = (line.strip() for line in olds)
    if not begins_line(flat, at):
        # The first line is removed, so the next one would be joined to the text before it. An
        # old text that begins with a line end asks for that.
        goes_on = news[0].strip()
        return "" not in (first, goes_on) and goes_on != first and goes_on in below
    if request.old[-1] in " \t\n" or _SHUT.match(flat, end):
        return False
    is_more = request.new.removeprefix(request.old)[:1] in (",", ";", " ") and _PART.match(
        flat, end
    )
    is_lines = bool(below) or len(news) > 1 or not request.new.strip()
    # The rest may stay if the last word does not change, or, without a word, the line's end.
    is_word = any(map(str.isalnum, olds[-1]))
    was, now = ([one.split()[-1:], one.rstrip()][not is_word] for one in (olds[-1], news[-1]))
    return bool(is_more) or (is_lines and was != now)


def begins_line(flat: str, at: int) -> bool:
    """Tell whether only indentation precedes the offset on its line."""
    while at > 0 and flat[at - 1] in " \t\ufeff":
        at -= 1
    return at == 0 or flat[at - 1] == "\n"


def ends_line(flat: str, at: int) -> bool:
    """Tell whether only blanks follow the offset on its line."""
    return _BLANK.match(flat, at) is not None


def _is_inside(flat: str, at: int) -> bool:
    """Tell whether an offset lies inside a word or a number."""
    if not 0 < at < len(flat):
        return False
    if all(char.isalnum() or char == "_" for char in flat[at - 1 : at + 1]):
        return True
    near = (flat[max(0, at - 2) : at + 1], flat[at - 1 : at + 2])
    return any(re.fullmatch(r"\d\.\d", one) for one in near)
