"""Decides whether a command only tests, builds, checks or runs the project, and so runs unasked.

Only where a sandbox holds it: the text says what the command is for, the sandbox what it can do.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from agent_ls.loop.ports.workspace import Root
from agent_ls.safety.commands import judge_all, judge_reading
from agent_ls.safety.flags import MustAskError, words
from agent_ls.safety.operands import NOT_WALKED, Reach
from agent_ls.safety.paths import real_path
from agent_ls.safety.programs import child_path
from agent_ls.safety.shell_reading import read_shell
from agent_ls.safety.shell_walk import Step
from agent_ls.safety.text import visible_line

TABLES = tomllib.loads(Path(__file__).with_name("work.toml").read_text("utf-8"))
WORK_PROGRAMS: dict[str, str] = TABLES["programs"]
"""What tests, builds, checks or runs a project, and how it is called."""
_WRAPPERS: dict[str, str] = TABLES["wrappers"]
_REFUSED: frozenset[str] = words(TABLES["refused"]["words"])
_MODULES: frozenset[str] = words(TABLES["refused"]["modules"])
_WITH_VALUE = words(
    "-C --prefix --cwd --dir --directory --manifest-path --workspace --filter -W -X --import"
)
"""Options whose value is the next word. Of programs without such an option, it is misread."""
_WRAPPER_OPTIONS = words(
    "-i -q -y -a -v -m --quiet --yes --no-install --verbose --frozen --locked --offline --no-sync "
    "--all-extras --all-groups --dev --isolated --active --auto-servernum --foreground "
    "--preserve-status -oL -eL -o0 -e0 --"
)
"""Options of wrappers that take no value, so that the next word is the program."""
_LOCAL_BIN = ("node_modules", ".bin")
_SHELL_OPTIONS = re.compile(r"-[eux]+")
_ASSIGNED = re.compile(r"\w+=.*", re.DOTALL)
_EXPORTS = re.compile(
    r"(?:export +(?!(?:IFS|ENV|HOME|(?:CD)?PATH|(?:OLD)?PWD|(?:BASH|GLOB|EXEC|POSIX|SHELL)\w*)=)"
    r"[A-Z]\w*=[\w./:,@%+-]* *(?:&&|;|\n) *)+"
)
"""Variables at the beginning, with plain values: what they steer is in the sandbox.

The shell itself would read the text after some of them in another way.
"""
_INTERPRETERS = "|".join(
    re.escape(name) for name, kind in WORK_PROGRAMS.items() if "script" in kind.split()
)
_PROGRAM_TEXT = re.compile(
    rf"(?P<front>(?:[\w ./=&|;:@%+,-]*[ ;&|])?(?:{_INTERPRETERS})[\d.]*) +(?:- *)?"
    r"<< ?(?P<quote>['\"])(?P<end>\w+)(?P=quote)"
    r"(?P<back>(?=[ \n;&|>])[\w ./=&|;:@%+,>-]*)\n(?:.*\n)*?(?P=end)(?=\n|\Z)"
)
"""A program for an interpreter as a here-document that the shell does not expand.

Nothing may be quoted in front of it, as it could be part of a quoted text.
"""


def is_work(command: str, cwd: Path, roots: Sequence[Root]) -> bool:
    """Say whether each part of a command reads, tests, builds, checks or runs the project.

    Looks at the disk, so call it off the event loop.
    """
    command = _EXPORTS.sub("", command, count=1) if _EXPORTS.match(command) else command
    text = _PROGRAM_TEXT.match(command)
    if text:
        command = f"{text['front']}{text['back']}{command[text.end() :]}"

    def judge(step: Step, reach: Reach) -> None:
        _check_writes(step, reach)
        try:
            judge_reading(replace(step, writes=(), sets=()), reach)
        except MustAskError:
            _judge_work([step.name, *step.values], reach, is_told=bool(text))

    try:
        judge_all(read_shell(command), cwd, roots, judge)
    except (MustAskError, OSError, ValueError, subprocess.SubprocessError):
        return False
    return True


def _check_writes(step: Step, reach: Reach) -> None:
    for word in step.writes:
        real = real_path(reach.folder / word.value)
        if word.is_pattern or not (reach.holds(real) or real.is_relative_to("/tmp")):
            raise MustAskError("it writes outside of the workspace")


def _judge_work(command: list[str], reach: Reach, *, is_told: bool) -> None:
    """Refuse a program that is not in the table, or is told to do something else.

    ``is_told``: an interpreter without a file gets its program as text, as it may behind ``-c``.
    """
    command = _unwrapped(command, reach)
    name, arguments = command[0], command[1:]
    base = name.rpartition("/")[2]
    kind = WORK_PROGRAMS.get(base) or WORK_PROGRAMS.get(re.sub(r"[\d.]+$", "", base))
    if "/" in name:
        _check_inside(name, reach)
    if kind is None:
        if "/" not in name or NOT_WALKED & set(Path(name).parts) or _is_system(base):
            raise MustAskError(f"{visible_line(name)[:60]} is no program that tests or builds")
    elif kind == "targets":
        _check_targets([one for one in arguments if not one.startswith("-")])
    elif kind == "file":
        rest = [one for one in arguments if not _SHELL_OPTIONS.fullmatch(one)]
        _check_inside(rest[0] if rest and not rest[0].startswith("-") else "/", reach)
    elif "script" in kind.split():
        _judge_script(kind.split()[1:], arguments, reach, is_told=is_told)
    elif kind != "*":
        _judge_subcommand(kind.split(), arguments)


def _unwrapped(command: list[str], reach: Reach) -> list[str]:
    """Return the command behind the programs that only start another."""
    for _ in range(len(command)):
        pair = " ".join(command[:2])
        wrapper = next((one for one in (pair, command[0]) if one in _WRAPPERS), None)
        if wrapper is None:
            return command
        rest = command[len(wrapper.split()) :]
        skipped = int(_WRAPPERS[wrapper].partition("=")[2] or 0)
        operands = [n for n, one in enumerate(rest) if not one.startswith("-")]
        operands = [n for n in operands if not _ASSIGNED.fullmatch(rest[n])]
        if len(operands) <= skipped:
            raise MustAskError(f"{wrapper} starts nothing")
        front = rest[: operands[skipped]]
        if any(one.startswith("-") and one not in _WRAPPER_OPTIONS for one in front):
            raise MustAskError(f"{wrapper} has options that may start something else")
        command = rest[operands[skipped] :]
        if wrapper in ("npx", "bunx", "npm exec", "pnpm dlx") and not _is_local(command[0], reach):
            raise MustAskError(f"{visible_line(command[0])[:60]} is not installed in the workspace")
    raise MustAskError("it starts nothing")


def _is_local(name: str, reach: Reach) -> bool:
    folders = [one for one in (reach.folder, *reach.folder.parents) if reach.holds(one)]
    return "/" not in name and any(
        folder.joinpath(*_LOCAL_BIN, name).exists() for folder in folders
    )


def _judge_script(options: list[str], arguments: list[str], reach: Reach, *, is_told: bool) -> None:
    """Refuse unless a file of the workspace, or one of the options, is the program."""
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word == "-m" and "-m" in options:
            module = rest[0].partition(".")[0] if rest else ""
            if not module or {module, rest[0]} & _MODULES:
                raise MustAskError("it runs a module that is no part of a project")
            return
        if word in options:
            return
        if word in _WITH_VALUE:
            del rest[:1]
        elif not word.startswith("-"):
            _check_inside(word, reach)
            return
    if not is_told:
        raise MustAskError("it runs no file of the workspace")


def _judge_subcommand(kinds: list[str], arguments: list[str]) -> None:
    operands = _operands(arguments)
    first = operands[0].lower() if operands else ""
    if f"{first}:" in kinds:
        _check_targets(operands[1:2])
    elif first not in kinds:
        raise MustAskError("it does something else than to test, build or run")


def _operands(arguments: list[str]) -> list[str]:
    found: list[str] = []
    rest = iter(arguments)
    for word in rest:
        if word in _WITH_VALUE:
            next(rest, None)
        elif not word.startswith(("-", "+")):
            found.append(word)
    return found


def _check_targets(targets: Sequence[str]) -> None:
    """Refuse a target or script whose name says that it installs, deploys or publishes."""
    for target in targets:
        if _REFUSED & set(re.split(r"[^a-z]+", target.lower())):
            raise MustAskError(f"{visible_line(target)[:60]} is more than a test or a build")


def _check_inside(path: str, reach: Reach) -> None:
    if not reach.holds(Path(os.path.normpath(reach.folder / path))):
        raise MustAskError(f"{visible_line(path)[:60]} is outside of the workspace")


def _is_system(name: str) -> bool:
    return shutil.which(name, path=child_path()) is not None
