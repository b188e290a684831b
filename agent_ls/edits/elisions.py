"""Marks that stand for lines left out (``...``, ``# ... existing code ...``).

Owns what is such a mark and what it stands for. A mark never gets into a file: what it stands
for is certain, or the edit is refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from agent_ls.edits.indents import indent_of
from agent_ls.edits.keys import stripped
from agent_ls.edits.requests import Refused

_OPEN = r"(?:(?P<comment>//+|#+|--+|;+|%+|/\*+|\*|<!--|\{/\*|\(\*)[ \t]*)?"
_CLOSE = r"[ \t]*(?:\*/\}?|-->|\*\))?"
_WORDS = (
    r"(?:existing|rest|remain\w*|unchanged|same|previous|original|omitted|elided|other|code|keep|"
    r"stays?|implementation|truncated|skipped|snip\w*|more|lines?|content\w*|body|as before)"
)
_DOTS = re.compile(
    rf"^{_OPEN}(?:\.{{3,}}|…|\[\.{{3}}\])(?P<gap>[ \t]*)(?P<words>.*?)[ \t]*(?P<end>\.{{3,}}|…)?"
    rf"{_CLOSE}$",
    re.I,
)
_TELLING = re.compile(
    rf"(?:(?:the|of|is|are|and) )*{_WORDS}(?: (?:the|of|is|are|and|{_WORDS}))+", re.I
)
_PROSE = re.compile(r"\(?[\w'`./-]+\)?(?:,? \(?[\w'`./-]+\)?)*")
_PLAIN = re.compile(
    rf"^{_OPEN}\(?(?:the )?(?:rest of (?:the |this )?(?:existing )?(?:code|file|function|method|"
    rf"class|implementation|body)|existing (?:code|implementation|content)|remaining code|"
    rf"(?:code|rest) (?:remains|stays|is) (?:the same|unchanged))\b[^\n]{{0,40}}?\)?\.*{_CLOSE}$",
    re.I,
)
_ALONE = re.compile(
    rf"^{_OPEN}\(?(?:unchanged|same as before|no changes?(?: here)?|omitted for brevity)\)?\.*"
    rf"{_CLOSE}$",
    re.I,
)
_HEAD = re.compile(
    r"(return)\b"
    r"|([\w. ]*\b(?:def|class|func|fn|function\*?|struct|interface|enum|trait|impl) +[\w$.<>]+)"
    r"|([^=!<>+*/%&|^-]+?) *=(?![=>])"
    r"|([\"'][^\"']*[\"']|[\w-]+) *:(?![:=])"
    r"|([^(){}]+)\(.*\{$"
)
"""What a line is about: what it returns, defines, sets, or names."""


def is_marker(line: str) -> bool:
    """Tell whether the line may stand for lines that were left out."""
    return is_sure_marker(line) or stripped(line) in ("...", "…", "[...]", "....")


def stands_for_others(line: str, flat: str) -> bool:
    """Tell whether the line is a mark, and no line of the file that looks like one."""
    return is_marker(line) and not (is_sure_marker(line) and stripped(line) in flat)


def is_sure_marker(line: str) -> bool:
    """Tell whether the line can hardly be anything else: it is a comment or says so."""
    body = stripped(line)
    if "..." not in body and "…" not in body:
        match = _PLAIN.match(body) or _ALONE.match(body)
        return bool(match and match["comment"])
    match = _DOTS.match(body)
    if match is None:
        return False
    words = match["words"]
    if not words:
        return match["comment"] not in (None, "*", "%")
    # A sentence that only begins with dots is a comment like any other.
    is_short = len(words) <= 80 and (len(words.split()) <= 8 or body.rstrip("*/->) ").endswith("."))
    if not is_short or not re.search(rf"\b{_WORDS}\b", words, re.I):
        return False
    # Without a comment's sign dots are code as well: they spread, collect or continue something.
    likeness = _PROSE if match["gap"] else _TELLING
    return bool(match["comment"] or match["end"] or likeness.fullmatch(words))


def added_markers(old: Sequence[str], new: Sequence[str], flat: str) -> list[int]:
    """Return the numbers of new lines that are marks of the new text alone.

    ``...`` is a statement too, in Python: where it is the body of a block and nothing much goes
    for it, it is meant.
    """
    known = {stripped(line) for line in old}
    found: list[int] = []
    for number, line in enumerate(new):
        if not is_marker(line) or stripped(line) in known or _is_doctest(new, number):
            continue
        if is_sure_marker(line):
            if line not in flat:
                found.append(number)
        elif not _is_statement(new, number, lost=len(old) - len(new)):
            found.append(number)
    return found


def _is_doctest(new: Sequence[str], number: int) -> bool:
    """Tell whether the dots continue an example that Python's prompt begins above them."""
    above = (stripped(line) for line in reversed(new[:number]))
    return next((line for line in above if not line.startswith("...")), "").startswith(">>>")


def _is_statement(new: Sequence[str], number: int, lost: int) -> bool:
    before = next((stripped(line) for line in reversed(new[:number]) if stripped(line)), "")
    if is_stub(new, number):
        # Where nothing could have been left out, nothing was.
        return lost <= 0
    is_body = before.endswith((":", '"""', "'''", "= (", "[", ","))
    is_all = not any(stripped(line) for at, line in enumerate(new) if at != number)
    return stripped(new[number]) == "..." and (is_body or is_all) and lost <= 2


def is_stub(new: Sequence[str], number: int) -> bool:
    """Tell whether the line is ``...`` and all that a block has: its body, or a mark for it."""
    above, below = (
        next((line for line in lines if stripped(line)), "")
        for lines in (reversed(new[:number]), new[number + 1 :])
    )
    mark = indent_of(new[number])
    is_deepest = len(indent_of(above)) < len(mark) and len(indent_of(below)) < len(mark)
    return stripped(new[number]) == "..." and stripped(above).endswith(":") and is_deepest


def restored(old: Sequence[str], new: Sequence[str], marks: Sequence[int]) -> list[str] | Refused:
    """Return the new lines with each mark replaced by the old lines that it stands for."""
    bounds = [-1, *marks, len(new)]
    parts = [list(new[low + 1 : high]) for low, high in pairwise(bounds)]
    result = parts[0]
    at = 0
    for above, below in pairwise(parts):
        start = _end_of(old, above, at)
        stop = None if start is None else _begin_of(old, below, start)
        if start is None or stop is None:
            return unclear_marker()
        middle = list(old[start:stop])
        if not any(stripped(line) for line in middle) or _is_parted(middle, above, below):
            return unclear_marker()
        middle = _without_doubled_blanks(middle, above, below)
        result += [*middle, *below]
        at = stop
    return result


def _is_parted(middle: list[str], above: list[str], below: list[str]) -> bool:
    """Tell whether the new text has a blank line beside the mark where the old text has none.

    Then the old line that stands there may have been meant to go.
    """
    lost = bool(below) and not stripped(below[0]) and bool(stripped(middle[-1]))
    return lost or (bool(above) and not stripped(above[-1]) and bool(stripped(middle[0])))


def _without_doubled_blanks(middle: list[str], above: list[str], below: list[str]) -> list[str]:
    """Return the middle without the blank lines at its ends that the new text has itself."""
    for line in reversed(above):
        if stripped(line) or not middle or stripped(middle[0]):
            break
        middle = middle[1:]
    for line in below:
        if stripped(line) or not middle or stripped(middle[-1]):
            break
        middle = middle[:-1]
    return middle


def unclear_marker() -> Refused:
    """Return the refusal of a mark whose lines are not certain."""
    return Refused(
        "The new text has a mark for left-out code (like `...`), and it is not certain which "
        "lines it stands for. Nothing was changed. Write the new text in full, or edit only the "
        "lines that change.",
        "marker",
    )


def _end_of(old: Sequence[str], above: list[str], at: int) -> int | None:
    """Return where in ``old`` the part above a mark ends."""
    part = _solid(above)
    if not part:
        return at
    if part == _solid(old[at:])[: len(part)]:
        return _numbers(old, at)[len(part) - 1] + 1
    found = _only(_numbers(old, at), old, part[::-1], backwards=True)
    if found is None and _are_changes(_solid(old[at:])[: len(part)], part):
        found = _numbers(old, at)[len(part) - 1]
    return None if found is None else found + 1


def _begin_of(old: Sequence[str], below: list[str], at: int) -> int | None:
    """Return where in ``old`` the part below a mark begins."""
    part, numbers = _solid(below), _numbers(old, at)
    if not part:
        return len(old)
    if part == _solid(old[at:])[-len(part) :]:
        return numbers[-len(part)]
    found = _only(numbers, old, part, backwards=False)
    if found is None and _are_changes(_solid(old[at:])[-len(part) :], part):
        found = numbers[-len(part)]
    return found


def _solid(lines: Sequence[str]) -> list[str]:
    return [line for line in lines if stripped(line)]


def _numbers(old: Sequence[str], at: int) -> list[int]:
    return [number for number in range(at, len(old)) if stripped(old[number])]


def _only(numbers: list[int], old: Sequence[str], run: list[str], *, backwards: bool) -> int | None:
    """Return the one line where the run begins, as far as it takes to be the only one."""
    rows = numbers[::-1] if backwards else numbers
    known = [row for row in range(len(rows)) if old[rows[row]] == run[0]]
    for size in range(1, len(run)):
        if len(known) < 2:
            break
        known = [
            row for row in known if row + size < len(rows) and old[rows[row + size]] == run[size]
        ]
    return rows[known[0]] if len(known) == 1 else None


def _are_changes(old: list[str], part: list[str]) -> bool:
    """Tell whether these lines are the old ones, each as it was or with another content."""
    return len(old) == len(part) and all(
        stripped(one) == stripped(other) or _is_change_of(one, other)
        for one, other in zip(old, part, strict=True)
    )


def _is_change_of(old: str, line: str) -> bool:
    """Tell whether both lines are about one thing, which no text has twice in a row.

    So two imports are not, and two calls are not: there the line may be a new one.
    """
    heads = [_HEAD.match(stripped(one)) for one in (old, line)]
    names = [next((one for one in head.groups() if one), "") if head else "" for head in heads]
    return bool(names[0]) and names[0] == names[1]
