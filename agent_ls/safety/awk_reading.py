"""Whether an awk program only reads its input and prints.

A program could run commands (system, pipes, getline), write (output to a file) and read anything
(getline, ARGV). It is accepted only if every token is known to do none of that.
"""

from __future__ import annotations

import re

from agent_ls.safety.flags import words

_MAX_CHARS = 500
_KNOWN_NAMES = words(
    "BEGIN END NR NF FNR FS OFS ORS RS RSTART RLENGTH SUBSEP FILENAME IGNORECASE "
    "length substr index split sub gsub match sprintf tolower toupper int sqrt exp log sin cos "
    "atan2 rand srand if for in print printf exit"
)
_REFUSED_NAMES = words("getline system close fflush func function while do")
_TOKEN = re.compile(
    r"""(?P<blank>[ \t]+|\#[^\n]*)|(?P<name>[A-Za-z_]\w*)|(?P<number>\d+(?:\.\d+)?)
    |(?P<text>"(?:[^"\\\n]|\\.)*")|(?P<sign>\+\+|--|&&|\|\||[-+*%^=!<>]=|!~|[-+*%^=!<>~?:,;$(){}\[\]\n])
    |(?P<pattern>/(?:[^/\\\[\n]|\\.|\[\^?(?:\[:[a-z]+:\]|[^\]\[/\\\n])+\])+/)""",
    re.VERBOSE | re.ASCII,
)
_BEFORE_PATTERN = frozenset({"", "~", "!~", "!", "(", ",", "{", ";", "&&", "||", "\n", "}"})
"""After any other token a slash may be a division, so it is not read as a pattern."""


def is_plain_awk(program: str) -> bool:
    """Say whether this program only computes and prints."""
    if not program.strip() or len(program) > _MAX_CHARS:
        return False
    at, before, prints = 0, "", False
    while at < len(program):
        token = _TOKEN.match(program, at)
        if token is None:
            return False
        at, value = token.end(), token[0]
        match token.lastgroup:
            case "blank":
                continue
            case "name" if not _is_known(value, program[at:]):
                return False
            case "pattern" if before not in _BEFORE_PATTERN:
                return False
            # After print, > writes to a file; only a brace surely ends the statement.
            case "sign" if prints and value.startswith(">"):
                return False
            case _:
                before = value
        prints = value != "}" and (prints or value in ("print", "printf"))
    return True


def _is_known(name: str, rest: str) -> bool:
    """Say whether a name is a harmless word of awk, or a variable."""
    if name in _KNOWN_NAMES:
        return True
    is_called = rest.lstrip(" \t").startswith("(")
    # Names in capitals have a meaning for awk.
    return name.islower() and not is_called and name not in _REFUSED_NAMES
