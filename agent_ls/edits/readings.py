"""Other ways to read what the model wrote: with what does not belong into the text undone.

Owns line numbers copied from a listing, HTML entities, escapes that were written twice, and code
fences. Whatever is undone in the old text is undone in the new one, and nothing is that the file
itself contains.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from agent_ls.edits.keys import BLANKS, stripped

_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|apos|nbsp|#\d{2,6}|#x[0-9a-fA-F]{2,5});")
_ESCAPE = re.compile(r'\\[\\"\'ntr/`$]')
_PAIR = re.compile(r"\\.")
_NO_JSON = re.compile(r"(?<!\\)(?:\\\\)*\\[^\\\"/bfnrtu]")
_NUMBERED = re.compile(r"^[ \t]{0,8}[L\[]?(\d{1,7})(?:\t| ?[|│→:]|[)\]] | {2})")
_CODE = "|:)]"
"""What parts a number from its line, and begins lines of code as well."""
_INDENTED = re.compile(r"\t|  ")
_SPACED = re.compile(r"^[ \t]{0,8}L?\d{1,7} ?[|│→:](?: |$)")
_BARE_NUMBER = re.compile(r"^[ \t]{0,8}[L\[]?(\d{1,7})([|│→:)\]]?)[ \t]*$")
_WIDE = "".join(BLANKS)
_WIDE_INDENT = re.compile(rf"^[ \t]*[{_WIDE}][ \t{_WIDE}]*", re.M)
_NARROW = str.maketrans(BLANKS)
_FENCE = re.compile(r"^(```|~~~)[\w.+-]*$")
_LITERALS = {"\\": "\\", '"': '"', "'": "'", "/": "/", "`": "`", "$": "$"}
_CONTROLS = {**_LITERALS, "n": "\n", "t": "\t", "r": ""}
_ONLY_CONTROLS = {"n": "\n", "t": "\t"}
_ONLY_QUOTES = {'"': '"', "'": "'", "`": "`"}


@dataclass(frozen=True, slots=True)
class Reading:
    """Old and new text as they may have been meant."""

    old: str
    new: str
    line: int | None = None
    """The number that the first line carried."""
    group: int = 0
    """Readings of one group exclude each other: those that fit have to agree."""


def readings(flat: str, old: str, new: str) -> Iterator[Reading]:
    """Yield the readings that the texts allow; those that change nothing are left out.

    What is wrapped around the lines comes off first, then what was done to their characters.
    """
    given = Reading(old, new)
    bare = _unwrapped(flat, given)
    if bare != given:
        yield bare
    for group, one in enumerate(dict.fromkeys((bare, given))):
        plain = _without_entities(flat, one)
        if plain != one:
            yield replace(plain, group=4 * group + 2)
            yield from _without_escapes(flat, plain, 4 * group + 3)
        yield from _without_escapes(flat, one, 4 * group + 4)


def _unwrapped(flat: str, given: Reading) -> Reading:
    """Return the texts without the fence and the line numbers around what they say."""
    fenced = _without_fences(flat, given) or given
    return _without_numbers(flat, fenced.old, fenced.new) or fenced


def is_escaped(line: str, there: str) -> bool:
    """Tell whether a line is one of the file's with backslashes that it has not."""
    return line != there and "\\" in line and _unescaped(line, _LITERALS) == there


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
    if not entities or any(one in flat for one in entities | set(_ENTITY.findall(given.new))):
        return given
    # HTML also knows entities without an end, which plain text is full of.
    old, new = (
        _ENTITY.sub(lambda match: html.unescape(match.group()), text)
        for text in (given.old, given.new)
    )
    return replace(given, old=old, new=new)


def _without_escapes(flat: str, given: Reading, group: int) -> Iterator[Reading]:
    old, new = given.old, given.new
    is_one_line = "\n" not in old.strip("\n")
    tables = [_ONLY_QUOTES, _LITERALS]
    if is_one_line and "\\n" in old:
        # Where no quote goes without its backslash, all of the text was written as in JSON.
        bare = _PAIR.sub("", old + new)
        is_json = not _NO_JSON.search(old + new) and '"' not in bare and "\n" not in new.strip("\n")
        tables = [_CONTROLS] if is_json else [_CONTROLS, _ONLY_CONTROLS]
    seen: dict[tuple[str, str], None] = {}
    for table in tables:
        undone = _undone(flat, old, new, table)
        pair = (_unescaped(old, undone), _unescaped(new, undone))
        if pair not in seen and pair[0] != old:
            seen[pair] = None
            yield replace(given, old=pair[0], new=pair[1], group=group)
    if _ONLY_CONTROLS in tables and _is_plain(new):
        for one, _ in seen:
            yield replace(given, old=one, group=group)


def _is_plain(new: str) -> bool:
    """Tell whether a new text may be as it is where the old one has escaped line ends: it has line
    ends of its own, or an escaped one in quotes.
    """
    escaped = (match.start() for match in re.finditer(r"\\n", new))
    return "\n" in new.strip("\n") or any(new.count('"', 0, at) % 2 for at in escaped)


def _undone(flat: str, old: str, new: str, table: dict[str, str]) -> dict[str, str]:
    """Return what is undone by a table: the escapes of the old text that the file has not.

    Escaped line ends are undone with all that the table has, or not at all.
    """
    in_old, in_both = (
        {one[1] for one in _ESCAPE.findall(text) if one[1] in table} for text in (old, old + new)
    )
    there = {one for one in in_both if f"\\{one}" in flat}
    if "n" in table:
        return {} if there or not in_old else table
    chosen = in_old - there
    if '"' in chosen and table is _LITERALS:
        # Who escapes quotes as JSON does, does so with backslashes.
        chosen |= {"\\"} - there
    elif "\\" in chosen and '"' in in_both:
        # Nor does a backslash stand alone before a quote where others are doubled.
        chosen |= {'"'} - there
    return {one: table[one] for one in chosen}


def _unescaped(text: str, table: dict[str, str]) -> str:
    return _ESCAPE.sub(lambda match: table.get(match.group()[1], match.group()), text)


def _without_numbers(flat: str, old: str, new: str) -> Reading | None:
    """Return the texts without line numbers, when every old line has one and they count up."""
    lines = old.split("\n")
    solid = [line for line in lines if stripped(line)]
    parsed = [_number_of(line) for line in solid]
    if not solid or any(one is None for one in parsed):
        return None
    numbers = [one[0] for one in parsed if one is not None]
    if any(later <= sooner for sooner, later in pairwise(numbers)):
        return None
    if len(numbers) > 1 and numbers[-1] - numbers[0] > 2 * len(lines):
        return None
    kept = _unnumbered(old)
    if any(line in flat for line in solid[:3]):
        return None
    if _has_numbers(flat, solid[0]) and not _is_listed(
        flat, old.strip("\n").split("\n"), numbers[0]
    ):
        return None
    marks = {_mark(line) for line in solid} - {""}
    listing = _Listing(set(lines), marks, numbers[0], numbers[-1], _gutter(flat, solid))
    more = int(all(_SPACED.match(line) for line in solid))
    if more and _stands(flat, kept):
        # The separator has a blank of its own where no line goes without it.
        more = int(_stands(flat, _unnumbered(old, 1)))
    elif not more and not _stands(flat, kept) and _stands(flat, _unnumbered(old, -1)):
        # What looks like the separator's last blank is the first one of the indentation.
        more = -1
    kept = _unnumbered(old, more)
    bare_new = _unlisted(new, kept, listing, more)
    return None if bare_new is None else Reading(kept, bare_new, line=numbers[0], group=1)


@dataclass(frozen=True, slots=True)
class _Listing:
    """How the lines of the old text are numbered."""

    lines: set[str]
    marks: set[str]
    first: int
    last: int
    gutter: re.Pattern[str] | None
    """What added lines begin with where others have their number."""

    def has(self, line: str, most: int) -> bool:
        """Tell whether a line of the new text has a number of the listing, or of one behind it."""
        found = _number_of(line)
        is_near = found is not None and self.first <= found[0] <= self.last + most
        return is_near and _mark(line) in (*self.marks, "")

    def depth(self, line: str) -> int:
        """Return how many numbers a line begins with, each with a mark of the listing's."""
        count = 0
        while (found := _NUMBERED.match(line)) is not None and _mark(line) in self.marks:
            count, line = count + 1, line[found.end() :]
        return count


def _unlisted(new: str, old: str, listing: _Listing, more: int) -> str | None:
    """Return the new text without the listing's numbers: often it has them in some lines, or none.

    Shape: ``old`` has none any more; None where they may as well be numbers of the file itself, or
    what stands for one the beginning of code, such as that of another case.
    """
    lines = new.split("\n")
    solid = [line for line in lines if stripped(line)]
    own = {listing.depth(line) for line in old.split("\n") if stripped(line)}
    if own - {0} and solid:
        depths = {listing.depth(line) for line in solid}
        if max(depths) <= max(own) and (
            len(own) == 1 or not all(listing.has(line, len(lines)) for line in solid)
        ):
            return new
        if min(depths) <= min(own):
            return None
    # A number alone in its line is one only where all lines have theirs, and a mark proves it.
    numbered = [listing.has(line, len(lines)) for line in lines]
    is_all = sum(numbered) >= len(solid) and any(map(_mark, solid))
    found: list[str] = []
    for line, is_numbered in zip(lines, numbered, strict=True):
        bare = line
        if is_numbered and (is_all or _mark(line) or line in listing.lines):
            bare = _bare(line, more)
        elif any(numbered) and listing.gutter and (match := listing.gutter.match(line)):
            bare = _behind(line, match.end(), more)
            if line[match.end() - 1] in _CODE and stripped(bare) and not _INDENTED.match(bare):
                return None
        found.append(bare)
    return "\n".join(found)


def _gutter(flat: str, solid: Sequence[str]) -> re.Pattern[str] | None:
    """Return what a line of the listing begins with that has blanks for a number."""
    matches = [match for line in solid if (match := _NUMBERED.match(line))]
    signs = {match.string[match.end(1) : match.end()] for match in matches}
    if not all(sign.strip(" ") for sign in signs) or not matches:
        return None
    widths = [match.end(1) for match in matches]
    either = "|".join(map(re.escape, sorted(signs)))
    gutter = rf"^ {{{min(widths)},{max(widths)}}}(?:{either})"
    return None if re.search(gutter, flat, re.M) else re.compile(gutter)


def _stands(flat: str, text: str) -> bool:
    """Tell whether the file has these whole lines."""
    return "\n{}\n".format(text.strip("\n")) in f"\n{flat}\n"


def _has_numbers(flat: str, line: str) -> bool:
    """Tell whether the file has lines that begin like this one by themselves."""
    match = _NUMBERED.match(line)
    if match is None:
        return False
    mark = re.escape(line[match.end(1) : match.end()].strip(" ") or " ")
    return bool(re.search(rf"^[ \t]{{0,8}}[L\[]?\d{{1,7}} ?{mark}", flat, re.M))


def _is_listed(flat: str, lines: list[str], first: int) -> bool:
    """Tell whether the lines are some of the file's, each with the number that it has there."""
    there = flat.split("\n")[first - 1 :][: len(lines)]
    parsed = [_number_of(line) for line in lines]
    return len(there) == len(lines) > 1 and all(
        one is not None and one[0] == first + at and stripped(line[one[1] :]) == stripped(now)
        for at, (one, line, now) in enumerate(zip(parsed, lines, there, strict=True))
    )


def _number_of(line: str) -> tuple[int, int] | None:
    match = _NUMBERED.match(line) or _BARE_NUMBER.match(line)
    return (int(match.group(1)), match.end()) if match else None


def _mark(line: str) -> str:
    """Return what parts a line's number from the rest, a tab as a blank; nothing: no number, or it
    stands alone.
    """
    match = _NUMBERED.match(line)
    return "" if match is None else line[match.end(1) : match.end()].strip(" \t") or " "


def _unnumbered(old: str, more: int = 0) -> str:
    """Return the old text without its numbers and what parts it from them.

    Shape: ``more`` is 1 where a blank does too, and -1 where one of the indentation was taken for
    it.
    """
    return "\n".join(_bare(line, more) for line in old.split("\n"))


def _bare(line: str, more: int) -> str:
    found = _number_of(line)
    return line if found is None else _behind(line, found[1], more)


def _behind(line: str, end: int, more: int) -> str:
    if more < 0 and line[end - 1 : end] == " " and stripped(line[end:]):
        end -= 1
    return line[end:].removeprefix(" " if more > 0 else "")


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
