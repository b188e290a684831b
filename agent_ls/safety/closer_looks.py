"""Read-only uses of programs that have a language of their own: find, sed, awk, jq, test, date, ps.

Each function returns the paths that would be read, or refuses. Only shapes that are plainly
harmless are let through; a clever script asks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from agent_ls.safety.awk_reading import is_plain_awk
from agent_ls.safety.flags import Options, options, parse, words
from agent_ls.safety.shell_words import NUMBER


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
_FIND_NEWER = re.compile(r"-newer[aBcm][aBcmt]")
_FIND_BARE = words(
    "-empty -readable -writable -executable -not -a -o -and -or ! ( ) , -print -print0 -ls -prune "
    "-quit -depth -d -xdev -mount -true -false -daystart -nouser -nogroup -noleaf"
)


def find_tests(arguments: Sequence[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """Return where find looks, and its tests and operators with their values; empty for none.

    Errors: ``NotPlainError`` for what is not known to only read.
    """
    rest = list(arguments)
    while rest[:1] == ["-P"]:
        rest.pop(0)
    places: list[str] = []
    while rest and not rest[0].startswith(("-", "(", "!", ",")):
        places.append(rest.pop(0))
    tests: list[tuple[str, str]] = []
    while rest:
        word = rest.pop(0)
        if word in _FIND_BARE:
            tests.append((word, ""))
        elif rest and (word in _FIND_TEXT | _FIND_PATH or _FIND_NEWER.fullmatch(word)):
            tests.append((word, rest.pop(0)))
        else:
            raise NotPlainError(f"find {word}")
    return places or ["."], tests


def _find(arguments: Sequence[str]) -> list[str]:
    places, tests = find_tests(arguments)
    # With t at its end, -newer has a time and no path.
    newer = [value for word, value in tests if _FIND_NEWER.fullmatch(word) and word[-1] != "t"]
    return [*places, *newer, *(value for word, value in tests if word in _FIND_PATH)]


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


def _awk(arguments: Sequence[str]) -> list[str]:
    parsed = parse(arguments, _AWK)
    program, *files = parsed.operands or [""]
    if not is_plain_awk(program):
        raise NotPlainError(f"the awk program {program[:60]!r}")
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
    rest = list(arguments)
    while (place := next((n for n, one in enumerate(rest) if one == "--arg"), -1)) >= 0:
        del rest[place : place + 3]
    parsed = parse(rest, _JQ)
    program, *files = parsed.operands or ["."]
    if _JQ_REACHES_OUT.search(program):
        raise NotPlainError("a jq program that reaches out")
    return files


_TEST_FILE = words("-f -d -e -s -r -w -x -L -h -b -c -p -S -g -u -k -O -G")
_TEST_TEXT = frozenset({"-z", "-n"})
_TEST_TEXTS = frozenset({"=", "==", "!="})
_TEST_NUMBERS = words("-eq -ne -lt -le -gt -ge")
_TEST_FILES = words("-nt -ot -ef")
_INTEGER = re.compile(rf"-?\d{{1,18}}|{NUMBER}")


def _test(arguments: Sequence[str]) -> list[str]:
    """Nothing that evaluates its words: no -v, no -R, no -t, no grouping, no sums."""
    if _EVALUATES & set(arguments):
        raise NotPlainError("a test that evaluates its words")
    return [path for clause in _clauses(arguments, ("-a", "-o")) for path in _test_clause(clause)]


_EVALUATES = frozenset({"-v", "-R", "-t", "(", ")"})


def _clauses(arguments: Sequence[str], joints: tuple[str, ...]) -> list[list[str]]:
    """Return the words between ``joints``; a single operator's word may look like one."""
    clauses: list[list[str]] = [[]]
    for word in arguments:
        if word in joints:
            clauses.append([])
        else:
            clauses[-1].append(word)
    return clauses


def _test_clause(clause: Sequence[str]) -> list[str]:
    words_left = list(clause[1:] if clause[:1] == ["!"] and len(clause) > 1 else clause)
    match words_left:
        case [operator, path] if operator in _TEST_FILE:
            return [path]
        case [operator, _] if operator in _TEST_TEXT:
            return []
        case [_, operator, _] if operator in _TEST_TEXTS:
            return []
        case [left, operator, right] if operator in _TEST_FILES:
            return [left, right]
        case [left, operator, right] if operator in _TEST_NUMBERS:
            # A shell may work a word out as a sum, and a sum can run commands.
            if _INTEGER.fullmatch(left) and _INTEGER.fullmatch(right):
                return []
        case [text] if not text.startswith("-"):
            return []
        case _:
            pass
    raise NotPlainError("this test")


def _bracket(arguments: Sequence[str]) -> list[str]:
    """``[ … ]``."""
    if not arguments or arguments[-1] != "]":
        raise NotPlainError("a test without its end")
    return _test(arguments[:-1])


def _double_bracket(arguments: Sequence[str]) -> list[str]:
    """``[[ … ]]``, whose words may be patterns, which are compared with text only."""
    if not arguments or arguments[-1] != "]]":
        raise NotPlainError("a test without its end")
    inner = arguments[:-1]
    if _EVALUATES & set(inner) or {"-a", "-o"} & set(inner):
        raise NotPlainError("a test that evaluates its words")
    clauses = _clauses(inner, ("&&", "||"))
    return [
        path
        for clause in clauses
        if not (len(clause) == 3 and clause[1] == "=~")
        for path in _test_clause(clause)
    ]


_PRINTF = re.compile(r"(?:[^%]|%%|%[-+ #0]{0,3}\d{0,3}(?:\.\d{0,3})?[sbqcdiuoxXeEfFgG])*")


def _echo(arguments: Sequence[str]) -> list[str]:
    """Show any words: what is no option of the shell's own echo is shown too."""
    return []


def _printf(arguments: Sequence[str]) -> list[str]:
    """No option, which could be -v, and no %n: both assign a variable."""
    if not arguments or arguments[0].startswith("-") or not _PRINTF.fullmatch(arguments[0]):
        raise NotPlainError("printf with more than plain conversions")
    return []


_SET = re.compile(r"[-+][eux]{1,3}")


def _set(arguments: Sequence[str]) -> list[str]:
    """Only what makes a script stricter or louder; -a, -k, -P and names change what words mean."""
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word in ("-o", "+o", "-eo", "-uo", "-euo", "-exo", "-euxo"):
            if not rest or rest.pop(0) not in ("errexit", "nounset", "pipefail", "xtrace"):
                raise NotPlainError("set with this option")
        elif not _SET.fullmatch(word):
            raise NotPlainError("set with this option")
    if not arguments:
        raise NotPlainError("set, which shows all variables")
    return []


def _exit(arguments: Sequence[str]) -> list[str]:
    if len(arguments) > 1 or not all(map(_INTEGER.fullmatch, arguments)):
        raise NotPlainError("an exit code that is no number")
    return []


_TREE = options(
    "-adfshDpiCnugFqNtrvUxJX --noreport --dirsfirst --filesfirst --prune --gitignore --du --si "
    "--inodes --device --charset: -L: -I: -P: --filelimit: --sort? --ignore-case --matchdirs "
    "--timefmt: --metafirst"
)


def _tree(arguments: Sequence[str]) -> list[str]:
    """A value never stands in the same word as its option: -Io would be -I and -o."""
    for word in arguments:
        if re.match(r"-[^-]*[LIP].", word) or re.match(r"-[^-].*[LIP]", word):
            raise NotPlainError(f"tree {word}")
    return parse(arguments, _TREE).operands


_STRINGS = options("-afwo --all --print-file-name -n: --bytes: -t: --radix: -e: --encoding:",
                   takes_number=True)  # fmt: skip


def _strings(arguments: Sequence[str]) -> list[str]:
    """Every word that begins with @ names a file of more words, wherever it stands."""
    if any(word.startswith("@") for word in arguments):
        raise NotPlainError("strings with a file of options")
    return parse(arguments, _STRINGS).operands


_DATE = options("-uR -I? --utc --universal --rfc-email --iso-8601? -d: --date: --rfc-3339: "
                "-r@ --reference@")  # fmt: skip


def _date(arguments: Sequence[str]) -> list[str]:
    parsed = parse(arguments, _DATE)
    if any(not one.startswith("+") for one in parsed.operands):
        raise NotPlainError("date with a time to set")
    return parsed.paths


_PS_COLUMNS = re.compile(
    r"(?:pid|ppid|pgid|user|comm|cmd|args|stat|state|etime|time|pcpu|pmem|%cpu|%mem|rss|vsz|tty|tt"
    r"|start|lstart|nice|ni|,)+"
)


def _ps(arguments: Sequence[str]) -> list[str]:
    # The letter e without a dash, or more letters, would show the environments of processes.
    rest = list(arguments)
    while len(rest) > 1 and rest[-2] == "-o" and _PS_COLUMNS.fullmatch(rest[-1]):
        rest = rest[:-2]
    if tuple(rest) not in ((), ("aux",), ("-ef",), ("-e",), ("-f",), ("-A",), ("ax",)):
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
    "[": _bracket,
    "[[": _double_bracket,
    "printf": _printf,
    "echo": _echo,
    "set": _set,
    "exit": _exit,
    "tree": _tree,
    "strings": _strings,
    "date": _date,
    "ps": _ps,
    "command": _command,
}
