"""Sorts a shell text by the programs that it starts: which view of the sandbox it gets, or it asks.

The text says what a command is for; the sandbox holds what it can do. So names are looked up, and
few words more: those that make a program edit, or lose what no review brings back. A wrong row
costs a failed command, or a change of the workspace that nobody was asked about.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_ls.loop.ports.workspace import Root
from agent_ls.safety.git_views import classify_git
from agent_ls.safety.paths import is_inside, real_path
from agent_ls.safety.shell import SHELLS, TEMPORARY, UNKNOWN, Part, ShellText, base_name, read_parts
from agent_ls.safety.text import words
from agent_ls.safety.view_table import (
    ALWAYS_ASK,
    EDIT_LISTS,
    EDITS,
    READ_ONLY,
    READER_CHANGES,
    READERS,
    READERS_WITH_WORDS,
    TABLE,
    WORK,
    WORKSPACE_WRITE,
    WRAPPERS,
    CommandClass,
    Kind,
    operands_of,
    shown,
)

_CHECKS = frozenset(TABLE["shells"]["checks"].split())
_FETCHING = ("npx", "bunx", "npm exec", "pnpm dlx", "yarn dlx")
_REFUSED = frozenset(TABLE["refused"]["words"].split())
_MODULES = frozenset(TABLE["refused"]["modules"].split())
_VERSIONS = ("--version", "-V", "-v", "version", "--help", "-h")
_WITH_VALUE = words(
    """
    -C --prefix --cwd --dir --directory --manifest-path --workspace --filter -W -X --import -w
    -n -I -L -P -d -s --signal -k -u -p
    """
)
"""Options whose value is the next word. Of programs without such an option, it is misread."""
_LOCAL = re.compile(r"(?:https?://)?(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\])(?:[:/].*)?")
_CLIENTS = words("curl wget http https xh")
_CLIENT_VALUES = words("-H -d -X -o -w -F -u -A -b -c -e -T -m --data --header --request --output")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ufffd]")
_MOST_DEPTH = 3
_MOST_WRAPPED = 6
"""Programs that each only start the next one."""
_EXECUTES = words("-exec -execdir -ok -okdir -x -X --exec --exec-batch")
_RUNS_WITHIN = re.compile(r"--exec(?:-batch)?=.*|-[A-Za-z]+[xX].*", re.DOTALL)
"""Options of fd that name a program in the same word, or behind others."""
_NARROWING = words("-name -iname -path -ipath -regex -iregex -empty -newer -mtime -mmin -perm")
_MOST_WORDS = 8
"""Words behind a wrapper that may be the program."""
_DELETING = frozenset({"rm", "mv", "shred", "truncate", "rsync"})
_WIDE = re.compile(r"(?:\.{0,2}/)*(?:\.{1,2}|\*+)?|~.*|\0[/*].*")
"""An operand that stands for the whole folder, or for a place that only the shell knows."""
_ORDER: Sequence[Kind] = ("read-only", "workspace-write", "edit", "ask")


def classify(text: str, cwd: Path, roots: Sequence[Root], depth: int = 0) -> CommandClass:
    """Sort a shell text. Looks at the disk for what npx and the like would fetch, and for links."""
    if not text.strip():
        return CommandClass("ask", "it is empty", must_ask=True)
    if _CONTROL.search(text):
        return CommandClass("ask", "it holds characters that cannot be seen", must_ask=True)
    found = read_parts(text)
    if found is None:
        return CommandClass("ask", "its text cannot be read")
    sorter = _Sorter(found, cwd, tuple(roots), depth)
    sorted_ = [sorter.part(part) for part in found.parts]
    sorted_ += [WORKSPACE_WRITE] * bool(found.writes)
    alone = next((one for one in sorted_ if one.must_ask), None)
    return alone or max(sorted_, key=lambda one: _ORDER.index(one.kind), default=READ_ONLY)


def classify_words(words: Sequence[str], cwd: Path, roots: Sequence[Root]) -> CommandClass:
    """Sort one program by its words alone."""
    return _Sorter(ShellText(()), cwd, tuple(roots), 0).part(Part(tuple(words)))


def deletes_widely(words: Sequence[str], cwd: Path, roots: Sequence[Root]) -> str:
    """Say what a program deletes that may be everything; empty if nothing."""
    for at, word in enumerate(words):
        name = base_name(word)
        if name not in _DELETING:
            continue
        rest = words[at + 1 : -1] if name in ("mv", "rsync") else words[at + 1 :]
        for one in rest:
            if not one.startswith("-") and _is_wide(one, cwd, roots):
                return f"{name} may remove everything: {shown(one)}"
        if name == "rm" and UNKNOWN in rest and any(re.match(r"-\w*[rR]|--rec", o) for o in rest):
            return "rm deletes a folder that only the running shell knows"
    return ""


def _is_wide(word: str, cwd: Path, roots: Sequence[Root]) -> bool:
    """Say whether an operand stands for a whole folder of the workspace, or for more."""
    if _WIDE.fullmatch(word):
        return True
    if UNKNOWN in word or word == "{}":
        return False
    first = re.sub(r"\[[^\]]*\]", "", word.partition("/")[0])
    if re.search(r"[*?{\[]", word.partition("/")[0]) and not re.search(r"\w", first):
        return True
    # To the shell and to programs ``link/..`` may be different folders.
    places = (Path(os.path.normpath(cwd / word)), real_path(cwd / word))
    return any(root.path.is_relative_to(place) for root in roots for place in places)


@dataclass(frozen=True, slots=True)
class _Sorter:
    """Sorts the programs of one text."""

    text: ShellText
    cwd: Path
    roots: tuple[Root, ...]
    depth: int

    def part(self, part: Part) -> CommandClass:
        name = part.name
        if part.name in SHELLS:
            return self._shell(part)
        if part.fed_by == "program" and _reads_program(part):
            return CommandClass("ask", f"{name} runs what another program prints", must_ask=True)
        return self._words(part.words) if name not in self.text.functions else READ_ONLY

    def _words(self, words: Sequence[str], wrapped: int = 0) -> CommandClass:
        """Sort a program by its words; ``wrapped`` counts the programs that start it."""
        if wrapped > _MOST_WRAPPED:
            return CommandClass("ask", "it nests too many programs")
        name, rest = base_name(words[0]), tuple(words[1:])
        if UNKNOWN in words[0] or re.search(r"[*?\[{~]", name.replace("[", "", 1)):
            return CommandClass("ask", "only the running shell knows which program it starts")
        if name in ALWAYS_ASK:
            return CommandClass("ask", f"{name} gives it other rights", must_ask=True)
        if wrapper := _wrapper(words):
            return self._wrapped(wrapper, words, wrapped)
        if name in SHELLS:
            return self._shell(Part(tuple(words)))
        if name in READERS:
            return self._reader(name, rest, wrapped)
        if name in _CLIENTS:
            return self._client(name, rest)
        return _sorted_by_table(words[0], rest, self.cwd, self.roots)

    def _reader(self, name: str, rest: Sequence[str], wrapped: int) -> CommandClass:
        changing = READER_CHANGES.get(name, ())
        if any(one.startswith(changing) for one in rest if changing):
            is_wide = "-delete" in rest and not _NARROWING & set(rest)
            return _finds_all(name) if is_wide else CommandClass("edit", f"{name} changes files")
        runs = [at for at, one in enumerate(rest) if one in _EXECUTES]
        if name in ("fd", "fdfind") and any(map(_RUNS_WITHIN.fullmatch, rest)):
            return CommandClass("ask", f"{name} runs a program")
        if name in ("find", "fd", "fdfind") and runs:
            if len(runs) > 1:
                return CommandClass("ask", f"{name} runs several programs")
            inner = rest[runs[0] + 1 :]
            found = self._words(inner, wrapped + 1) if inner else READ_ONLY
            return found if found.kind != "edit" or _NARROWING & set(rest) else _finds_all(name)
        if name == "command" and rest and rest[0] not in ("-v", "-V"):
            return self._words(rest, wrapped + 1)
        return READ_ONLY

    def _wrapped(self, wrapper: str, words: Sequence[str], wrapped: int) -> CommandClass:
        """Sort what a wrapper starts.

        A word behind an option may be its value. So all words are sorted up to the first that can
        be none, and the strictest that a table names counts.
        """
        rest, last = words[len(wrapper.split()) :], ""
        named: list[CommandClass] = []
        other: CommandClass | None = None
        for at, word in enumerate(rest[:_MOST_WORDS]):
            option, last = last, word
            may_be_value = option.startswith("-") and option != "-m"
            if re.match(r"-|\w+=|\d+[smhd]?$", word):
                continue
            if wrapper in _FETCHING and not self._is_installed(word):
                return CommandClass("ask", f"{shown(word)} is not installed in the workspace")
            module = ("python", "-m") if option == "-m" else ()
            found = self._words((*module, *rest[at:]), wrapped + 1)
            if found.kind == "ask" and not found.must_ask and (may_be_value or named):
                other = other or found
            else:
                named.append(found)
            if not may_be_value:
                break
        return max(named, key=lambda one: _ORDER.index(one.kind), default=other or READ_ONLY)

    def _is_installed(self, name: str) -> bool:
        folders = [one for one in (self.cwd, *self.cwd.parents) if is_inside(one, self.roots)]
        return any(
            os.path.lexists(one.joinpath("node_modules", ".bin", name))
            for one in folders
            if "/" not in name and UNKNOWN not in name
        )

    def _shell(self, part: Part) -> CommandClass:
        """Sort what a shell runs: a text behind ``-c``, a file, or its input."""
        rest = part.words[1:]
        if any(one in _CHECKS for one in rest):
            return READ_ONLY
        if script := _script(rest):
            if UNKNOWN in script or self.depth >= _MOST_DEPTH:
                return CommandClass("ask", f"only the running shell knows what {part.name} runs")
            return classify(script, self.cwd, self.roots, self.depth + 1)
        if any(not one.startswith(("-", "+")) for one in rest):
            return WORKSPACE_WRITE
        if part.fed_by == "text":
            return WORKSPACE_WRITE
        return CommandClass("ask", f"{part.name} runs what another program prints", must_ask=True)

    def _client(self, name: str, rest: Sequence[str]) -> CommandClass:
        """Sort what asks a server: of the command's own only, as it has no other network."""
        goals = [
            one
            for option, one in zip(("", *rest), rest, strict=False)
            if option not in _CLIENT_VALUES
            and re.match(r"\w+://|[\w-]+(?:\.[\w-]+)+|localhost", one)
        ] or [one for one in rest if "://" in one]
        is_own = bool(goals) and all(map(_LOCAL.fullmatch, goals)) and self.text.has_background
        return WORKSPACE_WRITE if is_own else CommandClass("ask", f"{name} needs a network")


def _wrapper(words: Sequence[str]) -> str:
    """Return the words that only start another program; empty for none."""
    name = base_name(words[0])
    pair = " ".join((name, *words[1:2]))
    wrapper = next((one for one in (pair, name) if one in WRAPPERS), "")
    rest = words[len(wrapper.split()) :]
    # ``env`` and ``time`` alone only print.
    starts = any(not one.startswith("-") and not re.match(r"\w+=", one) for one in rest)
    return wrapper if wrapper and starts else ""


def _script(rest: Sequence[str]) -> str:
    """Return the text that a shell gets behind ``-c``."""
    for at, word in enumerate(rest):
        if re.fullmatch(r"-\w*c", word):
            return rest[at + 1] if at + 1 < len(rest) else ""
        if not word.startswith("-"):
            return ""
    return ""


def _sorted_by_table(
    program: str, rest: Sequence[str], cwd: Path, roots: Sequence[Root]
) -> CommandClass:
    """Sort a program that starts no other one."""
    name = base_name(program)
    if len(rest) == 1 and rest[0] in _VERSIONS:
        return READ_ONLY
    if rest and rest[0] in READERS_WITH_WORDS.get(name, ()):
        return READ_ONLY
    if name == "git":
        return classify_git(rest)
    return _edit(name, rest, cwd, roots) if name in EDITS else _work(program, rest)


def _reads_program(part: Part) -> bool:
    """Say whether an interpreter takes its input for the program, as it gets no other one."""
    kinds = WORK.get(part.name) or WORK.get(re.sub(r"[\d.]+$", "", part.name)) or ("",)
    words = set(part.words[1:])
    is_given = bool(words & set(kinds[1:])) or any(not one.startswith("-") for one in words)
    return kinds[0] == "script" and not is_given


def _finds_all(name: str) -> CommandClass:
    return CommandClass("ask", f"{name} changes all that it finds")


def _edit(name: str, rest: Sequence[str], cwd: Path, roots: Sequence[Root]) -> CommandClass:
    if any(one in EDIT_LISTS.get(name, ()) for one in rest):
        return READ_ONLY
    if wide := deletes_widely((name, *rest), cwd, roots):
        return CommandClass("ask", wide)
    if name == "rsync" and any(one.startswith("--del") for one in rest):
        return CommandClass("ask", "rsync deletes what the source lacks")
    if name == "rsync" and any(re.match(r"(?:[\w.-]+@)?[\w.-]+:", one) for one in rest):
        return CommandClass("ask", "rsync reaches another machine")
    return CommandClass("edit", f"{name} changes files")


def _work(program: str, rest: Sequence[str]) -> CommandClass:
    """Sort a program that tests, builds or runs the project."""
    name = base_name(program)
    kinds = WORK.get(name) or WORK.get(re.sub(r"[\d.]+$", "", name))
    if kinds is None:
        is_own = not program.startswith(("/", "~")) or program.startswith(TEMPORARY)
        is_path = "/" in program and is_own
        unknown = CommandClass("ask", f"{shown(name)} is not known to only read, test or build")
        return WORKSPACE_WRITE if is_path else unknown
    operands = operands_of(rest, _WITH_VALUE)
    if kinds[0] == "script":
        module = rest[rest.index("-m") + 1] if "-m" in rest[:-1] else ""
        if {module, module.partition(".")[0]} & _MODULES:
            return CommandClass("ask", f"{name} -m {module} is no part of a project")
        return WORKSPACE_WRITE
    if kinds == ("*",):
        return WORKSPACE_WRITE
    if kinds == ("targets",):
        return _named(operands)
    # ``:app:test`` is a target of a part of the project.
    first = operands[0].lower().rpartition(":")[2] if operands else ""
    if f"{first}:" in kinds:
        return _named(operands[1:2])
    if first in kinds:
        return WORKSPACE_WRITE
    return CommandClass("ask", f"{shown(' '.join((name, first)).strip())} is no test or build")


def _named(targets: Sequence[str]) -> CommandClass:
    """Sort by the names of targets or scripts, which say if one installs, deploys or publishes."""
    for target in targets:
        if _REFUSED & set(re.split(r"[^a-z]+", target.lower())):
            return CommandClass("ask", f"{shown(target)} is more than a test or a build")
    return WORKSPACE_WRITE
