"""May this command run unasked? Allow only what is plainly read-only and stays in the workspace.

Decides and never runs. Whoever runs an allowed command passes ``READ_ONLY_ENV`` with it, because
part of what makes it harmless is set there.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import assert_never

from agent_ls.domain.verdicts import Allow, Ask, Deny
from agent_ls.loop.ports.workspace import Root
from agent_ls.safety.catastrophes import catastrophe
from agent_ls.safety.closer_looks import LOOKS, NotPlainError
from agent_ls.safety.flags import Parsed, UnknownOptionError, parse
from agent_ls.safety.git_config import CLEAN_GIT
from agent_ls.safety.git_reading import read_git
from agent_ls.safety.git_repository import repository_objection
from agent_ls.safety.operands import NotInsideError, Reach
from agent_ls.safety.read_only import BUILTINS, PROGRAMS, VERSIONED, Program
from agent_ls.safety.shell_words import (
    MAX_COMMAND_CHARS,
    NotUnderstoodError,
    Part,
    Word,
    read_parts,
)
from agent_ls.safety.text import visible_line

CommandVerdict = Allow | Ask | Deny

READ_ONLY_ENV: dict[str, str] = {
    **CLEAN_GIT,
    "PAGER": "cat",
    "GOTOOLCHAIN": "local",
    "LC_ALL": "C.UTF-8",
}
"""What an allowed command runs with, over the runner's own list."""

_SYSTEM_FOLDERS = tuple(map(Path, ("/usr", "/bin", "/sbin", "/opt", "/nix")))
_VERSION_OPTIONS = ("--version", "-V", "-v", "-version", "version")


class _MustAskError(Exception):
    """The command is not plainly harmless; the message completes "it asks because"."""


@dataclass(frozen=True, slots=True)
class _Step:
    """One part with the words as programs get them."""

    name: str
    arguments: tuple[Word, ...]

    @property
    def values(self) -> list[str]:
        return [word.value for word in self.arguments]


def decide(command: str, cwd: Path, roots: Sequence[Root]) -> CommandVerdict:
    """Say whether a shell command may run in ``cwd``: allow, ask with a reason, or deny.

    Shape: Deny only for what destroys a system; an Ask that no grant answers for text that cannot
    be read with certainty or that takes rights it was not given; an ordinary Ask for the rest.
    Looks at the disk (links, configuration of git), so call it off the event loop.
    """
    if destroyed := catastrophe(command):
        return Deny(f"This command is never run: {destroyed}.")
    try:
        parts = read_parts(command)
    except NotUnderstoodError as error:
        return Ask(
            f"The command is not plainly read-only: {error}.", broad=not _must_be_seen(command)
        )
    try:
        _judge_all(parts, cwd, roots)
    except (_MustAskError, NotPlainError, NotInsideError) as error:
        reason = f"The command is not plainly read-only: {error}."
        return Ask(reason, broad=not _must_be_seen(command))
    except UnknownOptionError as error:
        return Ask(f"The command has an option that is not known to only read: {error}.")
    except OSError as error:
        return Ask(f"The command's paths cannot be checked: {error}.")
    return Allow()


_MUST_BE_SEEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f\ufffd]|\b(?:sudo|doas|su|eval|pkexec)\b|\brm\b[^;&|\n]*[*$`~]"
    r"|\brm\b[^;&|\n]*\s\.{1,2}/?(?:$|[\s;&|])"
    r"|\|\s*(?:\w+=\S*\s+)*(?:sudo\s+|env\s+)*(?:/\S*/)?(?:ba|z|da|k|fi)?sh\b"
    r"|\|\s*(?:sudo\s+|env\s+)*(?:/\S*/)?(?:python[\d.]*|perl|ruby|node|php)\s*-?\s*(?:$|[;&|\n])"
)


def _must_be_seen(command: str) -> bool:
    """Say whether a person must see this very text, whatever was granted before."""
    too_long = len(command) > MAX_COMMAND_CHARS
    return not command.strip() or too_long or bool(_MUST_BE_SEEN.search(command))


def _judge_all(parts: Sequence[Part], cwd: Path, roots: Sequence[Root]) -> None:
    """Judge each part in every folder it may run in; a failed cd leaves the old one."""
    reaches = [Reach(cwd, tuple(roots))]
    for place, part in enumerate(parts):
        following = parts[place + 1].connector if place + 1 < len(parts) else ""
        step = _step(part)
        if step.name == "cd":
            if part.connector == "|" or following == "|":
                raise _MustAskError("cd stands in a pipe")
            moved = [_changed(step, reach) for reach in reaches]
            reaches = moved if following == "&&" and part.connector != "||" else [*reaches, *moved]
            reaches = list(dict.fromkeys(reaches))
            continue
        for reach in reaches:
            _judge(step, reach)


def _step(part: Part) -> _Step:
    first, *rest = part.words
    if not first.is_plain or first.is_pattern:
        raise _MustAskError("the program's name is written in a roundabout way")
    return _Step(first.value, tuple(rest))


def _changed(step: _Step, reach: Reach) -> Reach:
    if len(step.arguments) != 1 or step.arguments[0].is_pattern:
        raise _MustAskError("cd goes to a folder that is not plain")
    return reach.moved(step.arguments[0].value)


def _judge(step: _Step, reach: Reach) -> None:
    """Refuse unless this step only reads, and only what lies inside."""
    _check_program(step.name, reach)
    values = _expanded(step, reach)
    if values != step.values and step.name in ("find", "sed", "awk", "git", "test"):
        raise _MustAskError(f"{step.name} gets names that the shell fills in")
    if step.name in VERSIONED and len(values) == 1 and values[0] in _VERSION_OPTIONS:
        _check_version(step.name, values[0])
    elif step.name == "git":
        _judge_git(step, reach)
    elif look := LOOKS.get(step.name):
        for path in look(values):
            reach.check(path)
    elif program := PROGRAMS.get(step.name):
        _judge_program(step.name, program, values, reach)
    else:
        raise _MustAskError(f"{visible_line(step.name)[:60]} is not known to only read")


def _check_program(name: str, reach: Reach) -> None:
    """Refuse a program that the workspace brings, or that it can choose."""
    if "/" in name:
        raise _MustAskError("the program is named by a path")
    if name in BUILTINS:
        return
    found = shutil.which(name, path=child_path())
    if found is None:
        return
    real = Path(found).resolve()
    if reach.holds(Path(found)) or reach.holds(real):
        raise _MustAskError(f"{name} is a program of the workspace")
    if "shims" in (*Path(found).parts, *real.parts) or "shim" in real.name:
        raise _MustAskError(f"which {name} runs is chosen by the workspace")


def _check_version(name: str, option: str) -> None:
    """Refuse options that mean something else, and programs that a version file could replace."""
    if option in ("-v", "-V", "version") and not _says_version(name, option):
        raise _MustAskError(f"{name} {option} is more than a question for the version")
    found = shutil.which(name, path=child_path())
    real = Path(found).resolve() if found else None
    if real and not any(real.is_relative_to(folder) for folder in _SYSTEM_FOLDERS):
        raise _MustAskError(f"{name} is not installed with the system")


def _says_version(name: str, option: str) -> bool:
    known = {
        "-v": ("node", "perl", "ruby", "make", "gmake", "tmux"),
        "-V": ("python", "python3", "tmux", "rg", "curl", "wget", "psql", "ruff", "uv"),
        "version": ("go",),
    }
    return name in known.get(option, ())


def _expanded(step: _Step, reach: Reach) -> list[str]:
    """Return the arguments with patterns replaced by the files they fit, as the shell would."""
    values: list[str] = []
    for word in step.arguments:
        values += reach.fitting(word.value) if word.is_pattern else [word.value]
    return values


def _judge_git(step: _Step, reach: Reach) -> None:
    use = read_git(step.values)
    inner = reach.moved(use.folder)
    roots = [root.path for root in reach.roots]
    objection = repository_objection(inner.folder, roots, child_path())
    if objection is None and use.works_anywhere:
        objection = "outside of a repository git reads any file"
    if objection:
        raise _MustAskError(objection)
    for path in use.paths:
        inner.check(path, may_be_name=True)


def _judge_program(name: str, program: Program, values: list[str], reach: Reach) -> None:
    parsed = parse(values, program.options)
    operands = parsed.operands
    for path in parsed.paths:
        reach.check(path)
    if len(operands) > program.max_operands:
        raise _MustAskError(f"{name} has more operands than it reads")
    match program.operands:
        case "text":
            return
        case "names":
            if not all(re.fullmatch(r"[\w.+-]+", one) for one in operands):
                raise _MustAskError(f"{name} gets something that is no name")
            return
        case "pattern then paths":
            if not parsed.has(*program.pattern_options):
                operands = operands[1:]
        case "paths":
            pass
        case _:
            assert_never(program.operands)
    for path in operands:
        reach.check(path)
    _judge_folders(name, program, parsed, operands, reach)


def _judge_folders(
    name: str, program: Program, parsed: Parsed, operands: list[str], reach: Reach
) -> None:
    """Refuse to let a program read whole folders in which secrets lie."""
    lists_names = parsed.has("--files", "--type-list")
    reads_all = "*" in program.recursive_options or parsed.has(*program.recursive_options)
    if lists_names or not reads_all:
        return
    hidden = name != "rg" or parsed.has("--hidden", "-.", "-u", "--unrestricted")
    for path in operands or ([] if name == "diff" else ["."]):
        reach.check_folder(path, hidden=hidden, follows=name == "diff")


def child_path() -> str:
    """Return PATH for children: absolute folders only, so that no folder of work adds programs."""
    entries = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(entry for entry in entries if entry.startswith("/")) or "/usr/bin:/bin"
