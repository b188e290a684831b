"""Exact search and replace: each old text stands exactly once, or the edit is refused.

Pure: text and wishes in, replacements or a refusal out. Several edits of one call are all or
nothing, each found in the text as it was, so their order does not matter. Of white space only
CRLF and LF count as equal, because a model never sees which of them a file has.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from agent_ls.domain.edits import Replacement
from agent_ls.edits.candidates import Candidate, nearest
from agent_ls.edits.lines import FlatText, LineIndex, split_lines
from agent_ls.edits.minimal import changes, in_source

_MAX_SHOWN = 5
_MAX_DIFF_LINES = 16
_MAX_LINE_CHARS = 160
_MAX_PLACES = 1_000
_MIN_APPLIED_CHARS = 8
"""A shorter new text may stand anywhere by chance."""


@dataclass(frozen=True, slots=True)
class Wish:
    """Replace ``old`` by ``new``."""

    old: str
    new: str
    line: int | None = None
    """1-based hint for the first line of ``old``: breaks ties, never overrules a unique place."""
    replace_all: bool = False


@dataclass(frozen=True, slots=True)
class Refused:
    """Why nothing is changed, in words a model can act on."""

    reason: str


@dataclass(frozen=True, slots=True)
class _Span:
    """Where one wish is carried out, in the flat text."""

    start: int
    end: int
    wish: Wish
    number: int
    """1-based, of the wish."""


def place(text: str, wishes: Sequence[Wish]) -> tuple[Replacement, ...] | Refused:
    """Return the sorted replacements that carry out all wishes, or why none is carried out.

    Shape: only what differs is replaced, so that lines which stay keep their bytes.
    """
    flat = FlatText(text)
    spans: list[_Span] = []
    for number, wish in enumerate(wishes, 1):
        found = _spans(flat, _flattened(flat, wish), number)
        if isinstance(found, Refused):
            which = f"Edit {number} of {len(wishes)}: " if len(wishes) > 1 else ""
            return Refused(which + found.reason)
        spans += found
    spans.sort(key=lambda span: (span.start, span.end))
    for one, other in pairwise(spans):
        if other.start < one.end or (one.start, one.end) == (other.start, other.end):
            line = LineIndex(flat.text).line_of(other.start)
            return Refused(
                f"Edits {one.number} and {other.number} overlap at line {line}. "
                "Join them into one edit."
            )
    return tuple(
        in_source(flat, *change)
        for span in spans
        for change in changes(flat.text[span.start : span.end], span.wish.new, span.start)
    )


def _flattened(flat: FlatText, wish: Wish) -> Wish:
    """Return the wish without CRLF, which the file's own line ends replace."""
    return Wish(
        wish.old.replace("\r\n", "\n"),
        wish.new.replace("\r\n", "\n"),
        wish.line,
        wish.replace_all,
    )


def _spans(flat: FlatText, wish: Wish, number: int) -> list[_Span] | Refused:
    if wish.old == wish.new:
        return Refused("old_string and new_string are equal, so there is nothing to change.")
    if not wish.old.strip():
        if flat.text.strip():
            return Refused(
                "old_string is empty or blank. Give the text to replace, or write_file to "
                "replace the whole file."
            )
        return [_Span(0, len(flat.text), wish, number)]
    places = _places(flat.text, wish.old, apart=wish.replace_all)
    if not places:
        return Refused(_not_found(flat.text, wish))
    if len(places) > 1 and not wish.replace_all:
        chosen = _by_hint(flat.text, places, wish.line)
        if chosen is None:
            return Refused(_ambiguous(flat.text, places, wish))
        places = [chosen]
    return [_Span(at, at + len(wish.old), wish, number) for at in places]


def _places(text: str, old: str, *, apart: bool) -> list[int]:
    """Return where ``old`` begins: all places, or from the start those that do not overlap."""
    step = len(old) if apart else 1
    places: list[int] = []
    at = text.find(old)
    while at >= 0 and (apart or len(places) < _MAX_PLACES):
        places.append(at)
        at = text.find(old, at + step)
    return places


def _by_hint(text: str, places: list[int], line: int | None) -> int | None:
    """Return the one place nearest to the hinted line; None without a hint or with a tie."""
    if line is None:
        return None
    index = LineIndex(text)
    ranked = sorted((abs(index.line_of(at) - line), at) for at in places)
    return None if ranked[0][0] == ranked[1][0] else ranked[0][1]


def _ambiguous(text: str, places: list[int], wish: Wish) -> str:
    index, lines = LineIndex(text), split_lines(text)
    numbers = [index.line_of(at) for at in places]
    shown = "".join(f"\n{number:>6}: {_cut(lines[number - 1])}" for number in numbers[:_MAX_SHOWN])
    count = f"{len(places)}" if len(places) < _MAX_PLACES else f"at least {_MAX_PLACES}"
    more = f"\n  and {len(places) - _MAX_SHOWN} more" if len(places) > _MAX_SHOWN else ""
    hint = "" if wish.line is None else f" Line {wish.line} is equally near to two of them."
    return (
        f"old_string stands {count} times, beginning in these lines:{shown}{more}\n"
        f"Add surrounding lines until it is unique, give `line`, or set replace_all.{hint}"
    )


def _not_found(text: str, wish: Wish) -> str:
    """Say what was looked for, what comes nearest, and what to do."""
    new = wish.new.strip()
    if len(new) >= _MIN_APPLIED_CHARS and wish.new in text:
        line = LineIndex(text).line_of(text.index(wish.new))
        return (
            f"old_string is not in the file, and new_string already is, at line {line}: the "
            "edit seems to be applied already. Read the file before going on."
        )
    found = nearest(text, wish.old)
    if not found:
        return (
            f"old_string, which begins with {_cut(wish.old.strip().splitlines()[0])!r}, is not in "
            "the file, nor anything like it. Read the file again."
        )
    best, *others = found
    also = ", ".join(str(other.line) for other in others)
    return (
        f"old_string is not in the file exactly. The nearest text begins at line {best.line}"
        + (f" (others at {also})" if also else "")
        + f"; {_difference(best, wish.old)}"
    )


def _difference(best: Candidate, old: str) -> str:
    wanted = split_lines(old)
    diff = list(difflib.unified_diff(wanted, best.lines, lineterm="", n=1))[2:]
    shown = "\n".join(_cut(line) for line in diff[:_MAX_DIFF_LINES])
    left = f"\n({len(diff) - _MAX_DIFF_LINES} more)" if len(diff) > _MAX_DIFF_LINES else ""
    is_blank = [line.split() for line in wanted] == [line.split() for line in best.lines]
    only = "only white space differs" if is_blank else "it differs so"
    return (
        f"{only} (- old_string, + file):\n{shown}{left}\n"
        "Use the file's text exactly, white space included."
    )


def _cut(line: str) -> str:
    return line if len(line) <= _MAX_LINE_CHARS else line[:_MAX_LINE_CHARS] + "…"
