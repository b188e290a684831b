"""Read-only uses of programs that have a language of their own: find, sed, awk, jq, test, date, ps.

Each function returns the paths that would be read, or refuses. Only shapes that are plainly
harmless are accepted; any other script needs approval.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from agent_ls.safety.awk_reading import is_plain_awk
from agent_ls.safety.flags import MustAskError, Parsed, parse, words
from agent_ls.safety.read_only import LANGUAGES
from agent_ls.safety.shell_words import NUMBER, TEXT

Look = Callable[[Sequence[str]], list[str]]
"""Takes the arguments, returns the paths they read."""


def _parsed(program: str, arguments: Sequence[str]) -> Parsed:
    return parse(arguments, LANGUAGES[program].options)


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
    """Return find's starting points, and its tests and operators with their values ("" for none).

    Errors: ``MustAskError`` for what is not known to only read.
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
            raise MustAskError(f"it uses find {word}")
    return places or ["."], tests


def _find(arguments: Sequence[str]) -> list[str]:
    places, tests = find_tests(arguments)
    # An option like -newermt takes a time, not a path.
    newer = [value for word, value in tests if _FIND_NEWER.fullmatch(word) and word[-1] != "t"]
    return [*places, *newer, *(value for word, value in tests if word in _FIND_PATH)]


def _sed_pattern(mark: str) -> str:
    """Return what matches a piece of a pattern that ends at ``mark``.

    In brackets one sed takes the mark for a letter and another for the end: none may stand there.
    """
    bracket = rf"\[\^?\]?(?:\[:[a-z]+:\]|[^]\[{mark}\\\n]|\\[^]\[\n])*\]"
    return rf"(?:[^{mark}\[\\\n]|\\.|{bracket})"


_SED_ADDRESS = rf"(?:\d+|\$|/{_sed_pattern('/')}+/I?)"
_SED_RANGE = rf"{_SED_ADDRESS}(?:[ ]*,[ ]*(?:{_SED_ADDRESS}|[+~]\d+))?[ ]*!?[ ]*"
_SED_REPLACE = "|".join(
    rf"s{mark}{_sed_pattern(mark)}*{mark}(?:[^{mark}\\\n]|\\.)*{mark}[gpiI0-9]{{0,4}}"
    for mark in ("/", r"\|", "#", ",")
)
_SED_COMMAND = rf"[ ]*(?:{_SED_RANGE})?(?:[pdq=]|{_SED_REPLACE})[ ]*"
_SED_SCRIPT = re.compile(rf"{_SED_COMMAND}(?:;{_SED_COMMAND})*;?")
_MAX_SCRIPT_CHARS = 500


def _sed(arguments: Sequence[str]) -> list[str]:
    parsed = _parsed("sed", arguments)
    scripts = parsed.given.get("-e", []) + parsed.given.get("--expression", [])
    files = parsed.operands
    if not scripts:
        scripts, files = files[:1], files[1:]
    for script in scripts:
        if len(script) > _MAX_SCRIPT_CHARS or not _SED_SCRIPT.fullmatch(script):
            raise MustAskError(f"it uses the sed script {script[:60]!r}")
    return files


def _awk(arguments: Sequence[str]) -> list[str]:
    parsed = parse(arguments, LANGUAGES["awk"].options, stops=True)
    program, *files = parsed.operands or [""]
    if not is_plain_awk(program):
        raise MustAskError(f"it uses the awk program {program[:60]!r}")
    # An awk either reads options behind the program or takes them for files.
    if any(re.match(r"[A-Za-z_]\w*=|-.", file) for file in files):
        raise MustAskError("it uses an assignment or an option among awk's files")
    return files


_JQ_REACHES_OUT = re.compile(r"\b(?:import|include|env|input_filename|modulemeta)\b|\$ENV|\$__")


def _without_values(arguments: Sequence[str]) -> Iterator[str]:
    """Yield jq's arguments but for ``--arg NAME TEXT`` and ``--argjson NAME JSON``."""
    rest = iter(arguments)
    for word in rest:
        if word not in ("--arg", "--argjson"):
            yield word
            continue
        name, value = next(rest, ""), next(rest, None)
        # An --indent would take an --arg as its value, and a -- would make it the program.
        if value is None or not name.isidentifier() or {"--indent", "--"} & set(arguments):
            raise MustAskError(f"it uses jq {word} in a way that is not plain")


def _jq(arguments: Sequence[str]) -> list[str]:
    program, *files = _parsed("jq", list(_without_values(arguments))).operands or [""]
    if _JQ_REACHES_OUT.search(program):
        raise MustAskError("it uses a jq program that reaches out")
    return files


_TEST_FILE = words("-f -d -e -s -r -w -x -L -h -b -c -p -S -g -u -k -O -G")
_TEST_FILES = words("-nt -ot -ef")
_TEST_NUMBERS = words("-eq -ne -lt -le -gt -ge")
_INTEGER = re.compile(rf"-?\d{{1,18}}|{NUMBER}")


def _test(arguments: Sequence[str]) -> list[str]:
    """Accept one plain test, without -v, -R, -t, grouping or arithmetic."""
    match arguments[1:] if arguments[:1] == ["!"] else arguments:
        case [operator, path] if operator in _TEST_FILE and TEXT not in path:
            return [path]
        case [("-z" | "-n"), _] | [_, ("=" | "==" | "!="), _]:
            return []
        case [left, operator, right] if operator in _TEST_FILES and TEXT not in left + right:
            return [left, right]
        case [left, operator, right] if operator in _TEST_NUMBERS:
            # A shell may evaluate a word as arithmetic, which can run commands.
            if _INTEGER.fullmatch(left) and _INTEGER.fullmatch(right):
                return []
        case [text] if not text.startswith("-"):
            return []
        case _:
            pass
    raise MustAskError("it uses this test")


def _bracket(arguments: Sequence[str]) -> list[str]:
    """Read ``[ … ]`` and ``[[ … ]]`` like ``test``."""
    if not arguments or arguments[-1] not in ("]", "]]"):
        raise MustAskError("it uses a test without its end")
    return _test(arguments[:-1])


_PRINTF = re.compile(r"(?:[^%]|%%|%[-+ #0]{0,3}\d{0,3}(?:\.\d{0,3})?[sbqcdiuoxXeEfFgG])*")


def _printf(arguments: Sequence[str]) -> list[str]:
    """Refuse options (-v) and %n: both assign a variable."""
    form = arguments[0] if arguments else "-"
    if form.startswith("-") or TEXT in form or not _PRINTF.fullmatch(form):
        raise MustAskError("it uses printf with more than plain conversions")
    return []


_SETS = r"(?:[-+][eux]{1,3}|[-+][eux]{0,3}o (?:errexit|nounset|pipefail|xtrace))"


def _tree(arguments: Sequence[str]) -> list[str]:
    for word in arguments:
        if re.match(r"-[^-]*[LIP].", word) or re.match(r"-[^-].*[LIP]", word):
            raise MustAskError(f"it uses tree {word}")
    return _parsed("tree", arguments).operands


def _strings(arguments: Sequence[str]) -> list[str]:
    """Refuse any word that begins with @: it names a file with more options."""
    if any(word.startswith("@") for word in arguments):
        raise MustAskError("it uses strings with a file of options")
    return _parsed("strings", arguments).operands


def _date(arguments: Sequence[str]) -> list[str]:
    parsed = _parsed("date", arguments)
    if any(not one.startswith("+") for one in parsed.operands):
        raise MustAskError("it uses date with a time to set")
    return parsed.paths


def _fd(arguments: Sequence[str]) -> list[str]:
    return _parsed("fd", arguments).operands[1:]


_TAR_LIST = re.compile(r"-?[tvzjJ]*t[vzjJ]*f")


def _tar(arguments: Sequence[str]) -> list[str]:
    """Accept a list of an archive's names. ``host:file`` would be another machine's."""
    match arguments:
        case [letters, file] if _TAR_LIST.fullmatch(letters):
            if ":" in file or file.startswith("-"):
                raise MustAskError("it uses an archive that is no plain file")
            return [file]
        case _:
            raise MustAskError("it uses tar for more than a list of names")


def _unzip(arguments: Sequence[str]) -> list[str]:
    """Accept a list of an archive's names; unzip looks for files that fit a pattern."""
    match arguments:
        case ["-l" | "-Z1", file] if re.fullmatch(r"[^-*?\[][^*?\[]*\.(?:zip|jar|whl)", file):
            return [file]
        case _:
            raise MustAskError("it uses unzip for more than a list of names")


def _zcat(arguments: Sequence[str]) -> list[str]:
    """Accept full names alone: of a missing ``x`` it would read ``x.gz``."""
    if not arguments or not all(re.fullmatch(r"[^-].*\.gz", one) for one in arguments):
        raise MustAskError("it uses zcat with more than names that end in .gz")
    return list(arguments)


def _gunzip(arguments: Sequence[str]) -> list[str]:
    if arguments[:1] != ["-c"]:
        raise MustAskError("it replaces a file by what was packed in it")
    return _zcat(arguments[1:])


_LESS_OPTIONS = re.compile(r"-[NSRXFEine]+")


def _less(arguments: Sequence[str]) -> list[str]:
    """Accept options that only show; a word such as ``+!x`` is a command to less."""
    files = [one for one in arguments if not _LESS_OPTIONS.fullmatch(one)]
    if not files or any(one.startswith(("-", "+")) for one in files):
        raise MustAskError("it uses less with more than files and plain options")
    return files


def _xxd(arguments: Sequence[str]) -> list[str]:
    """Refuse bundled options, of which xxd reads one letter, and a second file, which it writes."""
    files = parse(arguments, LANGUAGES["xxd"].options, stops=True).operands
    if len(files) > 1 or any(re.match(r"-[A-Za-z]\D", one) for one in arguments):
        raise MustAskError("it uses xxd with more than a file and plain options")
    return files


def _shaped(shape: str) -> Look:
    """Return a look that accepts arguments which match a pattern, and reads no path."""
    pattern = re.compile(shape)

    def look(arguments: Sequence[str]) -> list[str]:
        if not pattern.fullmatch(" ".join(arguments)):
            raise MustAskError("it uses options that are not known to only read")
        return []

    return look


_PS_COLUMN = (
    r"(?:pid|ppid|pgid|user|comm|cmd|args|stat|state|etime|time|pcpu|pmem|rss|vsz|tty|nice)"
)

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
    "[[": _bracket,
    "echo": _shaped(r"(?s).*"),
    "printf": _printf,
    "tree": _tree,
    "strings": _strings,
    "date": _date,
    "tar": _tar,
    "unzip": _unzip,
    "gunzip": _gunzip,
    "zcat": _zcat,
    "less": _less,
    "xxd": _xxd,
    # Only options that make a script stricter or louder. Others change what words mean.
    "set": _shaped(rf"{_SETS}(?: {_SETS})*"),
    "exit": _shaped(rf"\d{{0,3}}|{NUMBER}"),
    "sleep": _shaped(r"\d{1,2}(?:\.\d{1,3})?"),
    "command": _shaped(r"-[vV](?: [\w.+-]+)+"),
    # The letter e without a dash, or more letters, would show the environments of processes.
    "ps": _shaped(rf"(?:aux?|-ef|-e|-f|-A|ax)?(?: ?-o {_PS_COLUMN}(?:,{_PS_COLUMN})*)?"),
}
