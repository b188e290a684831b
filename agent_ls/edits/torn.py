"""Whether an exact place is only a part of what stands there: of a word, a number, an expression.

Such a line is another one than the model saw, so the old text does not stand there.
"""

from __future__ import annotations

import re

from agent_ls.edits.requests import Wish

_PART = re.compile(r"\.\w|[\[(]")
"""What is a part of the name before it."""
_SHUT = re.compile(r"[\s,;:)\]}]*")
"""What may stay behind a bracket or a word, whatever comes in its place."""


def is_torn(flat: str, wish: Wish, at: int, end: int) -> bool:
    """Tell whether whole words, numbers or lines were meant, and one goes on beyond them."""
    if wish.old.replace("_", "").isalnum():
        return False
    if _is_inside(flat, at) or _is_inside(flat, end):
        return True
    olds, news = wish.old.split("\n"), wish.new.split("\n")
    first, *below = (line.strip() for line in olds)
    if not begins_line(flat, at):
        # The first line goes, so the next one would be joined to what is before it.
        return news[0].strip() != first and news[0].strip() in below
    rest = rest_of_line(flat, end)
    if wish.old[-1] in " \t\n" or _SHUT.fullmatch(rest):
        return False
    is_more = wish.new.removeprefix(wish.old)[:1] in (",", ";", " ") and _PART.match(rest)
    is_lines = bool(below) or len(news) > 1 or not wish.new.strip()
    # Behind the same word the line may go on as it does; brackets are the same in the same place.
    is_word = any(map(str.isalnum, olds[-1]))
    was, now = ([one.split()[-1:], one.rstrip()][not is_word] for one in (olds[-1], news[-1]))
    return bool(is_more) or (is_lines and was != now)


def begins_line(flat: str, at: int) -> bool:
    """Tell whether only indentation is before a place on its line."""
    while at > 0 and flat[at - 1] in " \t\ufeff":
        at -= 1
    return at == 0 or flat[at - 1] == "\n"


def rest_of_line(flat: str, at: int) -> str:
    """Return what follows on the line that holds a place."""
    stop = flat.find("\n", at)
    return flat[at : stop if stop >= 0 else len(flat)]


def _is_inside(flat: str, at: int) -> bool:
    """Tell whether a place lies inside a word or a number."""
    if not 0 < at < len(flat):
        return False
    if all(char.isalnum() or char == "_" for char in flat[at - 1 : at + 1]):
        return True
    near = (flat[max(0, at - 2) : at + 1], flat[at - 1 : at + 2])
    return any(re.fullmatch(r"\d\.\d", one) for one in near)
