"""Reads which programs a shell text starts and with which words; nothing of what they do with them.

A search, not a proof: the grammar and the shell may read an odd text differently. Where a sandbox
holds the command that costs a failed command at most.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Literal

from agent_ls.safety.shell_words import UNKNOWN, hides_program, takes_program, text_of, word_of
from agent_ls.safety.text import words
from agent_ls.syntax.parsing import Node, Tree, parse_shell, walk

SHELLS = words("sh bash dash zsh ksh ash fish mksh")
TEMPORARY = ("/tmp", "/var/tmp")
_MAX_PARTS = 2_000
_NO_WORDS = words(
    """
    variable_assignment file_redirect heredoc_redirect herestring_redirect comment
    """
)
_FREE_TARGETS = words("/dev/null /dev/stdout /dev/stderr /dev/tty")
_BRACED = re.compile(r"^([^{}]*)\{([^{},]*,[^{}]*)\}(.*)$", re.DOTALL)
_MAX_SPELLINGS = 32
_MAX_BRACED_CHARS = 2_000
_MAX_FOLDERS = 16
_MAX_READ_TWICE_CHARS = 100_000
_COMMANDS = ("command", "declaration_command", "unset_command")
_DIVIDED = re.compile(r"\S\\\r?\n\S")
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
    others: tuple[str, ...] = ()
    """The values of variables, and the words that ``for`` goes through."""
    sets_for_one: bool = False
    """Whether it sets a variable for one program alone."""
    is_plain: bool = True
    """Whether every word is written out, and the shell does no more than to start programs."""
    is_certain: bool = True
    """Whether it was read as it stands, not without the texts of its here-documents."""
    has_background: bool = False
    runs_subscripts: bool = False
    """Whether a word hides a program in a subscript, as in ``test -v 'a[$(x)]'``."""
    begins_in: tuple[str, ...] = ()
    """Where its first programs, each a plain ``cd``, lead; the rest runs there or not at all."""

    def folders(self, cwd: Path) -> tuple[Path, ...]:
        """Return the folders in which its programs may run."""
        found = {cwd: None}
        behind = self.parts[len(self.begins_in) :]
        if any(map(_leads_elsewhere, behind)):
            # ``cd -`` leads back, so the first folder counts too.
            behind = self.parts
        else:
            for goal in self.begins_in:
                found = dict.fromkeys(place for one in found for place in _led_to(one, goal))
        for part in behind:
            goals = [one for one in part.words[1:] if not one.startswith("-")]
            goal = (goals or ["~"])[0]
            if part.name == "git" and "-C" in part.words[1:-1]:
                goal = part.words[part.words.index("-C") + 1]
            elif part.name not in ("cd", "pushd"):
                continue
            if UNKNOWN not in goal:
                places = [place for one in found for place in _led_to(one, goal)]
                found |= dict.fromkeys(places[: max(_MAX_FOLDERS - len(found), 0)])
        return tuple(found)


def _leads_elsewhere(part: Part) -> bool:
    """Say whether a program changes the folder, for itself or for what comes behind it."""
    if part.name in ("cd", "pushd", "popd"):
        return True
    return part.name != "git" and any(re.match(r"-C|--chdir", one) for one in part.words[1:])


def _led_to(folder: Path, goal: str) -> list[Path]:
    """Return where ``cd`` leads; behind a link, ``..`` is to programs another folder."""
    place = folder / at_home(goal)
    written = Path(os.path.normpath(place))
    real = os.path.realpath(place)
    return [written] if real == os.path.realpath(written) else [written, Path(real)]


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
    if tree is None and len(text) <= _MAX_READ_TWICE_CHARS:
        # The grammar stumbles over words behind the end word of a here-document.
        tree, is_certain = _parsed(_HERE_DOCUMENT.sub(_without_body, text)), False
    if tree is None:
        return None
    try:
        return _read(tree, text, follows=follows, is_certain=is_certain)
    except RecursionError:
        # Words within words, hundreds of times.
        return None


def _read(tree: Tree, text: str, *, follows: bool, is_certain: bool) -> ShellText | None:
    nodes = list(walk(tree.root_node))
    # The shell joins a word that a line end divides, and what touches a substitution.
    is_certain = is_certain and "`" not in text and not _DIVIDED.search(text)
    values = _values(nodes) if follows else {}
    commands = [one for one in nodes if one.type in _COMMANDS]
    if len(commands) > _MAX_PARTS or any(map(_has_stray_words, nodes)):
        return None
    # To ask each node for its parent would search the tree from its top.
    above = {child.id: one for one in nodes for child in one.children}
    written = [(one, _words(one, values, above.get(one.id))) for one in commands]
    parts = [Part(found, _fed_by(one, above)) for one, found in written if found]
    runs_subscripts = any(takes_program(part.words) for part in parts) or any(
        hides_program(one, values, above.get(one.id)) for one in nodes
    )
    is_certain &= not runs_subscripts
    redirects = [_target(one, values) for one in nodes if one.type == "file_redirect"]
    functions = frozenset(
        text_of(name)
        for one in nodes
        if one.type == "function_definition" and (name := one.child_by_field_name("name"))
    )
    is_plain = all(
        one.type in _PLAIN_NODES and not (one.type == "word" and _PATTERN.search(text_of(one)))
        for one in nodes
    )
    return ShellText(
        tuple(parts),
        reads=tuple(target for target, writes in redirects if target and not writes),
        writes=tuple(
            target for target, writes in redirects if writes and target not in _FREE_TARGETS
        ),
        functions=functions,
        others=tuple(
            word_of(value, values)
            for one in nodes
            for value in one.children_by_field_name("value")
            if one.type in ("variable_assignment", "for_statement")
        ),
        sets_for_one=any(
            one.type == "command" and one.named_children[0].type == "variable_assignment"
            for one in nodes
            if one.named_children
        ),
        is_plain=is_plain and is_certain,
        is_certain=is_certain,
        has_background=any(one.type == "&" for one in nodes),
        runs_subscripts=runs_subscripts,
        begins_in=_begins_in(tree.root_node, nodes, {one.id: found for one, found in written}),
    )


def _begins_in(
    top: Node, nodes: Iterable[Node], written: Mapping[int, tuple[str, ...]]
) -> tuple[str, ...]:
    """Return the goals of the plain ``cd`` that a chain of ``&&`` begins with."""
    found = [one for one in top.named_children if one.type != "comment"]
    if len(found) != 1 or any(one.type == "||" for one in nodes):
        return ()
    chain: list[Node] = []
    first = found[0]
    while True:
        is_redirected = first.type == "redirected_statement"
        body = first.child_by_field_name("body") if is_redirected else first
        if body is None or body.type != "list":
            chain.insert(0, first)
            break
        # To the grammar the redirection of the last command is one of the whole chain.
        chain.insert(0, first if is_redirected else body.named_children[-1])
        first = body.named_children[0]
    # Nothing is behind the last one.
    goals = (_plain_goal(one, written.get(one.id, ())) for one in chain[:-1])
    return tuple(takewhile(bool, goals))


def _plain_goal(node: Node, written: tuple[str, ...]) -> str:
    # ``CDPATH=/x cd y`` leads elsewhere.
    is_set = any(one.type == "variable_assignment" for one in node.children)
    if len(written) != 2 or written[0] != "cd" or is_set:
        return ""
    is_odd = written[1].startswith("-") or UNKNOWN in written[1] or _PATTERN.search(written[1])
    return "" if is_odd else written[1]


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


def spellings(word: str) -> list[str]:
    """Return what braces make of a word."""
    if len(word) > _MAX_BRACED_CHARS:
        return [word]
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
                found.setdefault(text_of(name), []).append(word_of(value, {}) if value else "")
        elif node.type == "for_statement" and (name := node.child_by_field_name("variable")):
            found.setdefault(text_of(name), []).append(UNKNOWN)
    return {name: set_to[0] for name, set_to in found.items() if len(set_to) == 1}


def _words(node: Node, values: Mapping[str, str], above: Node | None) -> tuple[str, ...]:
    found: list[str] = []
    if node.type != "command":
        found.append(text_of(node.children[0]))
    for child in node.named_children:
        if child.type not in _NO_WORDS:
            inner = child.named_children[0] if child.type == "command_name" else child
            found.append(word_of(inner, values))
    return (*found, *(word_of(one, values) for one in words_behind_redirections(node, above)))


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
        if any(one.type.startswith("here") for one in above.children):
            return "text"
        node, above = above, parents.get(above.id)
    if any(one.type.startswith("here") for one in node.children):
        return "text"
    is_piped = above is not None and above.type == "pipeline" and above.named_children[0] != node
    return "program" if is_piped else ""


def _target(node: Node, values: Mapping[str, str]) -> tuple[str, bool]:
    """Return the file of a redirection, and whether it is written; empty for a descriptor."""
    sign = next((one.type for one in node.children if not one.is_named), "")
    goal = next(iter(node.children_by_field_name("destination")), None)
    if goal is None:
        return "", False
    target = word_of(goal, values)
    if sign in ("<&", ">&") and (target.isdigit() or target == "-"):
        return "", False
    return target, sign not in ("<", "<&")
