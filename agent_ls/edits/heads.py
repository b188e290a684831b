"""Lines at which a block begins: which block it is, and what stands in it.

Owns when two such lines begin the same block; whether that is proved is for ``certainty``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from agent_ls.edits.changes import Change
from agent_ls.edits.indents import indent_of, width
from agent_ls.edits.keys import stripped

Head = Literal["", "beside", "same", "nameless", "another"]
"""No block begins at the line; one that holds no change; or one that holds one: of the same name,
without a name, or of another."""

_HEADER = re.compile(
    r"^(?:export |default |public |private |protected |static |async |pub |abstract |final |"
    r"inline |unsafe |template\b.*)*"
    r"(?:(?:def|class|function\*?|func|fn|struct|interface|enum|trait|impl|module|namespace|type)"
    r"(?=\s+[\w$(*&<])|(?:describe|it|test|section|case)\b(?!-|\s*[=.,]))"
)
_CALL = re.compile(r"(?:describe|it|test|section|case)\b")
_SECTION = re.compile(r"^\[.*\]$")
_IDENTITY = re.compile(r"^(?:WHERE\b|(?:- )?[\"']?(?:id|name|key)[\"']?[ \t]*[:=])")
"""A line by which one record is told from others like it."""
_HEAD = re.compile(
    r"^<\w|^- [\"']?[\w-]+[\"']?:|\bfunction\b|\)$|\b(?:do|then|begin|of|is|as)$|^[A-Z]+ \w+$"
)
_GOES_ON = re.compile(r"[.+&|?=*/]")
"""How a line begins that goes on with an expression, and opens no block."""
_HEADING = re.compile(r"^#{1,6} ")
_UNDERLINE = re.compile(r"^([=\-~^*#+])\1{2,}$")
_SETS = re.compile(
    r"(?!return\b)([^=:(,\"'`]*[\w\])]|[\"'][^\"']*[\"'])[ \t]*(?:[:+*/|&-]?=(?![=>])|:(?![:=]))"
)
"""What a line sets or names: ``x = 1``, ``"x": 1``."""
_DECLARES = re.compile(
    r"\b(?:def|class|function\*?|func|fn|struct|interface|enum|trait|type|module|namespace)\s+"
    r"(?:\([^)]*\)\s*)?([\w$.:~]*\w)"
)
_CONTROL = re.compile(
    r"\W|(?:if|else|elif|for|foreach|while|do|switch|match|try|catch|except|finally|with|unless|until|"
    r"when|loop|select|return|await|new)\b"
)
_FUNCTION = re.compile(r"(?:[\w<>\[\],.&*:?]+\s+)+[*&]?([\w~:]+)\(")
"""What has a type before its name."""
_NAMES = re.compile(r"\[|#|(?:describe|it|test|section|case)\b|[A-Z_]+\(")
"""How a line begins that tells of a block by more than a name, or by a text."""
_REMARK = re.compile(r"(?://|/\*|\*|#|--|<!--|@|\"\"\"|''')")
_OPENERS = ("{", "(", "[", ":")
_CLOSERS = {"{": "}", "(": ")", "[": "]"}


def names_a_place(line: str) -> bool:
    """Tell whether a block begins here: with another name it is another block."""
    if line.endswith(";") and not _CALL.match(line):
        return False
    return line.endswith(_OPENERS) or any(one.match(line) for one in (_HEADER, _SECTION, _IDENTITY))


def heads_a_block(line: str, below: Sequence[str]) -> bool:
    """Tell whether what follows belongs to the line: deeper, in braces, or under a heading."""
    after = next((one for one in below if stripped(one)), "")
    if stripped(after) == "{" or _UNDERLINE.match(after):
        return True
    if _HEADING.match(line):
        return not below or not stripped(below[0])
    is_deeper = bool(after) and width(indent_of(after)) > width(indent_of(line))
    return is_deeper and bool(_HEAD.search(stripped(line))) and not _GOES_ON.match(stripped(after))


def sets_another(line: str, now: str) -> bool:
    """Tell whether both lines set something, and not the same."""
    ours, theirs = _SETS.match(line), _SETS.match(now)
    return ours is not None and theirs is not None and ours[1] != theirs[1]


def sets_a_number(line: str) -> bool:
    """Tell whether a line sets a name to a number alone: the next version, or another port."""
    name = _SETS.match(line)
    return name is not None and not any(map(str.isalpha, line[name.end() :]))


def head_of(old: Sequence[str], number: int, changes: Sequence[Change], now: str | None) -> Head:
    """Return what an old line at which a block begins is to the changes, ``now`` being the file's
    line in its place, if it has one."""
    if not any(_holds(old, number, one) or _is_documented(old, number, one) for one in changes):
        return "beside"
    ours, theirs = (_name(stripped(one)) for one in (old[number], now or ""))
    if now is None or _NAMES.match(stripped(old[number])) or ours != theirs:
        return "another"
    return "same" if ours else "nameless"


def _name(line: str) -> str:
    """Return what a line declares or sets."""
    match = (
        _DECLARES.search(line)
        if _HEADER.match(line)
        else None
        if _CONTROL.match(line)
        else _FUNCTION.match(line) or _SETS.match(line)
    )
    return match[1] if match else ""


def _holds(old: Sequence[str], number: int, change: Change) -> bool:
    """Tell whether the block that begins at a line reaches down to a change."""
    if number >= change.low:
        return False
    line = stripped(old[number])
    lead, closer = width(indent_of(old[number])), _CLOSERS.get(line[-1:])
    is_open = bool(_SECTION.match(line) or _HEADING.match(line) or _IDENTITY.match(line))
    for row in range(number + 1, change.low):
        inner = stripped(old[row])
        deep = width(indent_of(old[row]))
        if _UNDERLINE.match(inner):
            is_open = True
        elif inner == "{" and closer is None:
            closer = "}"
        elif (
            inner
            and deep <= lead
            and not is_open
            and (deep < lead or closer is None or inner.startswith(closer))
        ):
            return False
    return True


def _is_documented(old: Sequence[str], number: int, change: Change) -> bool:
    """Tell whether a change is in what is said right above a block: remarks, decorators."""
    above = [*old[change.low : number], *change.new] if change.high <= number else []
    return bool(above) and all(_REMARK.match(stripped(line)) for line in above)
