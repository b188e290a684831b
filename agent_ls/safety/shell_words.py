"""Reads words of a shell command strictly: quotes, escapes, patterns and plain variables.

Bash reads the same from every accepted text; all other texts are refused. Owns words;
``shell_reading`` reads what they form.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, replace

from agent_ls.safety.flags import MustAskError
from agent_ls.safety.text import has_hidden

MAX_COMMAND_CHARS = 10_000

NUMBER = "\ue000"
"""Placeholder in a word for a number known only at run time; refused in commands."""
TEXT = "\ue004"
"""Placeholder in a word for what a command in double quotes will print; refused in commands."""
_QUOTED, _BARE, _COUNTED, _END = "\ue001", "\ue002", "\ue005", "\ue003"
"""Marks around a variable's name: its start in quotes, outside, in a calculation, and its end."""
_USE = re.compile(f"([{_QUOTED}{_BARE}{_COUNTED}])([^{_END}]*){_END}")
_UNSPLIT = re.compile(f"[\\w./:=@%+,{NUMBER}-]+")
"""Values that need no quotes: they stay one word and are no pattern."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a command."""

    value: str
    """The unquoted value; of a pattern the pattern itself."""
    start: int
    """Where the written word begins in the text, in code points, like ``end``."""
    end: int
    is_pattern: bool = False
    """Whether the shell expands it to file names."""
    is_plain: bool = True
    """Written without quotes, escapes and variables."""

    def filled(self, variables: Mapping[str, str]) -> Word:
        """Return the word with the values of its variables.

        Errors: ``MustAskError`` for one that is not known, or that would become more words.
        """
        if _END not in self.value:
            return self
        return replace(self, value=_USE.sub(lambda use: _value(use, variables), self.value))


def _value(use: re.Match[str], variables: Mapping[str, str]) -> str:
    value = variables.get(use[2])
    if value is None:
        raise MustAskError(f"it uses ${use[2]}, whose value is not known")
    if use[1] == _COUNTED:
        # The shell evaluates the value as an expression, which can run commands.
        if not re.fullmatch(f"-?[0-9]{{1,18}}|{NUMBER}", value):
            raise MustAskError(f"it calculates with ${use[2]}, which may be no number")
        return ""
    if use[1] == _BARE and not _UNSPLIT.fullmatch(value):
        raise MustAskError(f"${use[2]} may become several words; quote it")
    return value


def check_text(command: str) -> None:
    """Refuse a text that is too long or empty, or holds invisible or look-alike characters."""
    if len(command) > MAX_COMMAND_CHARS:
        raise MustAskError(f"it is longer than {MAX_COMMAND_CHARS:,} characters")
    if not command.strip():
        raise MustAskError("it is empty")
    _check_characters(command)


def _check_characters(command: str) -> None:
    """Refuse invisible characters and look-alikes."""
    if has_hidden(command) or any(not (c.isprintable() or c in "\n\t") for c in command):
        raise MustAskError("it holds control or invisible characters")
    for word in re.findall(r"[^\W_]+", command):
        if not word.isascii() and _is_look_alike(word):
            raise MustAskError(f"{word!r} mixes letters that look alike")


def _is_look_alike(word: str) -> bool:
    scripts = {unicodedata.name(c, "?").split(" ", 1)[0] for c in word if c.isalpha()}
    mixed = len(scripts & {"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC"}) > 1
    return mixed or unicodedata.normalize("NFKC", word) != unicodedata.normalize("NFC", word)


_UNQUOTED = re.compile(r"[A-Za-z0-9_./:=@%+,^*?\[\]~!#-]|[^\x00-\x7f]")
_ESCAPABLE = " *?[]().|+$^;&<>\\'\"#!{}/-:,"
_VARIABLE = re.compile(r"\$(?:([A-Za-z_][A-Za-z0-9_]*|[?#$])|\{([A-Za-z_][A-Za-z0-9_]*)\})")
_TERM = r"[ \t]*[-+!~]?[ \t]*(?:[0-9]+|[A-Za-z_][A-Za-z0-9_]*)[ \t]*"
_OPERATOR = r"(?:\*\*?|\+(?!\+)|-(?!-)|[/%]|[<>]=?|[=!]=|&&|\|\|)"
_TERMS = f"{_TERM}(?:{_OPERATOR}{_TERM})*"
_TERM_OR_GROUP = rf"(?:{_TERM}|[ \t]*\({_TERMS}\)[ \t]*)"
_CALCULATION = re.compile(rf"\$\(\(({_TERM_OR_GROUP}(?:{_OPERATOR}{_TERM_OR_GROUP})*)\)\)")
"""Arithmetic that assigns nothing and has no subscripts, which could hold commands."""
_BRACES = re.compile(r"[@^]\{[a-z0-9]*\}|\{\}")
"""Braces that the shell does not expand: git's references, and an empty pair."""


_OUT_OF_PLACE = {
    "<<<": "it gives text as input with <<<",
    "<<": "it gives text as input with <<",
    ">": "it writes into a file with >",
    "&": "it leaves a command running with &",
}


def out_of_place(rest: str) -> str:
    """Describe the unexpected text at this position."""
    for sign, words in _OUT_OF_PLACE.items():
        if rest.startswith(sign):
            return words
    return f"it uses {rest[0]!r} outside of quotes" if rest else "a word is missing at its end"


class WordReader:
    """Reads words from left to right; refuses what it does not know."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

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
            if character in " \t\n;|&<>)":
                break
            if character == "$":
                value.append(self._variable(_BARE))
                is_plain = False
            elif character in "'\"\\":
                value.append(self._quoted(character))
                is_plain = False
            elif braces := _BRACES.match(self._text, self._at):
                value.append(braces[0])
                self._at = braces.end()
            elif _UNQUOTED.match(character):
                is_pattern = is_pattern or character in "*?["
                if character == "~" and self._expands_tilde(start):
                    raise MustAskError("it names a home folder with ~")
                value.append(character)
                self._at += 1
            else:
                raise MustAskError(f"it uses {character!r} outside of quotes")
        written = self._text[start : self._at]
        if not written:
            raise MustAskError(out_of_place(self._text[start:]))
        if written.isdigit() and self._text[self._at : self._at + 1] in ("<", ">"):
            raise MustAskError("it redirects a numbered descriptor")
        return Word("".join(value), start, self._at, is_pattern, is_plain)

    def _variable(self, kind: str) -> str:
        if calculation := _CALCULATION.match(self._text, self._at):
            self._at = calculation.end()
            names = re.findall(r"[A-Za-z_][A-Za-z0-9_]*", calculation[1])
            return "".join(f"{_COUNTED}{name}{_END}" for name in names) + NUMBER
        found = _VARIABLE.match(self._text, self._at)
        if found is None:
            if self._text.startswith("$((", self._at):
                raise MustAskError("it calculates with more than numbers")
            if self._text.startswith("$(", self._at):
                raise MustAskError("it uses what another command prints")
            raise MustAskError("it uses '$' for more than a plain variable")
        self._at = found.end()
        return f"{kind}{found[1] or found[2]}{_END}"

    def _printed(self) -> str:
        """Read a command in double quotes, whose output becomes part of the word."""
        raise MustAskError("it uses what another command prints")

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
            raise MustAskError("a quote is not closed")
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
            if re.match(r"\$\((?!\()", self._text[self._at : self._at + 3]):
                value.append(self._printed())
                continue
            if character == "$":
                value.append(self._variable(_QUOTED))
                continue
            if character == "`":
                raise MustAskError("it uses '`' inside double quotes")
            if character == "\\":
                following = self._text[self._at + 1 : self._at + 2]
                if following in ("\n", ""):
                    raise MustAskError("a quoted line is continued")
                # Inside double quotes a backslash stays unless it has something to escape.
                value.append(following if following in '$`"\\' else character + following)
                self._at += 2
                continue
            value.append(character)
            self._at += 1
        raise MustAskError("a quote is not closed")

    def _escaped(self) -> str:
        following = self._text[self._at + 1 : self._at + 2]
        if not following or following not in _ESCAPABLE:
            raise MustAskError("it escapes a character that needs no escape")
        self._at += 2
        return following
