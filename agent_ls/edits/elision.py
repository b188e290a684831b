"""Marks that stand for omitted lines (``...``, ``# ... existing code ...``).

Recognises marks, by their text alone or because old lines vanish in their place. Restores the
lines behind a mark that only the new text has. A mark must never get into a file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from itertools import pairwise

from agent_ls.edits.indents import indent_of
from agent_ls.edits.keys import stripped
from agent_ls.edits.minimal import blocks
from agent_ls.edits.requests import Refused

_REMARK = re.compile(
    r"(?P<sign>//+|#+|--+|;+|%+|/\*+|\*|<!--|\{/\*|\(\*)[ \t]*(?P<said>.*?)"
    r"[ \t]*(?:\*/\}?|-->|\*\))?"
)
_FRAME = " \t[](){}<>=-*_~"
"""Characters that models put around a mark."""
_KEPT = re.compile(
    r"existing|rest|remain\w*|unchanged|unmodified|same|previous|original|omitted|elided|other|"
    r"keep|kept|stays?|truncated|skipped|snip\w*|more|etc|before",
    re.I,
)
_LITTLE = re.compile(
    rf"{_KEPT.pattern}|code|implementation|lines?|content\w*|body|methods?|functions?|class(?:es)?|"
    r"files?|imports?|logic|tests?|fields?|the|this|of|is|are|as|and|all|here|it|in|to|for|"
    r"brevity|no|changes?|not|shown|goes|above|below|they|everything|else|your|my|our|current|"
    r"steps?|continues?",
    re.I,
)
_ANY = re.compile(rf"\b(?:{_KEPT.pattern}|code|implementation|lines?|content\w*|body)\b", re.I)
_WORD = re.compile(r"[^\W\d][\w'-]*")
_DOTS = re.compile(r"(?:\.{3,}|…)\]?[ \t]*(?P<words>.*?)[ \t]*(?P<end>\.{3,}|…)?")
_DOTS_BEHIND = re.compile(r"(?P<words>.*\w)[)\]>]?[ \t]*(?:\.{3,}|…)")
_STAYS = re.compile(
    r"existing|rest|remain\w*|unchanged|unmodified|same|previous|original|omitted|elided|other|"
    r"truncated|skipped|snip\w*",
    re.I,
)
_CODE = re.compile(r"[={}<>|&\\\[\]@$+?!]|\w\(")
_PLAIN = re.compile(
    r"(?:the )?(?:rest of\b|existing (?:code|implementation|content)\b|remaining code\b|"
    r"(?:(?:previous|other|original) )?(?:code|rest) (?:(?:remains|stays|is) )?"
    r"(?:the same|unchanged|omitted)\b|"
    r"unchanged(?: code)?$|omitted(?: for brevity)?$|same as before$|no changes?(?: here)?$)",
    re.I,
)
_NAMES = re.compile(r"(?:the )?(?:rest of|remaining|existing|unchanged|other|previous)\b", re.I)
_SAYS_SAME = re.compile(r"as (?:before|above)|no changes? (?:above|below)", re.I)
_PLACEHOLDER = re.compile(r"pass\b|raise NotImplementedError\b|\.\.\.$|return NotImplemented\b")
_BLOCKS = (":", '"""', "'''")
_OPENERS = (*_BLOCKS, "= (", "[", ",")
_BARE = ("...", "…", "....", "[...]", "<...>", "(...)", "⋮", "⋮...")
_MAX_WORDS = 8
_MAX_CHARS = 1_000
"""No mark is longer; a line of a minified file is too long to be matched against patterns."""
_OPEN = ("[", "<", "(")
_NUMBERS = " \t0123456789L[]()|│→:"
_HEAD = re.compile(
    r"(return)\b"
    r"|([\w. ]*\b(?:def|class|func|fn|function\*?|struct|interface|enum|trait|impl) +[\w$.<>]+)"
    r"|([^=!<>+*/%&|^-]+?) *=(?![=>])"
    r"|([\"'][^\"']*[\"']|[\w-]+) *:(?![:=])"
    r"|([^(){}]+)\(.*\{$"
)
"""The subject of a line: what it returns, defines, sets, or names."""


def unclear_marker() -> Refused:
    """Return the refusal for a mark if it is not certain which lines it stands for."""
    return Refused(
        "The new text has a mark for left-out code (like `...`), and it is not certain which "
        "lines it stands for. Nothing was changed. Write the new text in full, or edit only the "
        "lines that change.",
        "marker",
    )


def stands_for_others(line: str, flat: str) -> bool:
    """Tell whether the line is a mark and not a line of the file that looks like one."""
    if is_sure_marker(line):
        return stripped(line) not in flat
    return stripped(line) in _BARE and not re.search(
        rf"^[ \t]*{re.escape(stripped(line))}[ \t]*$", flat, re.M
    )


def is_sure_marker(line: str) -> bool:
    """Tell whether the text of the line alone shows that it is a mark."""
    sign, said = _read(line)
    match = _DOTS.fullmatch(said)
    if match is None:
        is_apart = bool(sign) or stripped(line)[:1] in _OPEN
        if is_apart and _PLAIN.match(said.rstrip(". …")) and not _others_in(said):
            return True
        return _stays_before_dots(said, is_apart=is_apart)
    words = match["words"].split()
    if not words:
        return sign not in ("", "*", "%")
    # A sentence that merely begins with dots is an ordinary comment.
    is_closed = bool(match["end"]) or said.endswith(".")
    if len(words) > _MAX_WORDS * (1 + is_closed) or not _ANY.search(match["words"]):
        return False
    # Without a comment sign, dots may be code: spread, rest arguments, continuation.
    return bool(sign or match["end"] or (len(words) > 1 and not _others_in(said)))


def _stays_before_dots(said: str, *, is_apart: bool) -> bool:
    """Tell whether a text ends with dots and says before them only that something stays.

    ``is_apart`` says that it is a comment or in brackets.
    """
    match = _DOTS_BEHIND.fullmatch(said)
    words = _WORD.findall(match["words"]) if match else []
    if not words or len(words) > _MAX_WORDS or _CODE.search(said):
        return False
    # "rest of the styles ..." names what stays; elsewhere an unusual word makes a sentence.
    names = is_apart and bool(_NAMES.match(said))
    is_said = any(map(_STAYS.fullmatch, words)) and _others_in(said) <= names
    return is_said and (is_apart or len(words) > 1)


def _read(line: str) -> tuple[str, str]:
    """Return the comment sign of a line ('' for none) and its text; none of a long line."""
    if len(line) > _MAX_CHARS:
        return "", ""
    body = stripped(line).replace(". . .", "...").replace("⋮", "…")
    match = _REMARK.fullmatch(body)
    return (match["sign"], match["said"].strip(_FRAME)) if match else ("", body.strip(_FRAME))


def added_markers(old: Sequence[str], new: Sequence[str], flat: str) -> list[int]:
    """Return the numbers of new lines that are marks and that the old text does not have.

    A comment may read like a mark, and ``...`` is a Python statement. Such lines count as marks
    only if old lines vanish in their place.
    """
    doubtful = {
        number
        for number, line in enumerate(new)
        if not is_sure_marker(line) and (stripped(line) in _BARE or _is_like_a_mark(line))
    }
    lost = _vanished(old, new, doubtful)
    found: list[int] = []
    for number, line in enumerate(new):
        if number not in doubtful:
            is_mark = is_sure_marker(line) and line not in flat
        elif stripped(line) in _BARE:
            is_mark = not _is_statement(new, number, lost[number])
        else:
            # If it replaces a single comment, it rewords that comment.
            is_mark = len(lost[number]) > 1 or any(not _read(one)[0] for one in lost[number])
        if is_mark and not (_is_known(old, stripped(line)) or _is_doctest(new, number)):
            found.append(number)
    return found


def leaves_out(old: str, new: str) -> bool:
    """Tell whether a complete new text has a mark where several old lines would vanish."""
    olds, news = old.split("\n"), new.split("\n")
    marks = added_markers(olds, news, old)
    return any(len(lost) > 1 for lost in _vanished(olds, news, marks).values())


def _is_known(old: Sequence[str], mark: str) -> bool:
    """Tell whether the old text has the mark too, maybe behind a copied line number."""
    return any(
        line.rstrip().endswith(mark) and not line.rstrip()[: -len(mark)].strip(_NUMBERS)
        for line in old
    )


def _is_like_a_mark(line: str) -> bool:
    """Tell whether a comment or bracketed line says little more than that code stays."""
    sign, said = _read(line)
    words = _WORD.findall(said)
    is_apart = sign not in ("", "*", "%") or stripped(line)[:1] in _OPEN
    if not is_apart or len(words) > _MAX_WORDS:
        return False
    kept = sum(bool(_KEPT.fullmatch(word)) for word in words)
    is_kept = kept > _others_in(said) and not _CODE.search(said)
    return is_kept or bool(_SAYS_SAME.fullmatch(said.rstrip(".")))


def _others_in(said: str) -> int:
    """Count the words that are unusual in a mark."""
    return sum(not _LITTLE.fullmatch(word) for word in _WORD.findall(said))


def _vanished(
    old: Sequence[str], new: Sequence[str], numbers: Collection[int]
) -> dict[int, list[str]]:
    """Return, for each of these new lines, the old lines that it alone replaces."""
    found: dict[int, list[str]] = {number: [] for number in numbers}
    if not found:
        return found
    olds = [line for line in old if stripped(line)]
    solid = [number for number, line in enumerate(new) if stripped(line)]
    bare = [stripped(line) for line in olds], [stripped(new[number]) for number in solid]
    for kind, low, high, first, past in blocks(*bare):
        for at in range(first, past) if kind != "equal" else ():
            if solid[at] in found:
                found[solid[at]] = olds[low + at - first : high - (past - at - 1)]
    return found


def _is_doctest(new: Sequence[str], number: int) -> bool:
    """Tell whether the dots are the continuation prompt of a Python doctest."""
    above = (stripped(line) for line in reversed(new[: number + 1]))
    first = next((line for line in above if not line.startswith("...")), "")
    return stripped(new[number]).startswith("...") and first.startswith(">>>")


def _is_statement(new: Sequence[str], number: int, lost: Sequence[str]) -> bool:
    is_all = not any(stripped(line) for at, line in enumerate(new) if at != number)
    # If it is the whole new text it is no mark: a mark for all old lines would change nothing.
    is_free = not lost or (
        len(lost) == 1 and (is_all or bool(_PLACEHOLDER.match(stripped(lost[0]))))
    )
    return is_free and stripped(new[number]) == "..." and (is_all or is_stub(new, number, _OPENERS))


def is_stub(new: Sequence[str], number: int, openers: tuple[str, ...] = _BLOCKS) -> bool:
    """Tell whether the line is ``...`` and the whole body of a block: a stub, or a mark for it."""
    above, below = (
        next((line for line in lines if stripped(line)), "")
        for lines in (reversed(new[:number]), new[number + 1 :])
    )
    is_last = len(indent_of(below)) < len(indent_of(new[number])) or not below
    return stripped(new[number]) == "..." and stripped(above).endswith(openers) and is_last


def restored(old: Sequence[str], new: Sequence[str], marks: Sequence[int]) -> list[str] | Refused:
    """Replace each mark in the new lines by the old lines that it stands for, or refuse."""
    parts = [list(new[low + 1 : high]) for low, high in pairwise([-1, *marks, len(new)])]
    result, at = parts[0], 0
    for above, below in pairwise(parts):
        start = _size_of(old[at:], above)
        size = None if start is None else _size_of(old[at + start :][::-1], below[::-1])
        if start is None or size is None:
            return unclear_marker()
        middle = list(old[at + start : len(old) - size])
        if not any(map(stripped, middle)) or _has_more(old, middle, new):
            return unclear_marker()
        result += [*_without_doubled_blanks(middle, above, below), *below]
        at = len(old) - size
    return result


def _size_of(old: Sequence[str], part: Sequence[str]) -> int | None:
    """Return how many leading old lines a part of the new text covers; None if unknown.

    There are three cases. The part equals the first old lines, or its last lines occur exactly
    once, or it is the first old lines with some of them changed.
    """
    rows = [number for number, line in enumerate(old) if stripped(line)]
    lines, want = [old[row] for row in rows], [line for line in part if stripped(line)]
    count = len(want)
    if not want:
        return 0
    if want != lines[:count]:
        ends: list[int] = []
        for size in range(1, count + 1):
            run = want[-size:]
            ends = [at for at in range(size, len(lines) + 1) if lines[at - size : at] == run]
            if len(ends) < 2:
                break
        if len(ends) == 1:
            return rows[ends[0] - 1] + 1
        if count > len(lines) or not all(map(_is_change_of, lines, want)):
            return None
    return rows[count - 1] + 1


def _is_change_of(old: str, line: str) -> bool:
    """Tell whether both lines are equal or have the same subject, for example set the same name.

    Imports and calls have no subject here: such a line may be an additional one.
    """
    heads = [_HEAD.match(stripped(one)) for one in (old, line)]
    names = [next((one for one in head.groups() if one), "") if head else "" for head in heads]
    return stripped(old) == stripped(line) or (bool(names[0]) and names[0] == names[1])


def _has_more(old: Sequence[str], middle: list[str], new: Sequence[str]) -> bool:
    """Tell whether the new text itself shows a line of the middle, because it moved that line."""
    known, within, shown = (Counter(map(stripped, lines)) for lines in (old, middle, new))
    return any(
        sum(map(str.isalnum, line)) > 1 and shown[line] > known[line] - within[line]
        for line in within
    )


def _without_doubled_blanks(middle: list[str], above: list[str], below: list[str]) -> list[str]:
    """Drop blank lines at the ends of the middle that the new text already has there."""
    for line in reversed(above):
        if stripped(line) or not middle or stripped(middle[0]):
            break
        middle = middle[1:]
    for line in below:
        if stripped(line) or not middle or stripped(middle[-1]):
            break
        middle = middle[:-1]
    return middle
