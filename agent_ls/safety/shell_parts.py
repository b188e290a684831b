"""Reads which programs a shell text starts and with which words; nothing of what they do with them.

A search, not a proof: the grammar and the shell may read an odd text differently. Where a sandbox
holds the command that costs a failed command at most.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agent_ls.safety.text import words
from agent_ls.syntax.parsing import Node, Tree, parse_shell, walk

UNKNOWN = "\0"
"""Placeholder in a word for text that only the running shell knows."""

SHELLS = words("sh bash dash zsh ksh ash")
_MAX_PARTS = 2_000
_EXPANSIONS = words(
    """
    expansion command_substitution arithmetic_expansion process_substitution brace_expression
    """
)
_NO_WORDS = words(
    """
    variable_assignment file_redirect heredoc_redirect herestring_redirect comment
    """
)
_FREE_TARGETS = words("/dev/null /dev/stdout /dev/stderr /dev/tty")
_BRACED = re.compile(r"^([^{}]*)\{([^{}]*,[^{}]*)\}(.*)$", re.DOTALL)
_MAX_SPELLINGS = 32
_MAX_FOLDERS = 16
_PATTERN = re.compile(r"[*?\[\]{}~^!#\\]")


@dataclass(frozen=True, slots=True)
class Part:
    """One program that a text starts."""

    words: tuple[str, ...]
    """Its name and arguments, without quotes; ``UNKNOWN`` where only the shell knows the text."""
    fed_by: Literal["", "program", "text"] = ""
    """Where its input comes from: another one, or a text that stands in the command."""

    @property
    def name(self) -> str:
        """Return the program's name without its folder."""
        return base_name(self.words[0])


@dataclass(frozen=True, slots=True)
class ShellText:
    """What a text starts, in the order written."""

    parts: tuple[Part, ...]
    reads: tuple[str, ...] = ()
    """Files that ``<`` reads."""
    writes: tuple[str, ...] = ()
    """Files that ``>`` writes, without /dev/null and the like."""
    functions: frozenset[str] = frozenset()
    """The functions that it defines; their bodies' programs are among the parts."""
    sets_for_one: bool = False
    """Whether it sets a variable for one program alone."""
    is_plain: bool = True
    """Whether every word is written out, and the shell does no more than to start programs."""
    is_certain: bool = True
    """Whether it was read as it stands, not without the texts of its here-documents."""
    has_background: bool = False

    def folders(self, cwd: Path) -> tuple[Path, ...]:
        """Return the folders in which its programs may run."""
        found = [cwd]
        for part in self.parts:
            goals = [one for one in part.words[1:] if not one.startswith("-")]
            goal = (goals or ["~"])[0]
            if part.name in ("cd", "pushd") and UNKNOWN not in goal:
                places = (
                    Path(os.path.normpath(one / at_home(goal))) for one in found[:_MAX_FOLDERS]
                )
                found += [one for one in places if one not in found]
            elif part.name == "git" and "-C" in part.words[1:-1]:
                goal = part.words[part.words.index("-C") + 1]
                if UNKNOWN not in goal:
                    found.append(Path(os.path.normpath(found[-1] / at_home(goal))))
        return tuple(found)


_PLAIN_NODES = words(
    """
    program list pipeline command command_name word string string_content raw_string number
    redirected_statement file_redirect file_descriptor concatenation && || ; | > >> &> >& 2>&1
    """
) | {'"', "\n", "'"}


def read_parts(text: str, *, follows: bool = True) -> ShellText | None:
    """Return what a shell text starts; None if it cannot be read.

    ``follows``: a variable that the text sets once stands for its value.
    """
    tree, is_certain = _parsed(text), True
    if tree is None:
        # The grammar stumbles over words behind the end word of a here-document.
        tree, is_certain = _parsed(_HERE_DOCUMENT.sub(_without_body, text)), False
    if tree is None:
        return None
    nodes = list(walk(tree.root_node))
    values = _values(nodes) if follows else {}
    parts: list[Part] = []
    for node in nodes:
        if node.type in ("command", "declaration_command", "unset_command"):
            words = _words(node, values)
            if words:
                parts.append(Part(words, _fed_by(node)))
    redirects = [_target(one, values) for one in nodes if one.type == "file_redirect"]
    functions = frozenset(
        _text(name)
        for one in nodes
        if one.type == "function_definition" and (name := one.child_by_field_name("name"))
    )
    is_plain = all(
        one.type in _PLAIN_NODES and not (one.type == "word" and _PATTERN.search(_text(one)))
        for one in nodes
    )
    if len(parts) > _MAX_PARTS:
        return None
    return ShellText(
        tuple(parts),
        reads=tuple(target for target, writes in redirects if target and not writes),
        writes=tuple(
            target for target, writes in redirects if writes and target not in _FREE_TARGETS
        ),
        functions=functions,
        sets_for_one=any(
            one.type == "command" and one.named_children[0].type == "variable_assignment"
            for one in nodes
            if one.named_children
        ),
        is_plain=is_plain and is_certain,
        is_certain=is_certain,
        has_background=any(one.type == "&" for one in nodes),
    )


_HERE_DOCUMENT = re.compile(
    r"<<-?[ \t]*(['\"]?)(\w+)\1(?P<rest>[^\n]*\n)(?P<body>(?:.*\n)*?)[ \t]*\2(?=\n|\Z)"
)


def _without_body(found: re.Match[str]) -> str:
    """Return a here-document as a short text, unless the shell runs something in it."""
    runs = not found[1] and ("$(" in found["body"] or "`" in found["body"])
    return found[0] if runs else f"<<< ''{found['rest']}"


def _parsed(text: str) -> Tree | None:
    tree = parse_shell(text.encode("utf-8", "replace"))
    return None if tree is None or tree.root_node.has_error else tree


def scripts_in(part: Part) -> Iterator[str]:
    """Yield the words of a program that may be a shell's text, such as those behind ``sh -c``."""
    for word in part.words[1:]:
        text = word.partition("=")[2] if re.match(r"\w+=\w", word) else word
        if UNKNOWN not in text and re.search(r"[\s;&|()`<>]", text) and re.search(r"\w", text):
            yield text


def spellings(word: str) -> list[str]:
    """Return what braces make of a word."""
    done: list[str] = []
    open_ = [word]
    while open_ and len(done) + len(open_) <= _MAX_SPELLINGS:
        one = open_.pop()
        if found := _BRACED.match(one):
            open_ += [f"{found[1]}{piece}{found[3]}" for piece in found[2].split(",")]
        else:
            done.append(one)
    return [*done, *open_]


def base_name(word: str) -> str:
    """Return the name of a program without its folder."""
    return word.rpartition("/")[2]


def at_home(path: str) -> str:
    """Return the path with ``~`` expanded; unchanged if it holds unknown text."""
    # Path.expanduser raises for an unknown user, and both do for a name with the placeholder.
    is_home = path.startswith("~") and UNKNOWN not in path
    return os.path.expanduser(path) if is_home else path  # noqa: PTH111


def _values(nodes: Iterable[Node]) -> dict[str, str]:
    """Return the variables that the text sets once, to a text that is written out."""
    found = {"HOME": ["~"], "PWD": ["."], "TMPDIR": [os.environ.get("TMPDIR", "/tmp")]}
    for node in nodes:
        if node.type == "variable_assignment":
            name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
            if name is not None:
                found.setdefault(_text(name), []).append(_word(value, {}) if value else "")
        elif node.type == "for_statement" and (name := node.child_by_field_name("variable")):
            found.setdefault(_text(name), []).append(UNKNOWN)
    return {name: set_to[0] for name, set_to in found.items() if len(set_to) == 1}


def _words(node: Node, values: Mapping[str, str]) -> tuple[str, ...]:
    words: list[str] = []
    if node.type != "command":
        words.append(_text(node.children[0]))
    for child in node.named_children:
        if child.type not in _NO_WORDS:
            inner = child.named_children[0] if child.type == "command_name" else child
            words.append(_word(inner, values))
    return tuple(words)


def _fed_by(node: Node) -> Literal["", "program", "text"]:
    above = node.parent
    while above is not None and above.type in ("redirected_statement", "negated_command"):
        if any(one.type.startswith("here") for one in above.children):
            return "text"
        node, above = above, above.parent
    if any(one.type.startswith("here") for one in node.children):
        return "text"
    is_piped = above is not None and above.type == "pipeline" and above.named_children[0] != node
    return "program" if is_piped else ""


def _target(node: Node, values: Mapping[str, str]) -> tuple[str, bool]:
    """Return the file of a redirection, and whether it is written; empty for a descriptor."""
    sign = next((one.type for one in node.children if not one.is_named), "")
    goal = node.named_children[-1] if node.named_children else None
    if goal is None or goal.type == "file_descriptor":
        return "", False
    target = _word(goal, values)
    if sign in ("<&", ">&") and (target.isdigit() or target == "-"):
        return "", False
    return target, sign not in ("<", "<&")


def _word(node: Node, values: Mapping[str, str]) -> str:
    """Return a word without its quotes."""
    match node.type:
        case "raw_string":
            return _text(node)[1:-1]
        case "ansi_c_string":
            inner = _text(node)[2:-1]
            with suppress(ValueError):
                return inner.encode("latin-1").decode("unicode_escape")
            return UNKNOWN
        case "string" | "concatenation" | "translated_string":
            return _joined(node, values)
        case "simple_expansion":
            return values.get(_text(node)[1:], UNKNOWN)
        case "expansion" if re.fullmatch(r"\$\{\w+\}", _text(node)):
            return values.get(_text(node)[2:-1], UNKNOWN)
        case one if one in _EXPANSIONS:
            return UNKNOWN
        case _:
            if node.named_children and node.type != "word":
                return _joined(node, values)
            return re.sub(r"\\(\n|.)", lambda one: one[1].strip("\n"), _text(node))


def _joined(node: Node, values: Mapping[str, str]) -> str:
    """Return the text of a word that has parts; between them stands what is no part."""
    data, at = node.text or b"", node.start_byte
    found = list[str]()
    for child in node.named_children:
        found.append(_between(data[at - node.start_byte : child.start_byte - node.start_byte]))
        found.append(
            _between(child.text or b"") if child.type == "string_content" else _word(child, values)
        )
        at = child.end_byte
    found.append(_between(data[at - node.start_byte :]))
    return "".join(found)


def _between(data: bytes) -> str:
    text = data.decode("utf-8", "replace").removeprefix("$").replace('"', "")
    return re.sub(r"\\([\"\\$`\n])", lambda one: one[1].strip("\n"), text)


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")
