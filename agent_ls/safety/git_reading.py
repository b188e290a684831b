"""Read-only uses of git: which subcommands, with which options, and what they look at.

The subcommands are in ``programs.toml``; what a repository's own configuration would add to them
is judged in ``git_config``.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent_ls.safety.control_files import has_secret_name
from agent_ls.safety.flags import MustAskError, Parsed, parse, words
from agent_ls.safety.operands import SECRET_SAMPLES
from agent_ls.safety.read_only import GIT, Program

_CONFIG_KEYS = re.compile(
    r"(?:user|init|core|branch\.[^=]+|pull|push)\.[A-Za-z]+|remote\.[^=.]+\.url", re.IGNORECASE
)
_REFLOG_WRITES = frozenset({"expire", "delete", "drop", "write", "list", "exists"})
_PATCH = words(
    "-p -u -U --patch --unified --patch-with-stat --binary -c --cc -m --diff-merges "
    "--word-diff --word-diff-regex --color-words --check"
)
_NO_PATCH = words(
    "--stat --numstat --shortstat --dirstat --summary --compact-summary --name-only --name-status "
    "--raw --no-patch -s --quiet"
)
_NO_NAMES = words("--name-only --name-status --no-patch -s --quiet")


@dataclass(frozen=True, slots=True)
class GitUse:
    """What a read-only git command looks at."""

    folder: str
    """Where it works, relative to the working directory."""
    paths: list[str]
    """Operands that could be paths or revisions, and paths inside revisions."""
    works_anywhere: bool = False
    """Whether it also reads files outside of any repository."""
    names: tuple[str, ...] = ()
    """Arguments for git that list the files whose text is printed; empty if it prints none."""
    objects: tuple[str, ...] = ()
    """Operands that may be objects whose text would be printed without a file name."""


def read_git(arguments: Sequence[str]) -> GitUse:
    """Return what a git command line reads.

    Errors: ``MustAskError`` for all that is not known to only read.
    """
    folder, rest = _global_options(list(arguments))
    if rest == ["--version"]:
        return GitUse(folder, [])
    name = rest[0] if rest else ""
    if name == "config":
        return _config(folder, rest[1:])
    long = " ".join(rest[:2])
    subcommand, length = (GIT[long], 2) if long in GIT else (GIT.get(name), 1)
    if subcommand is None or (name == "reflog" and _REFLOG_WRITES & set(rest[1:2])):
        raise MustAskError(f"it uses git {name}")
    head, rest = tuple(rest[:length]), rest[length:]
    parsed = parse(rest, subcommand.options)
    _check(name, subcommand, parsed)
    operands = parsed.operands
    if name == "grep" and not parsed.has("-e"):
        operands = operands[1:]
    named = [path for one in (*operands, *parsed.given.get("-L", [])) for path in _paths_in(one)]
    question = _names_question(head, rest, parsed)
    prints_objects = (
        question or name == "show" or (name == "cat-file" and not parsed.has("-t", "-s"))
    )
    return GitUse(
        folder,
        [*parsed.paths, *named],
        name in ("diff", "grep", "shortlog"),
        question,
        tuple(operands) if prints_objects else (),
    )


def _names_question(head: tuple[str, ...], rest: list[str], parsed: Parsed) -> tuple[str, ...]:
    """Return the command that lists the files whose text this one prints; empty for no text."""
    if head == ("grep",):
        return ("grep", "-l", "-z", *rest)
    shows_patch = head in (("diff",), ("show",)) and not parsed.has(*_NO_PATCH)
    is_diff = "diff" in head[0] or head[0] in ("log", "show", "reflog", "stash")
    if not is_diff or not (shows_patch or parsed.has(*_PATCH)) or parsed.has("-L"):
        return ()
    if any(parsed.given.get("--relative", [])):
        raise MustAskError("it shows a patch with paths cut short")
    if parsed.has(*_NO_NAMES) or _NO_NAMES & set(rest):
        # Git cannot combine these with a list of names.
        raise MustAskError("it shows a patch and says not to")
    # Git cannot combine --check with a list of names either; without it, it lists more of them.
    return (*head, "--name-status", "-z", *(one for one in rest if one != "--check"))


def _global_options(rest: list[str]) -> tuple[str, list[str]]:
    folder = "."
    while rest and rest[0].startswith("-") and rest[0] != "--version":
        option = rest.pop(0)
        if option == "-C" and rest and folder == ".":
            folder = rest.pop(0)
        elif option not in ("--no-pager", "-P", "--no-optional-locks"):
            raise MustAskError(f"it uses git {option}")
    return folder, rest


def _check(name: str, subcommand: Program, parsed: Parsed) -> None:
    if len(parsed.operands) > subcommand.limit:
        raise MustAskError(f"it uses git {name} with operands")
    if subcommand.lists and parsed.operands and not parsed.has(*subcommand.lists):
        raise MustAskError(f"it uses git {name}, which would create something")
    formats = [*parsed.given.get("--format", []), *parsed.given.get("--pretty", [])]
    if any(re.search(r"%G|%\(signature|%\(\*?raw", one) for one in formats):
        raise MustAskError("it uses a format that runs gpg or prints objects")


def _config(folder: str, rest: list[str]) -> GitUse:
    asked = rest[1:] if rest[:1] in (["--get"], ["get"]) else rest
    if len(asked) == 1 and _CONFIG_KEYS.fullmatch(asked[0]):
        return GitUse(folder, [])
    raise MustAskError("it uses git config")


def _paths_in(operand: str) -> list[str]:
    """Return every path that a revision, a pathspec or a line range may name.

    A colon ends a revision, a stage or the magic of a pathspec, but may also stand in a date.
    """
    if operand.startswith((":!", ":^", ":(exclude)")):
        return []
    if operand.startswith(":("):
        raise MustAskError("it uses a pathspec with magic words")
    after = [operand[place + 1 :] for place, one in enumerate(operand) if one == ":"]
    named = [operand, *after] if not operand.startswith(":") else after
    paths = [path.removeprefix("/") if operand.startswith(":/") else path for path in named]
    if any(_may_fit_secret(path) for path in paths):
        raise MustAskError("it uses a pathspec that could fit secrets")
    return [path or "." for path in paths]


def _may_fit_secret(pathspec: str) -> bool:
    """Say whether a pathspec may match files with secrets; its ``*`` matches slashes too.

    A pattern for all files of one short ending is judged by that ending alone.
    """
    if re.search(r"[?\[\\]", pathspec):
        return True
    if "*" not in pathspec:
        return False
    ending = pathspec.rpartition("*")[2].lower()
    if has_secret_name([f"x{ending}"]):
        return True
    if re.fullmatch(r"\.[a-z0-9]{1,5}", ending):
        return False
    return any(
        one.endswith(ending) if ending else fnmatch.fnmatchcase(one, pathspec.lower())
        for one in SECRET_SAMPLES
    )
