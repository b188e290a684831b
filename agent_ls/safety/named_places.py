"""Finds the files that a shell command names, and what it does with them.

A search, not a proof: it looks at every command and redirection that the grammar finds, also in a
text that does not parse. Owns reading; ``command_places`` decides.
"""

from __future__ import annotations

import codecs
import glob
import itertools
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Literal

from agent_ls.safety.closer_looks import LOOKS
from agent_ls.safety.flags import words
from agent_ls.safety.read_only import PROGRAMS
from agent_ls.syntax.parsing import Node, parse_shell, walk

UNKNOWN = "\0"
"""Placeholder in a name for text that only the running shell knows."""

Use = Literal["read", "write", "take", "change", "any"]
"""``take`` removes or renames; ``change`` makes a folder, sets permissions or writes the file of an
output option; ``any`` is not known."""

_MAX_VALUES = 32
_MAX_FOLDERS = 16
_MAX_FITTING = 500
_KNOWN_VARIABLES = ("HOME", "USER", "TMPDIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
                    "XDG_CACHE_HOME")  # fmt: skip

_WRAPPERS = words(
    "sudo doas env nohup time timeout nice ionice chrt taskset setsid stdbuf command builtin exec "
    "xargs parallel busybox toybox unbuffer watch strace flock chronic"
)
_TEXT = words("echo printf true false : test [ export local declare typeset set unset exit wait")
_WRITE_TOO = words("tar unzip gunzip xxd")
"""Programs that only read in one of their forms, which is allowed before places count."""
_READERS = (
    (PROGRAMS.keys() | LOOKS.keys() | words("source . bat more pygmentize")) - _TEXT - _WRITE_TOO
)
_SEARCHERS = words("grep egrep fgrep rg ag ack diff")
"""Programs that read whole folders. Of a repository's own folder that is its configuration."""
_COPIERS = words("cp mv install ln rsync scp dd")
_TAKERS = words("rm rmdir unlink shred")
_USES: dict[str, Use] = {
    **dict.fromkeys(_TAKERS, "take"),
    **dict.fromkeys(words("mkdir chmod chown chgrp"), "change"),
    **dict.fromkeys(
        words("tee touch truncate patch sponge ed ex vi vim nano mkfifo mknod split"), "write"
    ),
}
_IN_PLACE: tuple[str, Use] = (r"-\w*i|--in-place|inplace", "write")
_ALTERING: dict[str, tuple[str, Use]] = {
    **dict.fromkeys(("sed", "perl", "awk", "gawk"), _IN_PLACE),
    **dict.fromkeys(("sort", "tree"), (r"-\w*o|--output", "any")),
    "find": (r"-(?:exec|ok|delete|fprint|fls)", "any"),
}
"""Options with which a program does more than read, and what it does then."""
_VALUES = {
    "sed": r"-\w*[ef]|--expression|--file",
    "perl": r"-\w*[eE]",
    "patch": r"-i|--input",
    "touch": r"-[drt]",
    "truncate": r"-[rs]",
}
"""Options of writing programs whose value is not written to."""
_OUTPUT = re.compile(r"-[A-Za-z]*[oO]|--?out[\w-]*")
_OUTPUT_JOINED = re.compile(r"(?:--?out[\w-]*=|-o)(.+)", re.DOTALL)
_BRACES = re.compile(r"\{([^{},]*(?:,[^{},]*)+)\}")
_SHELLS = re.compile(r"(?:ba|z|da|k|a)?sh")
_MAX_DEPTH = 3
_APART = ("subshell", "command_substitution", "process_substitution", "pipeline")
"""Constructs after which a ``cd`` inside them has no effect."""
_INTERPRETERS = re.compile(
    r"(?:ba|z|da|k|fi|a|tc|c)?sh|python[\d.]*|pypy[\d.]*|perl[\d.]*|ruby[\d.]*|node|nodejs|deno|bun"
    r"|php[\d.]*|lua[\d.]*|[gmn]?awk|eval|tclsh|Rscript|osascript|ssh|trap|script"
)
_GIT_READS = words(
    "add commit status diff log show blame grep ls-files check-ignore push fetch rev-parse "
    "cat-file describe shortlog archive rev-list difftool reflog ls-tree hash-object"
)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_TOKEN = re.compile(r"[\w./~+@%{}*?-]+")


@dataclass(frozen=True, slots=True)
class Named:
    """A path that a command names, and what the command does with it."""

    use: Use
    path: str
    """As the shell would expand it; ``UNKNOWN`` where that is not known."""
    folders: tuple[Path, ...]
    """The folders it may be relative to."""
    here: Path | None
    """The current folder at this point of the text; None if not known."""


def named_places(command: str, cwd: Path) -> Iterator[Named]:
    """Yield the paths that a shell command names, unordered and possibly repeated."""
    tree = parse_shell(command.encode("utf-8", "replace"))
    if tree is None or tree.root_node.has_error:
        for token in _TOKEN.findall(command):
            yield Named("any", token, (cwd,), cwd)
    if tree is not None:
        yield from Reading(cwd).read(tree.root_node)


@dataclass(slots=True)
class Reading:
    """State while a command is read from left to right."""

    cwd: Path
    folders: dict[Path, None] = field(init=False)
    trail: list[Path | None] = field(init=False)
    """The folders visited, the current one last; None for an unknown one."""
    variables: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    runs_code: bool = False
    """Whether an interpreter was seen, so that here-documents count as code."""
    depth: int = 0
    commands: list[list[list[str]]] = field(default_factory=list[list[list[str]]])
    """The words of each command that was read, wrappers included, each with its values."""
    texts: list[str] = field(default_factory=list[str])
    """Here-documents that a shell may run."""

    def __post_init__(self) -> None:
        self.folders = {self.cwd: None}
        self.trail = [self.cwd]
        for name in _KNOWN_VARIABLES:
            if value := os.environ.get(name):
                self.variables[name] = [value]
        self.variables["PWD"] = [str(self.cwd)]

    def read(self, root: Node) -> Iterator[Named]:
        """Yield the paths that the commands below a node name."""
        apart: list[tuple[int, list[Path | None]]] = []
        for node in walk(root):
            while apart and node.start_byte >= apart[-1][0]:
                self.trail = apart.pop()[1]
            if node.type in _APART:
                apart.append((node.end_byte, [*self.trail]))
            match node.type:
                case "variable_assignment":
                    self._assign(
                        node.child_by_field_name("name"), node.children_by_field_name("value")
                    )
                case "for_statement":
                    self._assign(
                        node.child_by_field_name("variable"), node.children_by_field_name("value")
                    )
                case "command":
                    yield from self._command(node)
                case "file_redirect":
                    yield from self._redirect(node)
                case "heredoc_body" | "herestring_redirect" if self.runs_code:
                    self.texts.append(_text(node).removeprefix("<<<").strip(" \t'\""))
                    yield from self._tokens(_text(node))
                case _:
                    pass

    def _assign(self, name: Node | None, values: Iterable[Node]) -> None:
        if name is None:
            return
        found = [one for value in values for one in self._values(value)]
        known = self.variables.setdefault(_text(name), [])
        known += found[: _MAX_VALUES - len(known)]

    def _redirect(self, node: Node) -> Iterator[Named]:
        operator = next((one.type for one in node.children if not one.is_named), ">")
        for goal in node.children_by_field_name("destination"):
            if operator in (">&", "<&") and _text(goal).rstrip("-").isdigit():
                continue
            yield from self._named("read" if operator == "<" else "write", self._values(goal))

    def _command(self, node: Node) -> Iterator[Named]:
        nodes = [
            one for one in node.children if one.type not in ("variable_assignment", "file_redirect")
        ]
        given = [
            self._values(one.children[0] if one.type == "command_name" else one) for one in nodes
        ]
        self.commands.append([values for values in given if values])
        name, given = _program(given)
        if name in ("cd", "pushd", "popd"):
            self._move(name, given)
        elif name not in _TEXT:
            use = _use(name, given)
            if use != "read" or name == "git":
                yield from self._named("any", ["."])
            yield from self._operands(name, given, use)
            if name in _SEARCHERS:
                within = [".", *itertools.chain(*given)]
                yield from self._named("read", [f"{one}/config" for one in within])

    def _move(self, name: str, given: Sequence[list[str]]) -> None:
        goals = [one for values in given for one in values if not one.startswith("-")]
        if name == "popd" or ["-"] in given:
            self.trail = self.trail[:-1] or self.trail
        else:
            self.trail.append(self._reached(goals[0] if goals else "~"))
        for folder, goal in itertools.product(tuple(self.folders), goals):
            if len(self.folders) < _MAX_FOLDERS and UNKNOWN not in goal:
                self.folders[folder / at_home(goal)] = None

    def _reached(self, goal: str) -> Path | None:
        """Return the folder that a ``cd`` leads to."""
        path, here = Path(at_home(goal)), self.trail[-1]
        if UNKNOWN in goal or (here is None and not path.is_absolute()):
            return None
        return path if here is None else here / path

    def _script(self, text: str) -> Iterator[Named]:
        """Yield the paths named in a script for a nested shell."""
        tree = parse_shell(text.encode("utf-8", "replace"))
        if tree is None or self.depth >= _MAX_DEPTH:
            return
        trail, self.depth = [*self.trail], self.depth + 1
        yield from self.read(tree.root_node)
        self.trail, self.depth = trail, self.depth - 1

    def _operands(self, name: str, given: Sequence[list[str]], use: Use) -> Iterator[Named]:
        if _INTERPRETERS.fullmatch(name) or name in ("sed", "find"):
            self.runs_code = True
            for value in itertools.chain(*given):
                if not value.isprintable() or re.search(r"[\s'\"(;>]", value):
                    yield from self._tokens(value)
                    if _SHELLS.fullmatch(name):
                        yield from self._script(value)
        if name == "git" and _configures(given):
            yield from self._named("write", [".git/config"])
        if name in _COPIERS:
            yield from self._copied(name, given)
            return
        if use != "read" or name == "git":
            yield from self._named("change", _outputs(name, given))
        for values, its in zip(given, _uses(name, given, use), strict=True):
            for value in values if its is not None else ():
                # A piece of a word may be a path too, but it is not certain what happens to it.
                yield from self._named(its or "any", unbraced(value))
                yield from self._named("read" if its == "read" else "any", _pieces(value))

    def _copied(self, name: str, given: Sequence[list[str]]) -> Iterator[Named]:
        """Yield reads of the sources, and writes to the target and to their names below it."""
        into = [one for values in given for value in values for one in unbraced(value)]
        options = ("of=", "--target-directory=")
        goals = [one.partition("=")[2] for one in into if one.startswith(options)]
        if name not in ("rsync", "scp"):
            goals += [b for a, b in itertools.pairwise(into) if a == "-t"]
        operands = [one for one in into if not one.startswith(("-", "of=", "if="))]
        if not goals and name == "ln" and len(operands) == 1:
            goals = ["."]
        elif not goals:
            goals, operands = operands[-1:], operands[:-1]
        sources = [*operands, *(one[3:] for one in into if one.startswith("if="))]
        taken = list(self._named("take" if name == "mv" else "read", sources))
        below = (f"{goal}/{Path(one.path).name}" for goal in goals for one in taken)
        yield from (*taken, *self._named("write", (*goals, *below)))

    def _tokens(self, text: str) -> Iterator[Named]:
        return self._named("any", _TOKEN.findall(text))

    def _named(self, use: Use, paths: Iterable[str]) -> Iterator[Named]:
        folders = tuple(self.folders)
        for path in paths:
            yield Named(use, path, folders, self.trail[-1])
            # The disk knows no unknown text, and refuses its placeholder.
            is_pattern = UNKNOWN not in path and glob.has_magic(path)
            for folder in folders if is_pattern else ():
                # Path.glob refuses absolute patterns.
                fitting = glob.iglob(path, root_dir=folder)  # noqa: PTH207
                for name in islice(fitting, _MAX_FITTING):
                    yield Named(use, name, (folder,), None)

    def _values(self, node: Node) -> list[str]:
        """Return the possible values of a word, unquoted."""
        match node.type:
            case "raw_string":
                return [_text(node)[1:-1]]
            case "ansi_c_string":
                return [_decoded(_text(node)[2:-1])]
            case "simple_expansion" | "expansion":
                names = [one for one in node.children if one.type == "variable_name"]
                is_plain = len(node.named_children) == 1
                known = self.variables.get(_text(names[0])) if names and is_plain else None
                return list(known) if known else [UNKNOWN]
            case "string" | "translated_string" | "concatenation":
                return self._joined(node)
            case "command_substitution":
                # echo prints its words, and printf may print any text for %s.
                inner = _text(node).replace("%s", "*")
                return [UNKNOWN, *_TOKEN.findall(inner)][:_MAX_VALUES]
            case _ if node.named_children:
                return [UNKNOWN]
            case _:
                return [re.sub(r"\\(\n|.)", lambda one: one[1].strip("\n"), _text(node))]

    def _joined(self, node: Node) -> list[str]:
        found, at = [""], node.start_byte
        data, start = node.text or b"", node.start_byte
        for child in node.children:
            gap = data[at - start : child.start_byte - start].decode("utf-8", "replace")
            inner = [""] if child.type in ('"', '$"') else self._values(child)
            found = [
                front + gap + one
                for front, one in islice(itertools.product(found, inner), _MAX_VALUES)
            ]
            at = child.end_byte
        return found


def _program(given: list[list[str]]) -> tuple[str, list[list[str]]]:
    """Return the program and its arguments, without wrappers such as ``sudo``."""
    while given:
        name = Path(given[0][0]).name
        given = given[1:]
        if name not in _WRAPPERS:
            return name, given
        while given and (given[0][0][:1] in ("-", "") or _is_no_program(given[0][0])):
            given = given[1:]
    return "", []


def _is_no_program(word: str) -> bool:
    return bool(_ASSIGNMENT.match(word)) or word[:1].isdigit()


def _use(name: str, given: Sequence[list[str]]) -> Use:
    """Return what a program does with the places it gets."""
    values = [one for values in given for one in values]
    pattern, use = _ALTERING.get(name, ("(?!)", "any"))
    if name == "find" and _deletes_found(given):
        return "change"
    if any(re.match(pattern, one) for one in values):
        return use
    if name == "git":
        return "read" if _subcommand(given) in _GIT_READS else "any"
    if name == "uniq" and sum(not one.startswith("-") for one in values) > 1:
        # A second operand is written to.
        return "any"
    return "read" if name in _READERS else _USES.get(name, "any")


def _uses(name: str, given: Sequence[list[str]], use: Use) -> list[Use | None]:
    """Return what a program does with each of its arguments; None where one is no path."""
    uses: list[Use | None] = [use] * len(given)
    if use != "read":
        for at in _no_places(name, given):
            uses[at] = "any"
    first = next((at for at, one in enumerate(given) if not one[0].startswith("-")), None)
    if first is not None and _INTERPRETERS.fullmatch(name):
        uses[first] = "read"
    if first is not None and _begins_with_pattern(name, given):
        uses[first] = None
    return uses


def _no_places(name: str, given: Sequence[list[str]]) -> Iterator[int]:
    """Yield the indexes of options, their values and scripts, of a program that changes files."""
    if name == "find":
        places = itertools.takewhile(lambda one: not one[0].startswith("-"), given)
        yield from range(sum(1 for _ in places), len(given))
        return
    needs_script = name in ("sed", "awk", "gawk")
    for at, values in enumerate(given):
        if values[0].startswith("-") or values[0] == "inplace":
            yield at
            continue
        if needs_script or (at and re.fullmatch(_VALUES.get(name, "-"), given[at - 1][0])):
            yield at
        needs_script = False


def _deletes_found(given: Sequence[list[str]]) -> bool:
    """Say whether find deletes or moves files below its starting points."""
    values = [one[0] for one in given]
    runs = [b for a, b in itertools.pairwise(values) if re.fullmatch("-(?:exec|ok)(?:dir)?", a)]
    return "-delete" in values or any(one in _TAKERS | {"mv"} for one in runs)


def _outputs(name: str, given: Sequence[list[str]]) -> Iterator[str]:
    """Yield the output files of options such as ``-o``."""
    if name in ("find", "unzip") or _INTERPRETERS.fullmatch(name):
        return
    for before, values in itertools.pairwise([[""], *given]):
        if joined := _OUTPUT_JOINED.match(values[0]):
            yield joined[1]
        elif _OUTPUT.fullmatch(before[0]):
            yield from values


def unbraced(word: str) -> list[str]:
    """Return the words of a brace expansion."""
    found, at = [word], 0
    while at < len(found) < _MAX_VALUES:
        if braces := _BRACES.search(found[at]):
            front, back = found[at][: braces.start()], found[at][braces.end() :]
            found[at : at + 1] = [f"{front}{one}{back}" for one in braces[1].split(",")]
        else:
            at += 1
    return found


def _subcommand(given: Sequence[list[str]]) -> str:
    """Return git's subcommand."""
    rest = [one[0] for one in given]
    while rest and rest[0].startswith("-"):
        rest = rest[2:] if rest[0] in ("-C", "-c") else rest[1:]
    return rest[0] if rest else ""


def _configures(given: Sequence[list[str]]) -> bool:
    """Say whether git may change its configuration."""
    asks = any(one[0].startswith(("--get", "--list", "-l")) for one in given)
    return _subcommand(given) == "config" and not asks


def _begins_with_pattern(name: str, given: Sequence[list[str]]) -> bool:
    """Say whether the first operand is a search pattern."""
    program = PROGRAMS.get(name)
    if program is None or program.operands != "pattern":
        return False
    return not any(re.match(r"-\w*[ef]|--regexp|--file", one[0]) for one in given)


def _pieces(word: str) -> list[str]:
    """Return the paths in a word: the word, an option's value, the parts of a list."""
    found = [word, *re.split(r"[=:,{}]", word)]
    if word.startswith("-") and not word.startswith("--"):
        found.append(word[2:])
    return [one.removeprefix("@").removeprefix("<") for one in found if one]


def _decoded(text: str) -> str:
    try:
        return codecs.decode(text.encode("latin-1", "backslashreplace"), "unicode_escape")
    except UnicodeDecodeError:
        return UNKNOWN


def at_home(path: str) -> str:
    """Return the path with ``~`` expanded; unchanged if it holds unknown text."""
    # Path.expanduser raises for an unknown user, and both do for a name with the placeholder.
    is_home = path.startswith("~") and UNKNOWN not in path
    return os.path.expanduser(path) if is_home else path  # noqa: PTH111


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")
