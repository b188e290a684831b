"""Whether an exact place is only a part of what stands there: of a word, a number, an expression.

Such a line is another one than the model saw. Owns what goes on beyond the ends of an old text,
remarks included, which stay with their line.
"""

from __future__ import annotations

import re

from agent_ls.edits.keys import stripped
from agent_ls.edits.locate import Ground
from agent_ls.edits.requests import Refused
from agent_ls.edits.texts import Texts

_PART = re.compile(r"\.\w|[\[(]")
"""What is a part of the name before it."""
_MORE = re.compile(r"\.?\w|[\[(]|[ \t]+(?:\w|(?!//|/\*|--|[-=]>)[-+*/%&|^<>=?!]+[ \t])")
"""What goes on with an expression, and is no bracket that shuts and no remark."""

_SHUT = re.compile(r"[\s,;:)\]}]*")
"""What stays behind a bracket or a mark, whatever comes in its place."""
_REMARK = re.compile(r"[,;]?[ \t]+(?:#|//|/\*|--|<!--)[^\n]*")


def is_torn(flat: str, wish: Texts, at: int, end: int) -> bool:
    """Tell whether whole words, numbers or lines were meant, and one goes on beyond them."""
    if wish.old.replace("_", "").isalnum():
        return False
    return begins_torn(flat, wish, at) or _is_inside(flat, end) or _is_cut(flat, wish, at, end)


def begins_torn(flat: str, wish: Texts, at: int) -> bool:
    """Tell whether what goes on beyond the old text is before it."""
    return _is_inside(flat, at) or _is_cut_above(flat, wish, at)


def remark_at(flat: str, wish: Texts, at: int, end: int) -> str | None:
    """Return the remark behind the last old line that new lines would part from it.

    Shape: the rest of the line; None where none is, or where it stays behind what it is behind.
    """
    match = _REMARK.match(flat, end)
    was, now = (text.rpartition("\n")[2].strip() for text in (wish.old, wish.new))
    if match is None or was in ("", now) or wish.old.count("\n") >= wish.new.count("\n"):
        return None
    begins = at if "\n" not in wish.old else end - len(wish.old.rpartition("\n")[2])
    return match[0] if _begins_line(flat, begins) else None


def parted_remark(ground: Ground, end: int, rest: str) -> Refused:
    """Return the refusal of new lines that would part a remark from its line."""
    return Refused(
        f"Line {ground.file.number_at(end) + 1} goes on with {rest.strip()!r}, which the old text "
        "lacks: someone added it, or it was left out. Give the whole line.",
        "conflict",
    )


def _is_inside(flat: str, at: int) -> bool:
    """Tell whether a place lies inside a word or a number."""
    if not 0 < at < len(flat):
        return False
    if _in_word(flat[at - 1]) and _in_word(flat[at]):
        return True
    below, above = flat[max(0, at - 2) : at + 1], flat[at - 1 : at + 2]
    return any(len(one) == 3 and one[1] == "." and (one[0] + one[2]).isdigit()
               for one in (below, above))  # fmt: skip


def _in_word(char: str) -> bool:
    return char.isalnum() or char == "_"


def _is_cut(flat: str, wish: Texts, at: int, end: int) -> bool:
    """Tell whether the old text reads like whole lines, the last of which goes on."""
    last = flat[end - 1]
    if "\n" in wish.old and _is_line_replaced(flat, wish, at, end):
        return True
    if not (_in_word(last) or last in "\"')]}") or not _begins_line(flat, at):
        return False
    if not wish.new.strip():
        return bool(_MORE.match(flat, end))
    if "\n" in wish.old or "\n" in wish.new:
        was, now = (text.rpartition("\n")[2].split()[-1:] for text in (wish.old, wish.new))
        # Behind the same word the line may go on as it does.
        return bool(now) and now != was and bool(_MORE.match(flat, end))
    added = wish.new.removeprefix(wish.old)
    return added != wish.new and added[0] in " ,;" and bool(_PART.match(flat, end))


def _is_line_replaced(flat: str, wish: Texts, at: int, end: int) -> bool:
    """Tell whether a line below others that says more than the old text has of it would be
    replaced, or parted from that.
    """
    last = wish.old.rpartition("\n")[2]
    if not stripped(last) or not _begins_line(flat, at):
        return False
    stop = flat.find("\n", end)
    rest = flat[end : stop if stop >= 0 else len(flat)]
    news = wish.new.split("\n")
    if any(map(str.isalnum, last)):
        is_kept = stripped(news[-1]).endswith(stripped(last))
        says_more = any(map(str.isalnum, rest))
    else:
        # Marks and brackets end many lines: only the very line is the same.
        is_kept = news[-1].rstrip() == last.rstrip()
        says_more = not _SHUT.fullmatch(rest)
    is_beside = _REMARK.match(flat, end) is not None and stripped(last) in map(stripped, news)
    return says_more and not is_kept and not (is_beside and len(news) > wish.old.count("\n") + 1)


def _is_cut_above(flat: str, wish: Texts, at: int) -> bool:
    """Tell whether a first line that goes is the end of a longer one: the next would be joined."""
    if _begins_line(flat, at):
        return False
    first, *below = map(stripped, wish.old.split("\n"))
    begins = stripped(wish.new.partition("\n")[0])
    return begins != first and begins in below


def _begins_line(flat: str, at: int) -> bool:
    while at > 0 and flat[at - 1] in " \t\ufeff":
        at -= 1
    return at == 0 or flat[at - 1] == "\n"
