"""Other ways to read what the model wrote: with what does not belong into the text undone.

Owns line numbers copied from a listing, HTML entities, escapes that were written twice, and code
fences. Whatever is undone in the old text is undone in the new one, and nothing is that the file
itself contains.
"""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from agent_ls.edits.keys import BLANKS, stripped

_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|apos|nbsp|#\d{2,6}|#x[0-9a-fA-F]{2,5});")
_ESCAPE = re.compile(r'\\[\\"\'ntr/`$]')
_PAIR = re.compile(r"\\.")
_NO_JSON = re.compile(r"(?<!\\)(?:\\\\)*\\[^\\\"/bfnrtu]")
_NUMBERED = re.compile(r"^[ \t]{0,8}[L\[]?(\d{1,7})(?:\t| ?[|│→:]|[)\]] | {2})")
_SPACED = re.compile(r"^[ \t]{0,8}L?\d{1,7} ?[|│→:](?: |$)")
_BARE_NUMBER = re.compile(r"^[ \t]{0,8}[L\[]?(\d{1,7})([|│→:)\]]?)[ \t]*$")
_GUTTER = re.compile(r"^[ \t]+[|│→:)\]]")
"""What a line without a number begins with among numbered ones."""
_WIDE = "".join(BLANKS)
_WIDE_INDENT = re.compile(rf"^[ \t]*[{_WIDE}][ \t{_WIDE}]*", re.M)
_NARROW = str.maketrans(BLANKS)
_FENCE = re.compile(r"^(```|~~~)[\w.+-]*$")
_PLAIN = {**{one: one for one in "\\\"'/`$"}, "n": "\n", "t": "\t", "r": ""}
_AS_JSON = {"\\\\", '\\"'}


@dataclass(frozen=True, slots=True)
class Reading:
    """Old and new text as they may have been meant."""

    old: str
    new: str
    line: int | None = None
    """The number that the first line carried."""
    is_doubtful: bool = False
    """The new text has escapes or entities of which nobody can say whether they are meant."""


def readings(flat: str, old: str, new: str) -> Iterator[Reading]:
    """Yield the readings that the texts allow; those that change nothing are left out.

    What is wrapped around the lines comes off first, then what was done to their characters. The
    first one whose old text is in the file is the one that was meant.
    """
    given = Reading(old, new)
    bare = _unwrapped(flat, given)
    if bare != given:
        yield bare
    for one in dict.fromkeys((bare, given)):
        plain = _without_entities(flat, one)
        if plain != one:
            yield plain
            yield from _without_escapes(flat, plain)
        yield from _without_escapes(flat, one)


def _unwrapped(flat: str, given: Reading) -> Reading:
    """Return the texts without the fence and the line numbers around what they say."""
    fenced = _without_fences(flat, given) or given
    return _without_numbers(flat, fenced.old, fenced.new) or fenced


def is_escaped(line: str, there: str) -> bool:
    """Tell whether a line is one of the file's with backslashes that it has not."""
    return line != there and _unescaped(line, set(_ESCAPE.findall(line)) - {"\\n"}) == there


def unwrapped(code: str) -> str:
    """Return a definition without a fence around it and line numbers, which are in no code."""
    return _unwrapped("", Reading(code, code)).new


def plainly_indented(flat: str, old: str, new: str) -> tuple[str, str]:
    """Return the texts with plain blanks for others that indent them, if the file has no such."""
    wide = set("".join(_WIDE_INDENT.findall(old))) - set(" \t")
    if not wide or any(char in flat for char in wide):
        return old, new
    return (
        _WIDE_INDENT.sub(lambda match: match.group().translate(_NARROW), old),
        _WIDE_INDENT.sub(lambda match: match.group().translate(_NARROW), new),
    )


def _without_entities(flat: str, given: Reading) -> Reading:
    entities = set(_ENTITY.findall(given.old))
    if not entities:
        return given
    # HTML also knows entities without an end, which plain text is full of.
    old, new = (
        _ENTITY.sub(lambda match: html.unescape(match.group()), text)
        for text in (given.old, given.new)
    )
    others = set(_ENTITY.findall(given.new)) - entities
    return replace(given, old=old, new=new, is_doubtful=any(one in flat for one in others))


def _without_escapes(flat: str, given: Reading) -> Iterator[Reading]:
    """Yield the texts with the escapes of the old one undone: all, or those that the file lacks."""
    old, new = given.old, given.new
    in_old, in_new = (set(_ESCAPE.findall(text)) for text in (old, new))
    is_json = "\n" not in old.strip("\n") and "\\n" in in_old
    if is_json:
        # Where no quote goes without its backslash, all of the text was written as in JSON.
        bare = _PAIR.sub("", old + new)
        is_plain = _NO_JSON.search(old + new) or '"' in bare or "\n" in new.strip("\n")
        yield replace(
            given, old=_unescaped(old, in_old), new=_unescaped(new, in_old | in_new),
            is_doubtful=bool(is_plain),
        )  # fmt: skip
    literal = {one for one in in_old if one[1] not in "ntr"}
    here = {one for one in literal if one in flat}
    for some in dict.fromkeys(map(frozenset[str], (literal, literal - here))):
        # Who escapes one of these may escape the others as well.
        others = (in_new - some) & {"\\\\", '\\"', "\\n", "\\t"} if some & _AS_JSON else ()
        if some and not is_json:
            yield replace(
                given, old=_unescaped(old, some), new=_unescaped(new, some),
                is_doubtful=given.is_doubtful or bool(others),
            )  # fmt: skip


def _unescaped(text: str, some: Collection[str]) -> str:
    return _ESCAPE.sub(
        lambda match: _PLAIN[match[0][1]] if match[0] in some else match[0],
        text,
    )


def _without_numbers(flat: str, old: str, new: str) -> Reading | None:
    """Return the texts without line numbers, when every old line has one and they count up."""
    lines = old.split("\n")
    solid = [line for line in lines if stripped(line)]
    parsed = [match for line in solid if (match := _number_of(line))]
    numbers = [int(match[1]) for match in parsed]
    is_counting = all(below > above for above, below in pairwise(numbers))
    if not numbers or len(numbers) < len(solid) or not is_counting:
        return None
    is_near = numbers[-1] - numbers[0] <= 2 * len(lines)
    if not is_near or any(line in flat for line in solid[:3]) or _has_numbers(flat, parsed[0]):
        return None
    # The separator may have a blank of its own, or take the first one of the indentation.
    shifts = (1, 0, -1) if all(map(_SPACED.match, solid)) else (0, -1)
    texts = {shift: "\n".join(_bare(line, shift) for line in lines) for shift in shifts}
    shift = next((shift for shift in shifts if _stands(flat, texts[shift])), shifts[0])
    kept = texts[shift]
    last = numbers[-1] + new.count("\n") + 1
    marks = {_mark(match) for match in parsed}
    news = [line for line in new.split("\n") if stripped(line)]
    listed = [
        line
        for line in news
        if (match := _number_of(line))
        and numbers[0] <= int(match[1]) <= last
        and _mark(match) in {*marks, ""}
    ]
    is_all = len(listed) == len(news) and any(marks)
    own = kept.split("\n")
    has_own = any(map(_NUMBERED.match, own))
    unnumbered = [stripped(line)[0] for line in news if _GUTTER.match(line) and line not in own]
    is_gutter = not marks.isdisjoint(unnumbered)
    if is_gutter or (has_own and listed and not is_all):
        # What begins an added line may be code, or stand for a number.
        return None
    # A number alone in its line is one only where all lines have theirs, or the old text has it.
    bare = {line for line in listed if is_all or _NUMBERED.match(line) or line in lines}
    kept_new = (_bare(line, shift) if line in bare else line for line in new.split("\n"))
    return Reading(kept, "\n".join(kept_new), line=numbers[0])


def _stands(flat: str, text: str) -> bool:
    """Tell whether the file has these whole lines."""
    return "\n{}\n".format(text.strip("\n")) in f"\n{flat}\n"


def _has_numbers(flat: str, match: re.Match[str]) -> bool:
    """Tell whether the file has lines that begin like this one by themselves."""
    mark = re.escape(match.string[match.end(1) : match.end()].strip(" ") or " ")
    return bool(re.search(rf"^[ \t]{{0,8}}[L\[]?\d{{1,7}} ?{mark}", flat, re.M))


def _number_of(line: str) -> re.Match[str] | None:
    return _NUMBERED.match(line) or _BARE_NUMBER.match(line)


def _mark(match: re.Match[str]) -> str:
    """Return what parts a line's number from the rest, a tab as a blank; nothing behind a number
    that stands alone."""
    if match.re is _BARE_NUMBER:
        return match[2]
    return match.string[match.end(1) : match.end()].strip(" \t") or " "


def _bare(line: str, shift: int) -> str:
    """Return a line without its number, and with one blank less or more than behind that."""
    match = _number_of(line)
    if match is None:
        return line
    end = match.end()
    if shift < 0 and line[end - 1 : end] == " " and stripped(line[end:]):
        end -= 1
    return line[end:].removeprefix(" " if shift > 0 else "")


def _without_fences(flat: str, given: Reading) -> Reading | None:
    """Return the texts without a fence around them, if the file has no line like it."""
    inner, fence = _inside_fence(given.old), given.old.lstrip("\n")[:3]
    if not inner or re.search(rf"^[ \t]*{fence}(?!{fence[0]})", flat, re.M):
        return None
    new = _inside_fence(given.new)
    return replace(given, old=inner, new=given.new if new is None else new)


def _inside_fence(text: str) -> str | None:
    lines = text.strip("\n").split("\n")
    if len(lines) < 2 or not _FENCE.match(lines[0]) or lines[-1] not in ("```", "~~~"):
        return None
    return "\n".join(lines[1:-1])
