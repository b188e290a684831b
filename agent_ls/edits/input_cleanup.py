"""Other readings of what the model wrote, with artefacts removed.

Artefacts are line numbers copied from a listing, HTML entities, doubled escapes, and code fences.
What is removed from the old text is removed from the new text too. Nothing is removed that the
file itself contains.
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
"""Start of a line without a number among numbered lines."""
_WIDE = "".join(BLANKS)
_WIDE_INDENT = re.compile(rf"^[ \t]*[{_WIDE}][ \t{_WIDE}]*", re.M)
_NARROW = str.maketrans(BLANKS)
_FENCE = re.compile(r"^(```|~~~)[\w.+-]*$")
_PLAIN = {**{one: one for one in "\\\"'/`$"}, "n": "\n", "t": "\t", "r": ""}
_AS_JSON = {"\\\\", '\\"'}


@dataclass(frozen=True, slots=True)
class Reading:
    """One reading of the old and the new text."""

    old: str
    new: str
    line: int | None = None
    """The number that the first line carried."""
    is_doubtful: bool = False
    """The new text has escapes or entities that may be intended."""


def readings(flat: str, old: str, new: str) -> Iterator[Reading]:
    """Yield the possible readings; those that change nothing are omitted.

    Fences and line numbers come off first, then entities and escapes. Use the first reading whose
    old text is in the file.
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
    """Remove the fence and the line numbers from the texts."""
    fenced = _without_fences(flat, given) or given
    return _without_numbers(flat, fenced.old, fenced.new) or fenced


def is_escaped(line: str, there: str) -> bool:
    """Tell whether a line equals the file's line except for added backslashes."""
    return line != there and _unescaped(line, set(_ESCAPE.findall(line)) - {"\\n"}) == there


def plainly_indented(flat: str, old: str, new: str) -> tuple[str, str]:
    """Replace special blanks (such as no-break spaces) in indentation, if the file has none."""
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
    # Unescape only complete entities: HTML also accepts them without ";", as in plain "&copy".
    old, new = (
        _ENTITY.sub(lambda match: html.unescape(match.group()), text)
        for text in (given.old, given.new)
    )
    others = set(_ENTITY.findall(given.new)) - entities
    return replace(given, old=old, new=new, is_doubtful=any(one in flat for one in others))


def _without_escapes(flat: str, given: Reading) -> Iterator[Reading]:
    """Yield the texts without the old text's escapes: all of them, or those that the file lacks."""
    old, new = given.old, given.new
    in_old, in_new = (set(_ESCAPE.findall(text)) for text in (old, new))
    is_json = "\n" not in old.strip("\n") and "\\n" in in_old
    if is_json:
        # If every quote is escaped, the whole text was JSON-encoded; else it is doubtful.
        bare = _PAIR.sub("", old + new)
        is_plain = _NO_JSON.search(old + new) or '"' in bare or "\n" in new.strip("\n")
        yield replace(
            given, old=_unescaped(old, in_old), new=_unescaped(new, in_old | in_new),
            is_doubtful=bool(is_plain),
        )  # fmt: skip
    literal = {one for one in in_old if one[1] not in "ntr"}
    here = {one for one in literal if one in flat}
    for some in dict.fromkeys(map(frozenset[str], (literal, literal - here))):
        # A model that escapes a backslash or quote may have escaped these too.
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
    """Remove line numbers, if every old line has one and they increase; else None."""
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
    # The separator may include a blank, or may have taken the first one of the indentation.
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
        # The start of an added line may be code or part of the numbering: refuse to guess.
        return None
    # A number alone on its line is a line number only if all lines have one, or the old text
    # has the same line.
    bare = {line for line in listed if is_all or _NUMBERED.match(line) or line in lines}
    kept_new = (_bare(line, shift) if line in bare else line for line in new.split("\n"))
    return Reading(kept, "\n".join(kept_new), line=numbers[0])


def _stands(flat: str, text: str) -> bool:
    """Tell whether the file has exactly these lines."""
    return "\n{}\n".format(text.strip("\n")) in f"\n{flat}\n"


def _has_numbers(flat: str, match: re.Match[str]) -> bool:
    """Tell whether the file itself has lines that begin with a number and this separator."""
    mark = re.escape(match.string[match.end(1) : match.end()].strip(" ") or " ")
    return bool(re.search(rf"^[ \t]{{0,8}}[L\[]?\d{{1,7}} ?{mark}", flat, re.M))


def _number_of(line: str) -> re.Match[str] | None:
    return _NUMBERED.match(line) or _BARE_NUMBER.match(line)


def _mark(match: re.Match[str]) -> str:
    """Return the separator behind a line number, a tab as a blank; maybe '' if nothing follows."""
    if match.re is _BARE_NUMBER:
        return match[2]
    return match.string[match.end(1) : match.end()].strip(" \t") or " "


def _bare(line: str, shift: int) -> str:
    """Return a line without its number, with one blank more (shift -1) or fewer (shift 1)."""
    match = _number_of(line)
    if match is None:
        return line
    end = match.end()
    if shift < 0 and line[end - 1 : end] == " " and stripped(line[end:]):
        end -= 1
    return line[end:].removeprefix(" " if shift > 0 else "")


def _without_fences(flat: str, given: Reading) -> Reading | None:
    """Remove a fence around the texts; None if there is none or the file has such a line."""
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
