"""Read-only uses of programs that have a language of their own: find, sed, awk, jq, test, date, ps.

Each function returns the paths that would be read, or refuses. Only shapes that are plainly
harmless are let through; a clever script asks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from agent_ls.safety.flags import Options, options, parse, words


class NotPlainError(Exception):
    """More than plain reading; the message says what."""


Look = Callable[[Sequence[str]], list[str]]
"""Takes the arguments, returns the paths they read."""

_FIND_TEXT = words(
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -type -xtype -size "
    "-mtime -mmin -atime -amin -ctime -cmin -maxdepth -mindepth -user -group -perm -links -inum "
    "-lname -ilname -fstype -used -uid -gid -printf"
)
_FIND_PATH = frozenset({"-newer", "-anewer", "-cnewer", "-samefile"})
_FIND_BARE = words(
    "-empty -readable -writable -executable -not -a -o -and -or ! ( ) , -print -print0 -ls -prune "
    "-quit -depth -d -xdev -mount -true -false -daystart -nouser -nogroup -noleaf"
)


def _find(arguments: Sequence[str]) -> list[str]:
    rest = list(arguments)
    while rest and rest[0] == "-P":
        rest.pop(0)
    paths: list[str] = []
    while rest and not rest[0].startswith(("-", "(", "!", ",")):
        paths.append(rest.pop(0))
    while rest:
        word = rest.pop(0)
        if word in _FIND_BARE:
            continue
        if not rest:
            raise NotPlainError(f"find {word}")
        if word in _FIND_TEXT or re.fullmatch(r"-newer[aBcm]t", word):
            rest.pop(0)
        elif word in _FIND_PATH or re.fullmatch(r"-newer[aBcm][aBcm]", word):
            paths.append(rest.pop(0))
        else:
            raise NotPlainError(f"find {word}")
    return paths or ["."]


_SED = options("-nErsuz --quiet --silent --regexp-extended --separate --unbuffered --null-data "
               "-e: --expression:")  # fmt: skip
_SED_ADDRESS = r"(?:\d+|\$|/(?:[^/\\\n]|\\.)+/I?)"
_SED_RANGE = rf"{_SED_ADDRESS}(?:[ ]*,[ ]*(?:{_SED_ADDRESS}|[+~]\d+))?[ ]*!?[ ]*"
_SED_REPLACE = "|".join(
    rf"s{mark}(?:[^{mark}\\\n]|\\.)*{mark}(?:[^{mark}\\\n]|\\.)*{mark}[gpiI0-9]{{0,4}}"
    for mark in ("/", r"\|", "#", ",")
)
_SED_COMMAND = rf"[ ]*(?:{_SED_RANGE})?(?:[pdq=]|{_SED_REPLACE})[ ]*"
_SED_SCRIPT = re.compile(rf"{_SED_COMMAND}(?:;{_SED_COMMAND})*;?")
_MAX_SCRIPT_CHARS = 500


def _sed(arguments: Sequence[str]) -> list[str]:
    parsed = parse(arguments, _SED)
    scripts = parsed.given.get("-e", []) + parsed.given.get("--expression", [])
    files = parsed.operands
    if not scripts:
        scripts, files = files[:1], files[1:]
    for script in scripts:
        if len(script) > _MAX_SCRIPT_CHARS or not _SED_SCRIPT.fullmatch(script):
            raise NotPlainError(f"the sed script {script[:60]!r}")
    return files


_AWK = options("-F: --field-separator:")
_AWK_VALUE = r'(?:\$(?:\d+|NF|\(NF-\d+\))|NR|NF|FNR|FILENAME|length(?:\(\$\d+\))?|"[^"\\\n]*")'
_AWK_TEST = (
    r"(?:!?/(?:[^/\\\n]|\\.)*/|(?:\$\d+|NR|NF|FNR|length(?:\(\$\d+\))?)\s*(?:[=!<>]=|[<>]|!?~)\s*"
    r'(?:\d+|"[^"\\\n]*"|/(?:[^/\\\n]|\\.)*/))'
)
_AWK_ITEMS = rf"{_AWK_VALUE}(?:\s*,?\s*{_AWK_VALUE})*"
_AWK_PRINT = rf"\{{\s*print(?:\s+{_AWK_ITEMS})?\s*;?\s*\}}"
_AWK_SCRIPT = re.compile(
    rf"\s*(?:{_AWK_TEST}(?:\s*(?:&&|\|\|)\s*{_AWK_TEST})*)?\s*(?:{_AWK_PRINT})?\s*"
)


def _awk(arguments: Sequence[str]) -> list[str]:
    parsed = parse(arguments, _AWK)
    script, *files = parsed.operands or [""]
    if not script or len(script) > _MAX_SCRIPT_CHARS or not _AWK_SCRIPT.fullmatch(script):
        raise NotPlainError(f"the awk program {script[:60]!r}")
    if any(re.match(r"[A-Za-z_]\w*=", file) for file in files):
        raise NotPlainError("an assignment among awk's files")
    return files


_JQ = options(
    "-rcesnSCMaj --raw-output --compact-output --exit-status --slurp --null-input --sort-keys "
    "--color-output --monochrome-output --ascii-output --join-output --tab --raw-input -R "
    "--indent: --stream --seq"
)
_JQ_REACHES_OUT = re.compile(r"\b(?:import|include|env|input_filename|modulemeta)\b|\$ENV|\$__")


def _jq(arguments: Sequence[str]) -> list[str]:
    parsed = parse(arguments, _JQ)
    program, *files = parsed.operands or ["."]
    if _JQ_REACHES_OUT.search(program):
        raise NotPlainError("a jq program that reaches out")
    return files


_TEST_FILE = words("-f -d -e -s -r -w -x -L -h -b -c -p -S -g -u -k -O -G")
_TEST_TEXT = frozenset({"-z", "-n"})
_TEST_PAIR = words("= == != -eq -ne -lt -le -gt -ge")


def _test(arguments: Sequence[str]) -> list[str]:
    """Nothing that evaluates its words: no -v, no -R, no -t, no grouping."""
    match [*arguments]:
        case [operator, path] | ["!", operator, path] if operator in _TEST_FILE:
            return [path]
        case [operator, _] | ["!", operator, _] if operator in _TEST_TEXT:
            return []
        case [_, operator, _] | ["!", _, operator, _] if operator in _TEST_PAIR:
            return []
        case _:
            pass
    raise NotPlainError("this test")


def _printf(arguments: Sequence[str]) -> list[str]:
    if not arguments or arguments[0].startswith("-"):
        raise NotPlainError("an option of printf")
    return []


_DATE = options("-uRI? --utc --universal --rfc-email --iso-8601? -d: --date: --rfc-3339: "
                "-r@ --reference@")  # fmt: skip


def _date(arguments: Sequence[str]) -> list[str]:
    parsed = parse(arguments, _DATE)
    if any(not one.startswith("+") for one in parsed.operands):
        raise NotPlainError("date with a time to set")
    return parsed.paths


def _ps(arguments: Sequence[str]) -> list[str]:
    # The letter e without a dash, or more letters, would show the environments of processes.
    if tuple(arguments) not in ((), ("aux",), ("-ef",), ("-e",), ("-f",), ("-A",), ("ax",)):
        raise NotPlainError("ps with these options")
    return []


def _command(arguments: Sequence[str]) -> list[str]:
    if len(arguments) < 2 or arguments[0] not in ("-v", "-V"):
        raise NotPlainError("command, which runs its arguments")
    if not all(re.fullmatch(r"[\w.+-]+", one) for one in arguments[1:]):
        raise NotPlainError("command with a path")
    return []


_FD: Options = options(
    "-HIagpilu0 --hidden --no-ignore --absolute-path --glob --full-path --ignore-case "
    "--list-details --no-ignore-vcs --unrestricted --print0 --case-sensitive -s --fixed-strings -F "
    "-e: --extension: -t: --type: -d: --max-depth: --min-depth: --exact-depth: -E: --exclude: -S: "
    "--size: --changed-within: --changed-before: --color: -c: --max-results: -1 -q --quiet"
)


def _fd(arguments: Sequence[str]) -> list[str]:
    return parse(arguments, _FD).operands[1:]


LOOKS: dict[str, Look] = {
    "find": _find,
    "fd": _fd,
    "fdfind": _fd,
    "sed": _sed,
    "awk": _awk,
    "gawk": _awk,
    "mawk": _awk,
    "jq": _jq,
    "test": _test,
    "printf": _printf,
    "date": _date,
    "ps": _ps,
    "command": _command,
}
