"""Decides whether a command may run without asking: only if it plainly reads inside the workspace.

Decides and never runs. An allowed command must run with ``READ_ONLY_ENV``, because part of what
makes it harmless is set there.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from collections.abc import Sequence as PySequence
from pathlib import Path

from agent_ls.domain.verdicts import Allow, Ask, Deny
from agent_ls.loop.ports.workspace import Root
from agent_ls.safety.catastrophes import catastrophe
from agent_ls.safety.closer_looks import LOOKS
from agent_ls.safety.flags import MustAskError, Parsed, parse
from agent_ls.safety.git_config import CLEAN_GIT
from agent_ls.safety.git_reading import read_git
from agent_ls.safety.git_repository import check_printing, check_repository
from agent_ls.safety.operands import Reach
from agent_ls.safety.piped_names import found_names, included_endings, piped_names
from agent_ls.safety.programs import VERSION_OPTIONS, check_command, check_program, check_version
from agent_ls.safety.read_only import LANGUAGES, PROGRAMS, VERSIONED, Program
from agent_ls.safety.shell_reading import read_shell
from agent_ls.safety.shell_tree import Sequence
from agent_ls.safety.shell_walk import State, Step, Walk, expanded
from agent_ls.safety.shell_words import MAX_COMMAND_CHARS
from agent_ls.safety.text import visible_line

CommandVerdict = Allow | Ask | Deny

_RIPGREP_CONFIG = Path(__file__).parent / "ripgrep.conf"
"""Excludes hidden files even if an ignore file re-includes them: globs take precedence."""

READ_ONLY_ENV: dict[str, str] = {
    **CLEAN_GIT,
    "RIPGREP_CONFIG_PATH": str(_RIPGREP_CONFIG),
    "PAGER": "cat",
    "GOTOOLCHAIN": "local",
}
"""Environment of an allowed command, added to the runner's own."""


def decide(command: str, cwd: Path, roots: PySequence[Root]) -> CommandVerdict:
    """Say whether a shell command may run in ``cwd``: allow, ask with a reason, or deny.

    Shape: Deny only for catastrophic commands. An Ask that no grant answers for text that the
    person must see, such as sudo or a pipe into a shell. An ordinary Ask for the rest.
    Looks at the disk (links, configuration of git), so call it off the event loop.
    """
    if destroyed := catastrophe(command):
        return Deny(f"This command is never run: {destroyed}.")
    try:
        judge_all(read_shell(command), cwd, roots, judge_reading)
    except MustAskError as error:
        reason = f"The command is not plainly read-only: {error}."
        return Ask(reason, broad=not _must_be_seen(command))
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        reason = f"The command cannot be checked: {error}."
        return Ask(reason, broad=not _must_be_seen(command))
    return Allow()


def is_covered(
    command: str,
    cwd: Path,
    roots: PySequence[Root],
    covers: Callable[[PySequence[str], Path], bool],
) -> bool:
    """Say whether every part of a command plainly reads, or ``covers`` its words in its folder.

    A text that is not read with certainty is never covered. Looks at the disk.
    """

    def judge(step: Step, reach: Reach) -> None:
        try:
            judge_reading(step, reach)
        except MustAskError:
            is_more = bool(step.writes or step.sets)
            if is_more or not covers((step.name, *step.values), reach.folder):
                raise
            for word in step.reads:
                reach.check(word.value)

    try:
        judge_all(read_shell(command), cwd, roots, judge)
    except (MustAskError, OSError, ValueError, subprocess.SubprocessError):
        return False
    return True


_MUST_BE_SEEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f\ufffd]|\b(?:sudo|doas|su|eval|pkexec)\b|\brm\b[^;&|\n]*[*$`~]"
    r"|\brm\b[^;&|\n]*\s\.{1,2}/?(?:$|[\s;&|])"
    r"|\|\s*(?:\w+=\S*\s+)*(?:sudo\s+|env\s+)*(?:/\S*/)?(?:ba|z|da|k|fi)?sh\b"
    r"|\|\s*(?:sudo\s+|env\s+)*(?:/\S*/)?(?:python[\d.]*|perl|ruby|node|php)\s*-?\s*(?:$|[;&|\n])"
)


def _must_be_seen(command: str) -> bool:
    """Say whether the user must see this exact text, whatever they granted before."""
    too_long = len(command) > MAX_COMMAND_CHARS
    return not command.strip() or too_long or bool(_MUST_BE_SEEN.search(command))


def judge_all(
    tree: Sequence, cwd: Path, roots: PySequence[Root], judge: Callable[[Step, Reach], None]
) -> None:
    """Judge each command in every folder it may run in."""
    judged: set[tuple[Step, Reach]] = set()

    def judge_new(step: Step, reach: Reach) -> None:
        if (step, reach) not in judged:
            judge(step, reach)
            judged.add((step, reach))

    walk = Walk(judge_new)
    walk.sequence(tree, (State(Reach(cwd, tuple(roots))),))


def judge_reading(step: Step, reach: Reach) -> None:
    """Refuse unless this command only reads, and only inside the roots."""
    if step.writes:
        raise MustAskError("it writes into a file with >")
    if step.sets:
        raise MustAskError(f"it sets {step.sets[0]} for one command alone")
    for word in step.reads:
        if word.is_pattern:
            raise MustAskError("its input is a file that the shell looks for")
        reach.check(word.value)
    if step.name == "xargs":
        _judge_xargs(step, reach)
    elif step.name == "find" and "-exec" in step.values:
        _judge_find_exec(step, reach)
    else:
        # ``[[ … ]]`` compares patterns with text and never expands them to files.
        values = list(step.values) if step.name == "[[" else expanded(step.arguments, reach)
        if values != step.values and step.name in ("find", "sed", "awk", "git", "test", "["):
            raise MustAskError(f"{step.name} gets names that the shell fills in")
        _judge_values(step.name, values, reach)
    # Last, because it looks for the program in every folder of PATH.
    check_command(step.name, reach)


def _judge_values(name: str, values: list[str], reach: Reach) -> None:
    if name in VERSIONED and len(values) == 1 and values[0] in VERSION_OPTIONS:
        check_version(name, values[0], reach)
    elif name == "git":
        _judge_git(values, reach)
    elif look := LOOKS.get(name):
        for path in look(values):
            reach.check(path)
    elif program := PROGRAMS.get(name):
        _judge_program(name, program, values, reach)
    else:
        raise MustAskError(f"{visible_line(name)[:60]} is not known to only read")


_SHOW_WORDS = frozenset({"echo", "basename", "dirname"})
"""Programs that print their arguments and open no file."""


def _judge_xargs(step: Step, reach: Reach) -> None:
    """Judge the program that xargs runs, both with every name it may get and with none."""
    if step.feed is None:
        raise MustAskError("xargs gets words that are not known")
    parsed = parse(expanded(step.arguments, reach), LANGUAGES["xargs"].options, stops=True)
    marks = parsed.given.pop("-I", [])
    separators = {*parsed.given.pop("-d", []), *parsed.given.pop("--delimiter", [])}
    numbers = [value for values in parsed.given.values() for value in values if value]
    if len(marks) > 1 or separators - {"\\n", "\\0"} or not all(map(str.isdigit, numbers)):
        raise MustAskError("it uses xargs with options that are not plain")
    name, *arguments = parsed.operands or ["echo"]
    check_program(name, reach)
    if name in _SHOW_WORDS:
        _judge_values(name, [one for one in arguments if one not in marks], reach)
        return
    names = piped_names(step.feed, reach)
    _judge_with_names(name, arguments, names, marks[0] if marks else None, reach)


def _judge_find_exec(step: Step, reach: Reach) -> None:
    """Judge find without its -exec, and the -exec program with every name that find may pass."""
    values = expanded(step.arguments, reach)
    start = values.index("-exec")
    end = next((n for n in range(start, len(values)) if values[n] in (";", "+")), len(values))
    command, rest = values[start + 1 : end], [*values[:start], *values[end + 1 :]]
    if values != step.values or values.count("-exec") > 1 or not command or end == len(values):
        raise MustAskError("it uses find -exec")
    _judge_values("find", rest, reach)
    check_program(command[0], reach)
    # What stands behind the -exec does not narrow the names that it gets.
    names = found_names(values[:start], reach, are_split=False)
    _judge_with_names(command[0], command[1:], names, "{}", reach)


def _judge_with_names(
    name: str, arguments: list[str], names: list[str] | None, mark: str | None, reach: Reach
) -> None:
    """Judge a program that gets file names in place of ``mark``, or after its own arguments."""
    program = PROGRAMS.get(name)
    if names is None or program is None or program.operands not in ("paths", "pattern"):
        raise MustAskError(f"{visible_line(name)[:60]} gets names that are not known")
    if mark is None:
        _judge_program(name, program, arguments, reach)
        arguments, mark = [*arguments, "{}"], "{}"
    if arguments.count(mark) != 1 or any(mark in one and one != mark for one in arguments):
        raise MustAskError("the place of the names is not plain")
    place = arguments.index(mark)
    before = parse(arguments[:place], program.options)
    if program.operands == "pattern" and not (before.operands or before.has(*program.pattern)):
        raise MustAskError("a name stands where a pattern is meant")
    _judge_program(name, program, [*arguments[:place], *names, *arguments[place + 1 :]], reach)


def _judge_git(values: list[str], reach: Reach) -> None:
    use = read_git(values)
    inner = reach.moved(use.folder)
    if inner.is_assumed:
        # Of a folder that does not exist, only the text can be judged: as if git saw nothing odd.
        for path in use.paths:
            inner.check(path, may_be_name=True)
        return
    roots = [root.path for root in reach.roots]
    is_repository = check_repository(inner.folder, roots)
    if not is_repository and use.works_anywhere:
        raise MustAskError("outside of a repository git reads any file")
    for path in use.paths:
        inner.check(path, may_be_name=True)
    if is_repository:
        check_printing(use, inner.folder, inner.below, roots)


def _judge_program(name: str, program: Program, values: list[str], reach: Reach) -> None:
    parsed = parse(values, program.options)
    operands = parsed.operands
    if len(operands) > program.limit:
        raise MustAskError(f"{name} has more operands than it reads")
    if program.operands == "text":
        operands = []
    elif program.operands == "names":
        if not all(re.fullmatch(r"[\w.+-]+", one) for one in operands):
            raise MustAskError(f"{name} gets something that is no name")
        operands = []
    elif program.operands == "pattern" and not parsed.has(*program.pattern):
        operands = operands[1:]
    for path in (*parsed.paths, *operands):
        reach.check(path)
    _judge_folders(name, program, parsed, operands, reach)


def _looks_at_hidden(parsed: Parsed) -> bool:
    """Say whether rg may read hidden files in spite of our configuration, which excludes them."""
    given = parsed.given
    globs = [*given.get("-g", []), *given.get("--glob", []), *given.get("--iglob", [])]
    return (
        parsed.has("--hidden", "-.", "-u", "--unrestricted", "--ignore-file")
        # A glob that names files names the hidden ones too.
        or any(not one.startswith("!") for one in globs)
        # An agent that works on agent-ls itself could change the file.
        or not _RIPGREP_CONFIG.is_file()
        or _RIPGREP_CONFIG.read_text("utf-8") != "--glob=!.*\n"
    )


def _judge_folders(
    name: str, program: Program, parsed: Parsed, operands: list[str], reach: Reach
) -> None:
    """Refuse to read a whole folder that contains secrets."""
    lists_names = parsed.has("--files", "--type-list")
    reads_all = "*" in program.recursive or parsed.has(*program.recursive)
    if lists_names or not reads_all:
        return
    hidden = name != "rg" or _looks_at_hidden(parsed)
    endings = included_endings(parsed)
    for path in operands or ([] if name == "diff" else ["."]):
        reach.check_folder(path, hidden=hidden, follows=name == "diff", endings=endings)
