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
from itertools import pairwise
from typing import Literal

from agent_ls.safety.text import words
from agent_ls.syntax.parsing import Node, Tree, parse_shell, walk

UNKNOWN = "\0"
"""Placeholder in a word for text that only the running shell knows."""
SHELLS = words("sh bash dash zsh ksh ash fish mksh")
TEMPORARY = ("/tmp", "/var/tmp")
_MAX_PARTS = 2_000
_MAX_READ_TWICE_CHARS = 100_000
_COMMANDS = ("command", "declaration_command", "unset_command")
_NO_WORDS = words(
    """
    variable_assignment file_redirect heredoc_redirect herestring_redirect comment
    """
)
_EXPANSIONS = words(
    """
    simple_expansion expansion command_substitution arithmetic_expansion process_substitution
    brace_expression
    """
)
_TEXTS = ("raw_string", "ansi_c_string", "string_content", "word")
_FREE_TARGETS = words("/dev/null /dev/stdout /dev/stderr /dev/tty")
_DIVIDED = re.compile(r"\S\\\r?\n\S")
_PATTERN = re.compile(r"[*?\[\]{}~^!#\\]")
_PLAIN_NODES = words(
    """
    program list pipeline command command_name word string string_content raw_string number
    redirected_statement file_redirect file_descriptor concatenation && || ; | > >> &> >& 2>&1
    """
) | {'"', "\n", "'"}


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
    writes: tuple[tuple[str, int], ...] = ()
    """Files that ``>`` writes, without /dev/null and the like; and how many programs stand before.
    """
    functions: frozenset[str] = frozenset()
    """The functions that it defines; their bodies' programs are among the parts."""
    others: tuple[str, ...] = ()
    """The values of variables, and the words that ``for`` goes through."""
    sets_for_one: bool = False
    """Whether it sets a variable for one program alone."""
    is_plain: bool = True
    """Whether every word is written out, and the shell does no more than to start programs."""
    is_certain: bool = True
    """Whether it was read as it stands, and no quoted text looks like one that the shell runs."""
    has_background: bool = False


def read_parts(text: str) -> ShellText | None:
    """Return what a shell text starts; None if it cannot be read."""
    tree, is_certain = _parsed(text), True
    if tree is None and len(text) <= _MAX_READ_TWICE_CHARS:
        # The grammar stumbles over words behind the end word of a here-document.
        tree, is_certain = _parsed(_HERE_DOCUMENT.sub(_without_body, text)), False
    if tree is None:
        return None
    try:
        return _read(tree, text, is_certain=is_certain)
    except RecursionError:
        # Words within words, hundreds of times.
        return None


def _read(tree: Tree, text: str, *, is_certain: bool) -> ShellText | None:
    nodes = list(walk(tree.root_node))
    # The shell joins a word that a line end divides, and what touches a substitution.
    is_certain = is_certain and "`" not in text and not _DIVIDED.search(text)
    # Builtins such as ``test -v 'a[$(x)]'`` run what stands in a quoted text.
    is_certain &= not any("$(" in _word(one) for one in nodes if one.type in _TEXTS)
    commands = [one for one in nodes if one.type in _COMMANDS]
    if len(commands) > _MAX_PARTS or any(map(_has_stray_words, nodes)):
        return None
    # To ask each node for its parent would search the tree from its top.
    above = {child.id: one for one in nodes for child in one.children}
    written = ((one, _words(one, above.get(one.id))) for one in commands)
    started = [
        (one.start_byte, Part(found, _fed_by(one, above))) for one, found in written if found
    ]
    redirects = [(one.start_byte, *_target(one)) for one in nodes if one.type == "file_redirect"]
    return ShellText(
        tuple(part for _, part in started),
        reads=tuple(target for _, target, writes in redirects if target and not writes),
        writes=tuple(
            (target, sum(start < at for start, _ in started))
            for at, target, writes in redirects
            if writes and target not in _FREE_TARGETS
        ),
        functions=frozenset(
            _text(name)
            for one in nodes
            if one.type == "function_definition" and (name := one.child_by_field_name("name"))
        ),
        others=tuple(
            _word(value)
            for one in nodes
            for value in one.children_by_field_name("value")
            if one.type in ("variable_assignment", "for_statement")
        ),
        sets_for_one=any(
            one.type == "command" and one.named_children[0].type == "variable_assignment"
            for one in nodes
            if one.named_children
        ),
        is_plain=is_certain
        and all(
            one.type in _PLAIN_NODES and not (one.type == "word" and _PATTERN.search(_text(one)))
            for one in nodes
        ),
        is_certain=is_certain,
        has_background=any(one.type == "&" for one in nodes),
    )


_HERE_DOCUMENT = re.compile(
    r"<<-?[ \t]*(['\"]?)(\w{1,64})\1(?P<rest>[^\n]*\n)(?P<body>(?:.*\n)*?)[ \t]*\2(?=\n|\Z)"
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
    if part.name == "eval":
        yield " ".join(part.words[1:])
    for option, word in pairwise(part.words):
        text = word.partition("=")[2] if re.match(r"\w+=\w", word) else word
        is_text = bool(re.search(r"[\s;&|()`<>]", text) and re.search(r"\w", text))
        is_script = part.name in SHELLS and bool(re.fullmatch(r"-\w*c", option))
        if (is_text and UNKNOWN not in text) or is_script:
            yield text


def base_name(word: str) -> str:
    """Return the name of a program without its folder."""
    return word.rpartition("/")[2]


def at_home(path: str) -> str:
    """Return the path with ``~`` expanded; unchanged if it holds unknown text."""
    # Path.expanduser raises for an unknown user, and both do for a name with the placeholder.
    is_home = path.startswith("~") and UNKNOWN not in path
    return os.path.expanduser(path) if is_home else path  # noqa: PTH111


def _words(node: Node, above: Node | None) -> tuple[str, ...]:
    found: list[str] = []
    if node.type != "command":
        found.append(_text(node.children[0]))
    for child in node.named_children:
        if child.type not in _NO_WORDS:
            found.append(_word(child.named_children[0] if child.type == "command_name" else child))
    return (*found, *map(_word, words_behind_redirections(node, above)))


def words_behind_redirections(node: Node, above: Node | None) -> Iterator[Node]:
    """Yield the words of a command that the grammar takes for parts of its redirections.

    ``above`` is the parent of its node.
    """
    is_body = above is not None and above.type == "redirected_statement"
    for one in (*node.children, *(above.children if above is not None and is_body else ())):
        yield from _stray_words(one)


def _stray_words(redirection: Node) -> Iterator[Node]:
    if redirection.type == "file_redirect":
        yield from redirection.children_by_field_name("destination")[1:]
    elif redirection.type == "heredoc_redirect":
        yield from redirection.children_by_field_name("argument")
        for child in redirection.children:
            yield from _stray_words(child)


def _has_stray_words(node: Node) -> bool:
    """Say whether words behind a redirection belong to a command that cannot be told."""
    body = node.child_by_field_name("body") if node.type == "redirected_statement" else None
    if body is None or body.type == "command":
        return False
    return any(True for one in node.children for _ in _stray_words(one))


def _fed_by(node: Node, parents: Mapping[int, Node]) -> Literal["", "program", "text"]:
    above = parents.get(node.id)
    while above is not None and above.type in ("redirected_statement", "negated_command"):
        if _has_here_document(above.children):
            return "text"
        node, above = above, parents.get(above.id)
    if _has_here_document(node.children):
        return "text"
    is_piped = above is not None and above.type == "pipeline" and above.named_children[0] != node
    return "program" if is_piped else ""


def _has_here_document(nodes: Iterable[Node]) -> bool:
    return any(one.type.startswith("here") for one in nodes)


def _target(node: Node) -> tuple[str, bool]:
    """Return the file of a redirection, and whether it is written; empty for a descriptor."""
    sign = next((one.type for one in node.children if not one.is_named), "")
    goal = next(iter(node.children_by_field_name("destination")), None)
    if goal is None:
        return "", False
    target = _word(goal)
    if sign in ("<&", ">&") and (target.isdigit() or target == "-"):
        return "", False
    return target, sign not in ("<", "<&")


def _word(node: Node) -> str:
    """Return a word without its quotes."""
    match node.type:
        case "raw_string":
            return _text(node)[1:-1]
        case "ansi_c_string":
            with suppress(ValueError):
                return _text(node)[2:-1].encode("latin-1").decode("unicode_escape")
            return UNKNOWN
        case "string" | "concatenation" | "translated_string":
            return _joined(node)
        case one if one in _EXPANSIONS:
            return UNKNOWN
        case _:
            if node.named_children and node.type != "word":
                return _joined(node)
            return re.sub(r"\\(\n|.)", lambda one: one[1].strip("\n"), _text(node))


def _joined(node: Node) -> str:
    """Return the text of a word that has parts; between them stands what is no part."""
    data, at = node.text or b"", node.start_byte
    found = list[str]()
    for child in node.named_children:
        found.append(_between(data[at - node.start_byte : child.start_byte - node.start_byte]))
        is_text = child.type == "string_content"
        found.append(_between(child.text or b"") if is_text else _word(child))
        at = child.end_byte
    found.append(_between(data[at - node.start_byte :]))
    return "".join(found)


def _between(data: bytes) -> str:
    """Return the text between the parts of a word: quotes are gone, escapes are read."""
    text = data.decode("utf-8", "replace").removeprefix("$")
    return re.sub(r'\\([\"\\$`\n])|"', lambda one: (one[1] or "").strip("\n"), text)


def _text(node: Node) -> str:
    """Return the text of a node as written."""
    return (node.text or b"").decode("utf-8", "replace")
