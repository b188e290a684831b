"""Other ways to read what the model wrote: with what does not belong into the text undone.

Owns line numbers copied from a listing, HTML entities, escapes that were written twice, and code
fences. Whatever is undone in the old text is undone in the new one, and nothing is that the file
itself contains.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from agent_ls.edits.keys import BLANKS, stripped

_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|apos|nbsp|#\d{2,6}|#x[0-9a-fA-F]{2,5});")
_ESCAPE = re.compile(r'\\[\\"\'ntr/`$]')
_PAIR = re.compile(r"\\.")
_NO_JSON = re.compile(r"(?<!\\)(?:\\\\)*\\[^\\\"/bfnrtu]")
_NUMBERED = re.compile(r"^[ \t]{0,8}[L\[]?(\d{1,7})(?:\t| ?[|│→:]|[)\]] | {2})")
_SPACED = re.compile(r"^[ \t]{0,8}L?\d{1,7} ?[|│→:](?: |$)")
_BARE_NUMBER = re.compile(r"^[ \t]{0,8}[L\[]?(\d{1,7})([|│→:\]]?)[ \t]*$")
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
    """Yield the readings that the texts allow; those that change nothing are left out."""
    numbered = _without_numbers(flat, old, new)
    if numbered is not None:
        yield numbered
    fenced = _without_fences(flat, old, new)
    if fenced is not None:
        yield fenced
    entities = set(_ENTITY.findall(old))
    if entities and not any(one in flat for one in entities | set(_ENTITY.findall(new))):
        yield Reading(_without_entities(old), _without_entities(new), group=2)
    yield from _without_escapes(flat, old, new)


def plainly_indented(flat: str, old: str, new: str) -> tuple[str, str]:
    """Return the texts with plain blanks for others that indent them, if the file has no such."""
    wide = set("".join(_WIDE_INDENT.findall(old))) - set(" \t")
    if not wide or any(char in flat for char in wide):
        return old, new
    return (
        _WIDE_INDENT.sub(lambda match: match.group().translate(_NARROW), old),
        _WIDE_INDENT.sub(lambda match: match.group().translate(_NARROW), new),
    )


def _without_entities(text: str) -> str:
    # HTML also knows entities without an end, which plain text is full of.
    return _ENTITY.sub(lambda match: html.unescape(match.group()), text)


def _without_escapes(flat: str, old: str, new: str) -> Iterator[Reading]:
    is_one_line = "\n" not in old.strip("\n")
    tables = [_ONLY_QUOTES, _LITERALS]
    if is_one_line and "\\n" in old:
        # Where no quote goes without its backslash, all of the text was written as in JSON.
        bare = _PAIR.sub("", old + new)
        is_json = not _NO_JSON.search(old + new) and '"' not in bare and "\n" not in new.strip("\n")
        tables = [_CONTROLS] if is_json else [_CONTROLS, _ONLY_CONTROLS]
    seen: set[tuple[str, str]] = set()
    for table in tables:
        undone = {one for one in _ESCAPE.findall(old + new) if one[1] in table}
        in_old = {one for one in _ESCAPE.findall(old) if one[1] in table}
        if not in_old or any(one in flat for one in undone):
            continue
        pair = (_unescaped(old, table), _unescaped(new, table))
        if pair not in seen and pair[0] != old:
            seen.add(pair)
            yield Reading(*pair, group=3)


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
    if _has_numbers(flat, solid[0]) or any(line in flat for line in solid[:3]):
        return None
    kept = _unnumbered(old)
    is_spaced = all(_SPACED.match(line) for line in solid)
    if is_spaced and (_stands(flat, _unnumbered(old, is_spaced=True)) or not _stands(flat, kept)):
        # The separator has a blank of its own where no line goes without it.
        bare = [_unnumbered(text, is_spaced=True) for text in (old, new)]
    else:
        bare = [kept, _unnumbered(new)]
    return Reading(*bare, line=numbers[0], group=1)


def _stands(flat: str, text: str) -> bool:
    """Tell whether the file has these whole lines."""
    return f"\n{text}\n" in f"\n{flat}\n"


def _has_numbers(flat: str, line: str) -> bool:
    """Tell whether the file has lines that begin like this one by themselves."""
    match = _NUMBERED.match(line)
    if match is None:
        return False
    mark = re.escape(line[match.end(1) : match.end()].strip(" ") or " ")
    return bool(re.search(rf"^[ \t]{{0,8}}[L\[]?\d{{1,7}} ?{mark}", flat, re.M))


def _number_of(line: str) -> tuple[int, int] | None:
    match = _NUMBERED.match(line) or _BARE_NUMBER.match(line)
    return (int(match.group(1)), match.end()) if match else None


def _unnumbered(text: str, *, is_spaced: bool = False) -> str:
    """Return the text without its numbers, and without the blank that parts them from the rest."""
    lines = text.split("\n")
    # New text is often half copied: a number only goes where a separator proves it.
    is_all = all(_number_of(line) for line in lines if stripped(line))
    found: list[str] = []
    for line in lines:
        match = _NUMBERED.match(line) or (_BARE_NUMBER.match(line) if is_all else None)
        bare = line[match.end() :] if match else line
        found.append(bare.removeprefix(" ") if match and is_spaced else bare)
    return "\n".join(found)


def _without_fences(flat: str, old: str, new: str) -> Reading | None:
    if "```" in flat or "~~~" in flat:
        return None
    inner = _inside_fence(old)
    return None if inner is None else Reading(inner, _inside_fence(new) or new)


def _inside_fence(text: str) -> str | None:
    lines = text.strip("\n").split("\n")
    if len(lines) < 3 or not _FENCE.match(lines[0]) or lines[-1] not in ("```", "~~~"):
        return None
    return "\n".join(lines[1:-1])
