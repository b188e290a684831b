"""Reads the front matter of a file: what stands between two lines of ``---`` at its beginning.

It is ``key: value``, a list of ``- item`` lines, or a text that is indented below ``key: >``. It is
no strict YAML: public files hold ``argument-hint: [file] [line]`` and descriptions with colons,
which YAML refuses.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator
from contextlib import suppress

from agent_ls.domain.rules import parse_pattern
from agent_ls.loop.calls.other_agents import name_here

_FENCE = "---"
_KEY = re.compile(r"[\"']?([A-Za-z_][\w.-]*)[\"']?[ \t]*:(?!//)(.*)")
_BLOCK = re.compile(r"[>|][+-]?\d?[+-]?")
_COMMENT = re.compile(r"(?:^|\s)#.*")
_UNREADABLE = "(unreadable)"
"""The pattern of an item that cannot be read: it allows nothing, and leaves no tool whole."""
_SERVER_TOOL = re.compile(r"mcp__\w+")
_ON = frozenset({"true", "yes", "on", "1"})
_OFF = frozenset({"false", "no", "off", "0"})
_RULED = ("run_command", "edit", "tool")
"""What a pattern behind a tool's name may allow; reading needs no rule."""


def split_front(text: str, *, is_lenient: bool) -> tuple[dict[str, str], str]:
    """Return the front matter and the stripped body of a text; a list is joined with commas.

    ``is_lenient``: what cannot be read is left out, as other agents do. Errors: ``ValueError``.
    """
    lines = text.lstrip("\ufeff").splitlines()
    if not lines or lines[0].strip() != _FENCE:
        return {}, "\n".join(lines).strip()
    end = next((at for at, line in enumerate(lines) if at and line.strip() == _FENCE), None)
    if end is None:
        if is_lenient:
            return {}, "\n".join(lines).strip()
        raise ValueError("its front matter has no end: a second line of ---")
    front = _front(lines[1:end], is_lenient=is_lenient)
    return front, "\n".join(lines[end + 1 :]).strip()


def is_on(value: str, *, default: bool) -> bool:
    """Return what a switch such as ``true`` says, in any of its spellings."""
    word = plain_value(value).lower()
    return default if word not in _ON | _OFF else word in _ON


def plain_value(value: str) -> str:
    """Return the value without a comment behind it."""
    return _unquoted(_COMMENT.sub("", value))


def words_in(value: str) -> tuple[str, ...]:
    """Return the words of a list that is separated by commas or blanks."""
    return tuple(re.findall(r"[^\s,\[\]\"']+", value))


def first_line(body: str) -> str:
    """Return the first line of a body that says something, without its mark of a heading."""
    lines = (line.strip().lstrip("#").strip() for line in body.splitlines())
    return next(filter(None, lines), "")


def tools_in(value: str, *, is_foreign: bool) -> tuple[str, ...]:
    """Return the names of the tools in a list.

    Another agent's ``Bash(git add:*)`` is ``run_command``; ``rules_in`` returns the rule. Our
    ``tool(linear/*)`` is ``linear/*``.
    """
    names = (_name_in(one.strip("\"'")) for one in _listed(value))
    ours = ((is_foreign and _tool_here(name)) or name for name in names)
    return tuple(dict.fromkeys(filter(None, ours)))


def _name_in(item: str) -> str:
    tool, _, pattern = item.partition("(")
    return pattern.removesuffix(")") if tool.lower() == "tool" else tool.strip("\"'")


def rules_in(value: str) -> tuple[str, ...]:
    """Return the patterns of a list of tools as rules that narrow: ``run_command: git add *``.

    A tool that the list also names as a whole has no rules.
    """
    whole: set[str] = set()
    rules: list[tuple[str, str]] = []
    for one, subject, pattern in _ruled_in(value):
        if "(" not in one or not pattern.strip("*/ "):
            whole.add(subject)
        elif not _SERVER_TOOL.match(one):
            rules.append((subject, pattern))
    kept = (f"{subject}: {pattern}" for subject, pattern in rules if subject not in whole)
    return tuple(dict.fromkeys(kept))


def allowed_in(value: str) -> tuple[str, ...]:
    """Return the patterns of a list of tools as rules that allow, those of servers' tools too.

    A bare ``Bash`` or ``Write`` allows nothing: that is a mode's word, not a list's.
    """
    kept = (
        f"{subject}: {pattern}"
        for _, subject, pattern in _ruled_in(value)
        if pattern.strip("*/ ") and pattern != _UNREADABLE
    )
    return tuple(dict.fromkeys(kept))


def _ruled_in(value: str) -> Iterator[tuple[str, str, str]]:
    """Yield each item about a tool that has rules, with its subject and its pattern."""
    for one in _listed(value):
        item = one.strip("\"'")
        with suppress(ValueError):
            subject, pattern = _rule_of(item)
            if subject in _RULED:
                yield item, subject, pattern


def _rule_of(item: str) -> tuple[str, str]:
    """Return the subject and the pattern of an item; one that cannot be read allows nothing.

    Errors: ``ValueError`` for a tool that has no rules.
    """
    tool, has_pattern, _ = item.partition("(")
    if not has_pattern or (item.endswith(")") and item.count("(") == item.count(")")):
        with suppress(ValueError):
            return parse_pattern(item)
    return parse_pattern(tool)[0], _UNREADABLE


def _listed(value: str) -> list[str]:
    """Return the items of a list; a comment, blanks and commas in parentheses are an item's."""
    found, depth = [""], 0
    for at, character in enumerate(value):
        if not depth and character == "#" and not value[at - 1 : at].strip():
            break
        depth += (character == "(") - (character == ")" and depth > 0)
        if depth or character not in " \t\n,[]":
            found[-1] += character
        elif found[-1]:
            found.append("")
    return [one for one in found if one]


def _tool_here(name: str) -> str:
    """Return our name of another agent's tool, or the pattern of a server's; empty: none."""
    if _SERVER_TOOL.match(name):
        return parse_pattern(name)[1]
    return name_here(name)


def _front(lines: Iterable[str], *, is_lenient: bool) -> dict[str, str]:
    values: dict[str, str] = {}
    key, is_text = "", False
    for line in textwrap.dedent("\n".join(lines)).splitlines():
        is_below = line[:1].isspace() or line.startswith("- ")
        if not line.strip() or (line.lstrip().startswith("#") and not (is_text and is_below)):
            continue
        found = None if is_below and key else _KEY.fullmatch(line.strip())
        if found is not None:
            key, value = found[1], found[2].strip()
            is_block = _BLOCK.fullmatch(value) is not None
            is_text = is_block or value[:1] in ("'", '"')
            values[key] = "" if is_block else value
        elif key and (is_below or is_lenient):
            item = line.strip()
            is_item = item.startswith("- ") and not is_text
            item = plain_value(item.removeprefix("- ")) if is_item else item
            joint = ", " if is_item else " "
            values[key] = f"{values[key]}{joint}{item}" if values[key] else item
        elif not is_lenient:
            raise ValueError(f"its line {line!r} is no “key: value”")
    return {name: _unquoted(value) for name, value in values.items()}


def _unquoted(value: str) -> str:
    value = value.strip()
    if len(value) < 2 or value[0] != value[-1] or value[0] not in "\"'":
        return value
    inner = value[1:-1]
    if value[0] == "'":
        return inner.replace("''", "'")
    return re.sub(r"\\(.)", lambda found: " " if found[1] in "nrt" else found[1], inner)
