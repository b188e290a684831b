"""A shell text read twice, by the grammar and by a strict reader of ours, into plain commands.

The grammar is not bash, and neither are we: what both read as the same words in the same order
is understood, and everything else is not. Owns reading; ``commands`` decides.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

from agent_ls.safety.text import has_hidden
from agent_ls.syntax.parsing import Node, parse_shell, walk

MAX_COMMAND_CHARS = 10_000
MAX_PARTS = 50

Connector = Literal["", "&&", "||", ";", "|"]


class NotUnderstoodError(Exception):
    """The text holds something beyond plain commands; the message says what."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a command."""

    value: str
    """What the program gets, quotes and escapes removed; of a pattern the pattern itself."""
    start: int
    """Code points, of the written word in the text."""
    end: int
    is_pattern: bool = False
    """Whether the shell would look for files that it fits."""
    is_plain: bool = True
    """Written without quotes and escapes."""


@dataclass(frozen=True, slots=True)
class Part:
    """One simple command."""

    connector: Connector
    """What joins it to the one before; empty for the first."""
    words: tuple[Word, ...]
    """At least one."""


def read_parts(command: str) -> tuple[Part, ...]:
    """Return the simple commands of a text, in order; at least one.

    Errors: ``NotUnderstoodError`` for everything that is not words, quotes, pipes, ``&& || ;``,
    line ends, and output to /dev/null or to another descriptor.
    """
    if len(command) > MAX_COMMAND_CHARS:
        raise NotUnderstoodError(f"it is longer than {MAX_COMMAND_CHARS:,} characters")
    if not command.strip():
        raise NotUnderstoodError("it is empty")
    _check_characters(command)
    parts = _Reader(command).parts()
    if not parts:
        raise NotUnderstoodError("it holds no command")
    if len(parts) > MAX_PARTS:
        raise NotUnderstoodError(f"it has more than {MAX_PARTS} parts")
    _check_against_grammar(command, parts)
    return parts


def _check_characters(command: str) -> None:
    """Refuse what a person would not see, or would take for something else."""
    if has_hidden(command) or any(not (c.isprintable() or c in "\n\t") for c in command):
        raise NotUnderstoodError("it holds control or invisible characters")
    for word in re.findall(r"[^\W_]+", command):
        if not word.isascii() and _is_look_alike(word):
            raise NotUnderstoodError(f"{word!r} mixes letters that look alike")


def _is_look_alike(word: str) -> bool:
    scripts = {unicodedata.name(c, "?").split(" ", 1)[0] for c in word if c.isalpha()}
    mixed = len(scripts & {"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC"}) > 1
    return mixed or unicodedata.normalize("NFKC", word) != unicodedata.normalize("NFC", word)


_UNQUOTED = re.compile(r"[A-Za-z0-9_./:=@%+,^*?\[\]~!#-]|[^\x00-\x7f]")
_ESCAPABLE = " *?[]().|+$^;&<>\\'\"#!{}/-:,"
_OPERATOR = re.compile(r"&&|\|\||\|&|\||;(?!;|&)|\n")
_REDIRECTION = re.compile(
    r"(?:[12]?>>?|&>>?)[ \t]*/dev/null(?=[\s|;&]|$)|(?:0?<)[ \t]*/dev/null(?=[\s|;&]|$)"
    r"|[12]?>&[12](?=[\s|;&]|$)"
)
_BRACES = re.compile(r"[@^]\{[a-z0-9]*\}|\{\}")
"""Braces that expand to nothing else: git's references, and an empty pair."""


class _Reader:
    """Reads one text from left to right; refuses whatever it does not know."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def parts(self) -> tuple[Part, ...]:
        found: list[Part] = []
        words: list[Word] = []
        connector: Connector = ""
        while True:
            self._skip_blanks()
            if self._at >= len(self._text):
                break
            if operator := _OPERATOR.match(self._text, self._at):
                self._at = operator.end()
                if words:
                    found.append(Part(connector, tuple(words)))
                    connector, words = _connector(operator[0]), []
                elif operator[0] != "\n" or connector == "|":
                    raise NotUnderstoodError("an operator has nothing before it")
            elif redirection := _REDIRECTION.match(self._text, self._at):
                self._at = redirection.end()
                if not words:
                    raise NotUnderstoodError("a redirection stands before its command")
            else:
                words.append(self._word())
        if words:
            found.append(Part(connector, tuple(words)))
        elif connector not in ("", ";"):
            raise NotUnderstoodError("an operator has nothing behind it")
        return tuple(found)

    def _skip_blanks(self) -> None:
        text = self._text
        while self._at < len(text):
            if text[self._at] in " \t":
                self._at += 1
            elif text.startswith("\\\n", self._at):
                self._at += 2
            elif text[self._at] == "#":
                end = text.find("\n", self._at)
                self._at = len(text) if end < 0 else end
            else:
                return

    def _word(self) -> Word:
        start, value = self._at, list[str]()
        is_pattern, is_plain = False, True
        while self._at < len(self._text):
            character = self._text[self._at]
            if character in " \t\n;|&<>":
                break
            if character in "'\"\\":
                value.append(self._quoted(character))
                is_plain = False
            elif braces := _BRACES.match(self._text, self._at):
                value.append(braces[0])
                self._at = braces.end()
            elif _UNQUOTED.match(character):
                is_pattern = is_pattern or character in "*?["
                if character == "~" and self._expands_tilde(start):
                    raise NotUnderstoodError("it names a home folder with ~")
                value.append(character)
                self._at += 1
            else:
                raise NotUnderstoodError(f"it uses {character!r} outside of quotes")
        written = self._text[start : self._at]
        if not written:
            raise NotUnderstoodError(f"it uses {self._text[start]!r} outside of quotes")
        if written.isdigit() and self._text[self._at : self._at + 1] in ("<", ">"):
            raise NotUnderstoodError("it redirects a numbered descriptor")
        return Word("".join(value), start, self._at, is_pattern, is_plain)

    def _quoted(self, character: str) -> str:
        match character:
            case "'":
                return self._single()
            case '"':
                return self._double()
            case _:
                return self._escaped()

    def _expands_tilde(self, start: int) -> bool:
        return self._at == start or self._text[self._at - 1] in "=:"

    def _single(self) -> str:
        end = self._text.find("'", self._at + 1)
        if end < 0:
            raise NotUnderstoodError("a quote is not closed")
        value = self._text[self._at + 1 : end]
        self._at = end + 1
        return value

    def _double(self) -> str:
        self._at += 1
        value: list[str] = []
        while self._at < len(self._text):
            character = self._text[self._at]
            if character == '"':
                self._at += 1
                return "".join(value)
            if character in "$`":
                raise NotUnderstoodError(f"it uses {character!r} inside double quotes")
            if character == "\\":
                following = self._text[self._at + 1 : self._at + 2]
                if following in ("\n", ""):
                    raise NotUnderstoodError("a quoted line is continued")
                # Inside double quotes a backslash stays unless it has something to escape.
                value.append(following if following in '$`"\\' else character + following)
                self._at += 2
                continue
            value.append(character)
            self._at += 1
        raise NotUnderstoodError("a quote is not closed")

    def _escaped(self) -> str:
        following = self._text[self._at + 1 : self._at + 2]
        if not following or following not in _ESCAPABLE:
            raise NotUnderstoodError("it escapes a character that needs no escape")
        self._at += 2
        return following


def _connector(operator: str) -> Connector:
    match operator:
        case "&&" | "||":
            return operator
        case "|" | "|&":
            return "|"
        case _:
            return ";"


_KNOWN_NODES = frozenset(
    {
        "program", "list", "pipeline", "command", "command_name", "word", "number", "raw_string",
        "string", "string_content", "concatenation", "redirected_statement", "file_redirect",
        "file_descriptor", "comment",
        "&&", "||", ";", "|", "|&", "\n", '"', ">", ">>", "<", "&>", "&>>", ">&",
        # The grammar splits words at these, the shell does not.
        "{", "}", ",", "..", "[", "]", "==", "=",
    }
)  # fmt: skip


def _check_against_grammar(command: str, parts: tuple[Part, ...]) -> None:
    """Refuse unless the grammar finds the same words, and nothing but them."""
    data = command.encode()
    tree = parse_shell(data)
    if tree is None or tree.root_node.has_error:
        raise NotUnderstoodError("it does not parse")
    commands: list[list[tuple[int, int]]] = []
    for node in walk(tree.root_node):
        if node.is_missing or node.type not in _KNOWN_NODES:
            raise NotUnderstoodError(f"it uses {_spoken(node.type)}")
        if node.type == "command":
            commands.append([(one.start_byte, one.end_byte) for one in _words_of(node)])
    ours = [[_bytes(command, word) for word in part.words] for part in parts]
    if sorted(commands) != ours:
        raise NotUnderstoodError("it can be read in more than one way")


def _words_of(node: Node) -> list[Node]:
    return [one for one in node.named_children if one.type not in ("file_redirect", "comment")]


def _bytes(command: str, word: Word) -> tuple[int, int]:
    if command.isascii():
        return word.start, word.end
    start = len(command[: word.start].encode())
    return start, start + len(command[word.start : word.end].encode())


def _spoken(node_type: str) -> str:
    return f"a {node_type.replace('_', ' ')}" if node_type.isidentifier() else repr(node_type)
