"""Marks that stand for lines left out (``...``, ``# ... existing code ...``).

Owns what is such a mark: by what it says alone, or by what it says where old lines vanish. What
it stands for is told elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from agent_ls.edits.indents import indent_of
from agent_ls.edits.keys import stripped
from agent_ls.edits.minimal import blocks

_REMARK = re.compile(
    r"(?P<sign>//+|#+|--+|;+|%+|/\*+|\*|<!--|\{/\*|\(\*)[ \t]*(?P<said>.*?)"
    r"[ \t]*(?:\*/\}?|-->|\*\))?"
)
_FRAME = " \t[](){}<>=-*_~"
"""What some put around a mark, to set it off."""
_KEPT = (
    r"(?:existing|rest|remain\w*|unchanged|unmodified|same|previous|original|omitted|elided|other|"
    r"keep|kept|stays?|truncated|skipped|snip\w*|more|etc|as before|as is)"
)
_WORDS = rf"(?:{_KEPT}|code|implementation|lines?|content\w*|body)"
_DOTS = re.compile(
    r"(?:\.{3,}|…)\]?(?P<gap>[ \t]*)(?P<words>.*?)[ \t]*(?P<end>\.{3,}|…)?",
    re.I,
)
_TELLING = re.compile(
    rf"(?:(?:the|of|is|are|and) )*{_WORDS}(?: (?:the|of|is|are|and|{_WORDS}))+", re.I
)
_PROSE = re.compile(r"\(?[\w'`./-]+\)?(?:,? \(?[\w'`./-]+\)?)*")
_WORD = re.compile(r"[^\W\d][\w'-]*")
_SAYS_KEPT = re.compile(_KEPT, re.I)
_SAYS_LITTLE = re.compile(
    rf"{_WORDS}|methods?|functions?|class(?:es)?|files?|imports?|logic|tests?|fields?|the|this|of|is|"
    r"are|as|and|all|here|it|in|to|for|brevity|no|changes?|not|shown|goes|above|below|before|they|"
    r"everything|else|your|my|our|current|steps?|continues?",
    re.I,
)
_CODE = re.compile(r"[={}<>|&\\\[\]@$+?!]|\w\(")
_PLAIN = re.compile(
    r"(?:the )?(?:rest of\b|existing (?:code|implementation|content)\b|remaining code\b|"
    r"(?:code|rest) (?:(?:remains|stays|is) )?(?:the same|unchanged|omitted)\b|"
    r"unchanged(?: code)?$|omitted(?: for brevity)?$|same as before$|no changes?(?: here)?$)",
    re.I,
)
_SAYS_SAME = re.compile(r"as (?:before|above)|no changes? (?:above|below)", re.I)
_PLACEHOLDER = re.compile(r"pass\b|raise NotImplementedError\b|\.\.\.$|return NotImplemented\b")
_DOC_ENDS = ('"""', "'''")
_BARE = ("...", "…", "....", "[...]", "<...>", "(...)", "⋮", "⋮...")
_MAX_WORDS = 8
_BEFORE = " \t0123456789L[]()|│→:"


def is_marker(line: str) -> bool:
    """Tell whether the line may stand for lines that were left out."""
    return is_sure_marker(line) or stripped(line) in _BARE


def stands_for_others(line: str, flat: str) -> bool:
    """Tell whether the line is a mark, and no line of the file that looks like one."""
    return is_marker(line) and not (is_sure_marker(line) and stripped(line) in flat)


def is_sure_marker(line: str) -> bool:
    """Tell whether the line can hardly be anything else: it is a comment or says so."""
    sign, said = _read(line)
    if "..." not in said and "…" not in said:
        said = said.rstrip(".")
        return bool(sign and _PLAIN.match(said) and not _others_in(_WORD.findall(said)))
    match = _DOTS.fullmatch(said)
    if match is None:
        return False
    words = match["words"]
    if not words:
        return sign not in ("", "*", "%")
    # A sentence that only begins with dots is a comment like any other.
    is_short = len(words) <= 80 and (len(words.split()) <= 8 or said.endswith("."))
    if not is_short or not re.search(rf"\b{_WORDS}\b", words, re.I):
        return False
    # Without a comment's sign dots are code as well: they spread, collect or continue something.
    likeness = _PROSE if match["gap"] else _TELLING
    return bool(sign or match["end"] or likeness.fullmatch(words))


def _read(line: str) -> tuple[str, str]:
    """Return the sign that makes a line a comment, '' for none, and what it says."""
    body = stripped(line).replace(". . .", "...").replace("⋮", "…")
    match = _REMARK.fullmatch(body)
    return (match["sign"], match["said"].strip(_FRAME)) if match else ("", body.strip(_FRAME))


def added_markers(old: Sequence[str], new: Sequence[str], flat: str) -> list[int]:
    """Return the numbers of new lines that are marks of the new text alone.

    A comment may read like a mark, and ``...`` is a statement too, in Python: where no line
    vanishes, nothing was left out.
    """
    doubtful = {
        number: is_marker(line)
        for number, line in enumerate(new)
        if not is_sure_marker(line) and (is_marker(line) or _is_like_a_mark(line))
    }
    lost = _vanished(old, new, doubtful)
    found: list[int] = []
    for number, line in enumerate(new):
        if number not in doubtful:
            is_mark = is_sure_marker(line) and line not in flat
        elif doubtful[number]:
            is_mark = not _is_statement(new, number, lost[number])
        else:
            is_mark = _are_left_out(lost[number])
        if is_mark and not (_is_known(old, stripped(line)) or _is_doctest(new, number)):
            found.append(number)
    return found


def leaves_out(old: str, new: str) -> bool:
    """Tell whether a text that is given as a whole has a mark where old lines would vanish."""
    olds, news = old.split("\n"), new.split("\n")
    marks = added_markers(olds, news, old)
    return any(len(lost) > 1 for lost in _vanished(olds, news, marks).values())


def _is_known(old: Sequence[str], mark: str) -> bool:
    """Tell whether the old text has the mark too, perhaps with a line number copied before it."""
    return any(
        line.rstrip().endswith(mark) and not line.rstrip()[: -len(mark)].strip(_BEFORE)
        for line in old
    )


def _is_like_a_mark(line: str) -> bool:
    """Tell whether a comment, or what is set off by brackets, says little but that code stays."""
    sign, said = _read(line)
    words = _WORD.findall(said)
    is_apart = sign not in ("", "*", "%") or stripped(line)[:1] in ("[", "<", "(")
    if not is_apart or len(words) > _MAX_WORDS:
        return False
    if _SAYS_SAME.fullmatch(said.rstrip(".")):
        return True
    kept = sum(bool(_SAYS_KEPT.fullmatch(word)) for word in words)
    return kept > _others_in(words) and not _CODE.search(said)


def _others_in(words: Sequence[str]) -> int:
    """Return how many words would be no mark's."""
    return sum(not _SAYS_LITTLE.fullmatch(word) for word in words)


def _are_left_out(lines: Sequence[str]) -> bool:
    """Tell whether these lines make a mark of a comment: one other comment is what it rewords."""
    return len(lines) > 1 or any(not _read(line)[0] for line in lines)


def _vanished(
    old: Sequence[str], new: Sequence[str], numbers: Collection[int]
) -> dict[int, list[str]]:
    """Return by its number the old lines in whose place each of these new ones stands, and no other
    new one.
    """
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
    """Tell whether the dots continue an example that Python's prompt begins above them."""
    above = (stripped(line) for line in reversed(new[: number + 1]))
    first = next((line for line in above if not line.startswith("...")), "")
    return stripped(new[number]).startswith("...") and first.startswith(">>>")


def _is_statement(new: Sequence[str], number: int, lost: Sequence[str]) -> bool:
    before = next((stripped(line) for line in reversed(new[:number]) if stripped(line)), "")
    is_all = not any(stripped(line) for at, line in enumerate(new) if at != number)
    is_body = before.endswith((":", *_DOC_ENDS, "= (", "[", ","))
    # A mark for all of the old text would change nothing.
    is_free = not lost or (len(lost) == 1 and (is_all or _PLACEHOLDER.match(stripped(lost[0]))))
    is_alone = is_body and not _goes_on(new, number)
    return stripped(new[number]) == "..." and (is_alone or is_all) and bool(is_free)


def _goes_on(new: Sequence[str], number: int) -> bool:
    """Tell whether more follows in what the line is in, which no block or list with it has."""
    below = next((line for line in new[number + 1 :] if stripped(line)), "")
    return len(indent_of(below)) >= len(indent_of(new[number])) and bool(below)


def is_stub(new: Sequence[str], number: int) -> bool:
    """Tell whether the line is ``...`` and all that a block has: its body, or a mark for it."""
    above, below = (
        next((line for line in lines if stripped(line)), "")
        for lines in (reversed(new[:number]), new[number + 1 :])
    )
    mark = len(indent_of(new[number]))
    is_inner = len(indent_of(above)) < mark or stripped(above).endswith(_DOC_ENDS)
    begins = stripped(above).endswith((":", *_DOC_ENDS))
    return stripped(new[number]) == "..." and begins and is_inner and len(indent_of(below)) < mark
