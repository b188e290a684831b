"""Reads the calls in a text: those with marks of their own, and those that only look like calls.

Invariant: linear in the text's length, whatever a model prints.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise

from agent_ls.loop.printed.families import AROUND, FAMILIES, NEXT, TURN_END, Family
from agent_ls.loop.printed.values import READERS, Printed, json_calls, python_source

_MAX_CHARS = 1_000_000
_MAX_UNMARKED_CHARS = 200_000


@dataclass(frozen=True, slots=True)
class Marked:
    """A text that holds marks of calls outside of code."""

    text: str
    """The text without calls and marks."""
    calls: tuple[Printed, ...]
    """Empty if any of them is broken, or if the text goes on after them."""
    is_broken: bool
    """A call cannot be read, such as one that is cut off."""


@dataclass(slots=True)
class _Scan:
    """Where the calls and the marks of a text are."""

    calls: list[Printed] = field(default_factory=list[Printed])
    spans: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """The calls and marks, in order."""
    broken_at: int | None = None
    past_calls: int = 0
    """Where the last call ends."""


def read_marked(text: str) -> Marked | None:
    """Return what a text says beside its marked calls, and the calls; None: it holds no mark."""
    if len(text) > _MAX_CHARS:
        return None
    scan = _scan(text)
    if not scan.spans and scan.broken_at is None:
        return None
    end = len(text) if scan.broken_at is None else scan.broken_at
    kept = _without(text[:end], scan.spans)
    is_last = scan.broken_at is None and not _without_around(text[scan.past_calls :])
    calls = tuple(scan.calls) if is_last else ()
    return Marked(kept, calls, scan.broken_at is not None)


def without_calls(text: str) -> str:
    """Return the text without marked calls, and without what is left of one."""
    found = read_marked(text)
    return text if found is None else found.text


def read_unmarked(text: str) -> tuple[str, tuple[Printed, ...]] | None:
    """Return the calls at the end of a text that no special mark announces, and the text before.

    They stand in a code block, or are JSON or Python. They may as well be an example.
    """
    body = _without_turn_end(text)
    if not body or len(body) > _MAX_UNMARKED_CHARS:
        return None
    return _in_fences(body) or _bare(body)


def _scan(text: str) -> _Scan:
    scan = _Scan()
    at = 0
    has_fence = True
    while found := NEXT.search(text, at):
        kind = found.lastgroup or ""
        at = found.end()
        if kind == "fence":
            end = _fence_end(text, found) if has_fence else None
            # A block that is never closed hides nothing.
            has_fence, at = end is not None, end or at
        elif kind == "mark":
            scan.spans.append(found.span())
        elif kind != "code":
            family = FAMILIES[int(kind[1:])]
            end = _call_end(text, found.start(), family, scan.calls)
            if end is None:
                scan.broken_at = found.start()
                return scan
            scan.spans.append((found.start(), end))
            scan.past_calls = at = end
    return scan


def _call_end(text: str, at: int, family: Family, calls: list[Printed]) -> int | None:
    """Append the calls that begin here; return where they end, None if they are broken."""
    opened = family.opening.match(text, at)
    if opened is None:
        return None
    name = opened.groupdict().get("name") or ""
    content = READERS[family.reads](text, opened.end(), name, family.closing)
    if content is None:
        return None
    found, end = content
    calls += found
    blanks = _BLANKS.match(text, end)
    past = blanks.end() if blanks else end
    closed = family.closing.match(text, past) if family.closing is not None else None
    return closed.end() if closed else end


def _fence_end(text: str, opened: re.Match[str]) -> int | None:
    """Return where the code block ends that begins here; None if it is not closed."""
    bar = opened[0].strip()
    width = len(bar) - len(bar.lstrip(bar[0]))
    closing = re.compile(rf"^[ ]{{0,3}}{re.escape(bar[0])}{{{width},}}[ \t]*$", re.MULTILINE)
    closed = closing.search(text, opened.end())
    return closed.end() if closed else None


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    """Return the text without the spans and a turn's end."""
    inside = [(begin, end) for begin, end in spans if begin < len(text)]
    edges = [(0, 0), *inside, (len(text), len(text))]
    pieces = [text[end:begin].strip("\n") for (_, end), (begin, _) in pairwise(edges)]
    return _without_turn_end("\n".join(piece for piece in pieces if piece.strip()))


def _without_around(text: str) -> str:
    """Return the text without the marks and blanks at its beginning."""
    at = 0
    while match := AROUND.match(text, at):
        at = match.end()
    return text[at:]


def _without_turn_end(text: str) -> str:
    end = len(text.rstrip())
    while ended := TURN_END.search(text, max(0, end - _MAX_TURN_END), end):
        end = ended.start()
        while end and text[end - 1].isspace():
            end -= 1
    return text[:end]


def _in_fences(body: str) -> tuple[str, tuple[Printed, ...]] | None:
    """Read the code blocks that end the text, if all of them are calls."""
    calls: list[Printed] = []
    begin = len(body)
    for block in reversed(list(_BLOCK.finditer(body))):
        if body[block.end() : begin].strip():
            break
        found = _of_code(block["inner"], block["language"])
        if found is None:
            return None
        calls[:0] = found
        begin = block.start()
    return (body[:begin].rstrip(), tuple(calls)) if calls else None


def _of_code(code: str, language: str) -> tuple[Printed, ...] | None:
    """Return the calls that are all of a code block."""
    marked = read_marked(code)
    if marked is not None:
        return marked.calls if marked.calls and not marked.text else None
    if language in _PYTHON and (calls := python_source(code)):
        return calls
    if language not in _JSON:
        return None
    return _json(code.strip(), 0)


def _bare(body: str) -> tuple[str, tuple[Printed, ...]] | None:
    """Read JSON or a Python list from the first paragraph that begins like one."""
    begin = _BARE.search(body)
    if begin is None or not body.endswith(("]", "}")):
        return None
    at = begin.end()
    calls = _json(body, at)
    if calls is None and _PYTHON_LIST.match(body, at):
        calls = python_source(body[at:])
    return (body[:at].rstrip(), calls) if calls else None


def _json(text: str, at: int) -> tuple[Printed, ...] | None:
    """Return the calls from a place to the end of the text."""
    found = json_calls(text, at, "", None)
    return found[0] if found is not None and found[1] == len(text) else None


_BLANKS = re.compile(r"\s*")
_MAX_TURN_END = 64
_BLOCK = re.compile(
    r"^```(?P<language>\w*)[ \t]*\n(?P<inner>(?:(?!```).*\n)*?)```[ \t]*$", re.MULTILINE
)
_JSON = ("", "json", "tool", "tool_call", "tool_code")
_PYTHON = ("tool_code", "python", "py", "tool_call")
_BARE = re.compile(r"(?:\A|\n[ \t]*\n)[ \t]*(?=[\[{])")
_PYTHON_LIST = re.compile(r"\[\s*[A-Za-z_][\w.]*\(")
