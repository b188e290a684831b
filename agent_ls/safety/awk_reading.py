"""Whether an awk program only reads its input and prints: every token of it is known.

A program could run commands (system, pipes, getline), write (output to a file) and read anything
(getline, ARGV). None of their words and signs is let through, wherever it stands.
"""

from __future__ import annotations

import re

from agent_ls.safety.flags import words

_MAX_CHARS = 500
_FUNCTIONS = words(
    "length substr index split sub gsub match sprintf tolower toupper int sqrt exp log sin cos "
    "atan2 rand srand"
)
_WORDS = words(
    "BEGIN END if else for in break continue next exit delete print printf NR NF FNR FS "
    "OFS ORS RS RSTART RLENGTH SUBSEP FILENAME IGNORECASE"
)
_TOKEN = re.compile(
    r"""(?P<blank>[ \t]+|\#[^\n]*)|(?P<name>[A-Za-z_]\w*)|(?P<number>\d+(?:\.\d+)?)
    |(?P<text>"(?:[^"\\\n]|\\.)*")|(?P<sign>\+\+|--|&&|\|\||[-+*%^=!<>]=|!~|[-+*%^=!<>~?:,;$(){}\[\]\n])
    |(?P<slash>/)""",
    re.VERBOSE | re.ASCII,
)
_REGEX = re.compile(r"/(?:[^/\\\[\n]|\\.)+/")
"""Without brackets, in which awks differ about a slash; those are read apart."""
_REGEX_WITH_SETS = re.compile(r"/(?:[^/\\\[\n]|\\.|\[\^?(?:\[:[a-z]+:\]|[^\]\[/\\\n])+\])+/")
_ENDLESS = re.compile(r"\(\s*;|;\s*;|;\s*\)")
_BEFORE_OPERAND = frozenset({"", "~", "!~", "!", "(", ",", "{", ";", "&&", "||", "\n", "}"})
"""A slash behind these begins a pattern; behind names, numbers and ] it divides."""


def is_plain_awk(program: str) -> bool:
    """Say whether this program can do nothing but compute and print."""
    if not program.strip() or len(program) > _MAX_CHARS or _ENDLESS.search(program):
        return False
    return _Reader(program).is_plain()


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._before = ""
        self._kind = ""
        self._open: list[str] = []
        self._prints = False

    def is_plain(self) -> bool:
        while self._at < len(self._text):
            if not self._token():
                return False
        return not self._open

    def _token(self) -> bool:
        found = _TOKEN.match(self._text, self._at)
        if found is None:
            return False
        kind, value = found.lastgroup or "", found[0]
        if kind == "slash":
            return self._slash()
        self._at = found.end()
        if kind == "blank":
            return True
        known = self._is_known(kind, value)
        self._before, self._kind = value, kind
        return known

    def _slash(self) -> bool:
        if self._before in _BEFORE_OPERAND:
            found = _REGEX.match(self._text, self._at) or _REGEX_WITH_SETS.match(
                self._text, self._at
            )
            if found is None:
                return False
            self._at = found.end()
            self._before, self._kind = "regex", "text"
            return True
        divides = self._kind in ("name", "number") and self._before not in _WORDS - {"NR", "NF"}
        self._at += 1
        self._before, self._kind = "/", "sign"
        return divides

    def _is_known(self, kind: str, value: str) -> bool:
        match kind:
            case "name":
                return self._is_known_name(value)
            case "sign":
                return self._is_known_sign(value)
            case _:
                return True

    def _is_known_name(self, name: str) -> bool:
        calls = self._text[self._at :].lstrip(" \t").startswith("(")
        if name in ("print", "printf"):
            # A loop's head may hold one too, and there > writes within parentheses.
            self._prints = True
        if name in _FUNCTIONS or name in _WORDS:
            return True
        # A name of one's own, never called; capitals have a meaning, and getline needs no call.
        return name.islower() and not calls and name not in _FORBIDDEN

    def _is_known_sign(self, sign: str) -> bool:
        if sign in ";\n{}":
            self._prints = False
        if sign in "([{":
            self._open.append(sign)
        elif sign in ")]}":
            if not self._open or self._open.pop() != {")": "(", "]": "[", "}": "{"}[sign]:
                return False
        elif sign == ">":
            # Behind print it would write to a file.
            return not self._prints and ("(" in self._open or "{" not in self._open)
        return True


_FORBIDDEN = words(
    "getline system close fflush function func nextfile switch case default include load namespace "
    "eval while do"
)
