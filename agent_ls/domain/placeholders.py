"""Fills the placeholders of a command's or skill's text, and finds the commands that it runs first.

The notation is Claude Code's: ``$ARGUMENTS``, ``$ARGUMENTS[0]``, ``$0``, ``$NAME`` and
``${CLAUDE_…}``; a command stands in backquotes behind an exclamation mark. Its documentation
counts ``$N`` from 0 in skills; what it said of commands, and most files have, counts from 1.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from typing import Literal

from agent_ls.domain.shell_quotes import open_quote, quoted_in

_PLACEHOLDER = re.compile(
    r"(?<!\\)(?P<escapes>\\*)\$(?P<token>ARGUMENTS\[(?P<index>\d+)\]|(?P<all>ARGUMENTS)\b"
    r"|(?P<number>\d+)|(?P<name>[^\W\d]\w*))"
)
_COUNTS_FROM_0 = re.compile(r"(?<!\\)\$(?:0(?!\d)|ARGUMENTS\[)")
_VARIABLE = re.compile(r"\$\{(CLAUDE_\w+)\}")
_COMMAND = re.compile(
    r"(?<!\S)!`(?P<line>[^`\n]+)`"
    r"|^[ \t]*```![ \t]*\n(?P<block>(?:(?![ \t]*```).*\n)*?)[ \t]*```[ \t]*$",
    re.MULTILINE,
)
_OF_PLUGINS = re.compile(r"\$\{CLAUDE_PLUGIN_\w+\}")
_MAX_NUMBER = 9
"""Counted from 1, ``$10`` is money."""


@dataclass(frozen=True, slots=True)
class Given:
    """What a text is filled with."""

    arguments: str
    """As the user typed them."""
    base: Literal[0, 1]
    """The number of the first argument in ``$N``."""
    names: Sequence[str] = ()
    """Of the arguments, in their order."""
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    """What ``${NAME}`` stands for; any other stays as it is."""
    has_hint: bool = False
    """The file says what arguments it takes, so a missing one is known to be empty."""
    about_commands: str = "called first; its result is below"
    """What is said behind a command of the text."""


def base_of(template: str, *, is_skill: bool) -> Literal[0, 1]:
    """Return whether ``$N`` counts from 0, as in skills, or from 1.

    A command that uses ``$0`` or ``$ARGUMENTS[N]`` follows the newer documentation, which counts
    from 0.
    """
    return 0 if is_skill or _COUNTS_FROM_0.search(template) else 1


def filled(template: str, given: Given) -> tuple[str, tuple[str, ...]]:
    """Return the text, and the commands that it runs first, in their order.

    Arguments that no placeholder receives are appended. What an argument holds is never read as a
    placeholder or as a command.
    """
    words = _words(given.arguments)
    pieces: list[str] = []
    commands: list[str] = []
    is_received = False
    for piece, is_command in _pieces(template):
        text, receives = _filled(piece, given, words, is_command=is_command)
        is_received = is_received or receives
        if is_command:
            commands.append(text)
            text = _shown(text, given.about_commands)
        pieces.append(text)
    if given.arguments and not is_received:
        pieces.append(f"\n\nARGUMENTS: {given.arguments}")
    return "".join(pieces), tuple(commands)


def words_and_rest(arguments: str, most: int) -> list[str]:
    """Return at most so many words, split as for ``$1``; the last is all that is left, as typed."""
    found: list[str] = []
    rest = arguments.strip()
    while rest and len(found) < most:
        if len(found) == most - 1:
            words = _words(rest)
            return [*found, words[0] if len(words) == 1 else rest]
        read = StringIO(rest)
        lexer = shlex.shlex(read, posix=True)
        lexer.whitespace_split, lexer.commenters = True, ""
        try:
            word = lexer.get_token() or ""
            rest = rest[read.tell() :].lstrip()
        except ValueError:
            word, _, rest = rest.partition(" ")
        found.append(word)
    return found


def names_plugins(text: str) -> bool:
    """Say whether a text uses a folder that only plugins have."""
    return _OF_PLUGINS.search(text) is not None


def _pieces(template: str) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a template, each with whether it is a command."""
    end = 0
    for found in _COMMAND.finditer(template):
        yield template[end : found.start()], False
        yield found["line"] or (found["block"] or "").removesuffix("\n"), True
        end = found.end()
    yield template[end:], False


def _shown(command: str, words: str) -> str:
    shown = f"```\n{command}\n```\n" if "\n" in command else f"`{command}` "
    return f"{shown}({words})"


def _filled(text: str, given: Given, words: Sequence[str], *, is_command: bool) -> tuple[str, bool]:
    """Return a text with its placeholders filled, and whether one received an argument.

    In a command a folder is quoted for the shell: its name may hold blanks and worse.
    """
    is_received = False

    def variable(found: re.Match[str]) -> str:
        if (value_of := given.variables.get(found[1])) is None:
            return found[0]
        return quoted_in(open_quote(text[: found.start()]), value_of) if is_command else value_of

    def value(found: re.Match[str]) -> str:
        nonlocal is_received
        put = _value(found, given, words)
        if put is None:
            return found[0]
        if found["escapes"] == "\\":
            return f"${found['token']}"
        is_received = is_received or put[1]
        return found["escapes"] + put[0]

    return _PLACEHOLDER.sub(value, _VARIABLE.sub(variable, text)), is_received


def _value(found: re.Match[str], given: Given, words: Sequence[str]) -> tuple[str, bool] | None:
    """Return what a placeholder stands for, and whether that is an argument; None: for itself."""
    if found["all"]:
        return given.arguments, True
    if (name := found["name"]) is not None:
        if name not in given.names:
            return None
        at = given.names.index(name)
        # A named argument that is missing is known to be empty.
        return (words[at] if at < len(words) else ""), True
    at = int(found["index"]) if found["index"] else int(found["number"]) - given.base
    if 0 <= at < len(words) and (given.base == 0 or at < _MAX_NUMBER or found["index"]):
        return words[at], True
    is_counted = given.base == 0 or 0 <= at < _MAX_NUMBER
    if given.has_hint and is_counted and found["escapes"] != "\\":
        return "", False
    # An escaped one loses its backslash all the same.
    return (f"${found['token']}", False) if found["escapes"] == "\\" else None


def _words(arguments: str) -> list[str]:
    """Split arguments as a shell does; at blanks where a quote is never closed."""
    try:
        return shlex.split(arguments)
    except ValueError:
        return arguments.split()
