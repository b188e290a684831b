"""Reads a shell command twice, with our strict reader and with the grammar, into a tree.

Neither of the two is bash. A command is understood only if both find the same words in the same
order and nesting. Owns reading; ``commands`` decides.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from agent_ls.safety.flags import MustAskError, words
from agent_ls.safety.shell_grammar import Spans, check_against_grammar
from agent_ls.safety.shell_tree import (
    Assignment,
    Command,
    Connector,
    Element,
    For,
    Group,
    If,
    Pipeline,
    Sequence,
    WhileRead,
)
from agent_ls.safety.shell_words import NUMBER, TEXT, Word, WordReader, check_text, out_of_place

_MAX_PARTS = 50
_MAX_DEPTH = 8


def read_shell(command: str) -> Sequence:
    """Return the commands of a text, at least one.

    Errors: ``MustAskError`` for everything that is not words, quotes, plain variables and
    their assignment, plain arithmetic, commands in double quotes, pipes, ``&& || ; ! time``, line
    ends, groups, loops over words or lines, branches, input from a file, and output to a file or to
    another descriptor.
    """
    check_text(command)
    parser = _Parser(command)
    tree = parser.whole()
    if parser.count > _MAX_PARTS:
        raise MustAskError(f"it has more than {_MAX_PARTS} parts")
    check_against_grammar(command, parser.spans)
    return tree


_FILTERS = words("head tail wc sort uniq cat")
_NO_FILE = re.compile(r"-[A-Za-z]*\d*|\d+")


def runs_only_git(command: str) -> bool:
    """Say whether a text is plain commands of git, with ``cd`` and filters that get no file.

    Shape: False also if it is not read.
    """
    try:
        tree = read_shell(command)
    except MustAskError:
        return False
    return all(
        isinstance(one, Command) and _is_git_or_filter(one, is_fed=place > 0)
        for pipeline in tree
        for place, one in enumerate(pipeline.elements)
    )


def _is_git_or_filter(command: Command, *, is_fed: bool) -> bool:
    name, *values = (word.value for word in command.words)
    if command.printed or command.reads:
        return False
    is_filter = is_fed and name in _FILTERS and all(map(_NO_FILE.fullmatch, values))
    return name in ("git", "cd") or is_filter


_OPERATOR = re.compile(r"&&|\|\||;(?!;|&)|\n")
_PIPE = re.compile(r"\|&|\|(?!\|)")
_REDIRECTION = re.compile(
    r"(?:[12]?>>?|&>>?)[ \t]*/dev/null(?=[\s|;&)]|$)|(?:0?<)[ \t]*/dev/null(?=[\s|;&)]|$)"
    r"|[12]?>&[12](?=[\s|;&)]|$)"
)
_INPUT = re.compile(r"0?<(?![<>&(])[ \t]*")
_OUTPUT = re.compile(r"(?:[12]?>>?|&>>?)(?![<>&|(])[ \t]*")
_KEYWORD = re.compile(r"(?:\{|\}|!|\[\[|[a-z]+)(?=[\s;|&()<>]|$)")
_RESERVED = words(
    "if then elif else fi for while until do done case esac in select function time coproc { } ! "
    "[[ ]]"
)
_ASSIGNED = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=")


@dataclass(slots=True)
class _Found:
    """Words and input files read so far."""

    words: list[Word] = field(default_factory=list[Word])
    reads: list[Word] = field(default_factory=list[Word])
    writes: list[Word] = field(default_factory=list[Word])


class _Parser(WordReader):
    """Parses a text from left to right; refuses what it does not know."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.count = 0
        self.spans: list[Spans] = []
        """Word positions of all commands and loops, to compare with the grammar."""
        self._depth = 0
        self._inner: list[Sequence] = []
        """Commands in double quotes that no command has taken yet."""

    def whole(self) -> Sequence:
        """Parse the whole text."""
        tree, _ = self._sequence(frozenset({""}))
        if not tree:
            raise MustAskError("it holds no command")
        if self._inner:
            raise MustAskError("it uses what another command prints")
        return tree

    def _printed(self) -> str:
        self._at += len("$(")
        outer, self._inner = self._inner, []
        tree, _ = self._sequence(frozenset({")"}))
        if self._inner:
            raise MustAskError("it uses what another command prints")
        self._inner = [*outer, tree]
        return NUMBER if _counts(tree) else TEXT

    def _taken(self) -> tuple[Sequence, ...]:
        """Return the commands in double quotes in the words just read."""
        taken, self._inner = tuple(self._inner), []
        return taken

    def _sequence(self, ends: frozenset[str]) -> tuple[Sequence, str]:
        """Read up to and including one of ``ends``; "" stands for the end of the text."""
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise MustAskError("it is nested too deeply")
        found: list[Pipeline] = []
        connector: Connector = ""
        while True:
            self._skip_lines()
            end = self._end(ends)
            if end is not None:
                if connector in ("&&", "||") or not (found or "" in ends):
                    raise MustAskError("an operator or keyword has nothing behind it")
                self._depth -= 1
                return tuple(found), end
            found.append(self._pipeline(connector))
            connector = self._connector(ends)

    def _skip_lines(self) -> None:
        self._skip_blanks()
        while self._text[self._at : self._at + 1] == "\n":
            self._at += 1
            self._skip_blanks()

    def _end(self, ends: frozenset[str]) -> str | None:
        """Read the end of this sequence; None if a command follows."""
        if self._at >= len(self._text):
            if "" in ends:
                return ""
            raise MustAskError("it ends before its last keyword")
        if ")" in ends and self._text[self._at] == ")":
            self._at += 1
            return ")"
        keyword = self._keyword()
        if keyword and keyword in ends:
            self._at += len(keyword)
            return keyword
        return None

    def _keyword(self) -> str:
        found = _KEYWORD.match(self._text, self._at)
        return found[0] if found and found[0] in _RESERVED else ""

    def _connector(self, ends: frozenset[str]) -> Connector:
        """Read the operator after a pipeline, which may be missing at an end."""
        if operator := _OPERATOR.match(self._text, self._at):
            self._at = operator.end()
            if operator[0] == "&&":
                return "&&"
            return "||" if operator[0] == "||" else ";"
        closes = ")" in ends and self._text[self._at : self._at + 1] == ")"
        if self._at < len(self._text) and not closes:
            raise MustAskError(out_of_place(self._text[self._at :]))
        return ";"

    def _pipeline(self, connector: Connector) -> Pipeline:
        is_negated = self._keyword() == "!"
        if is_negated:
            self._at += 1
            self._skip_blanks()
        elements = [self._timed() if self._keyword() == "time" else self._element()]
        while pipe := _PIPE.match(self._text, self._at):
            self._at = pipe.end()
            self._skip_lines()
            elements.append(self._element())
        return Pipeline(connector, tuple(elements), is_negated)

    def _timed(self) -> Element:
        """Read a simple command behind ``time``, which the grammar takes for the program."""
        words = [self._word()]
        self._skip_blanks()
        if re.match(r"-p[ \t]", self._text[self._at :]):
            words.append(self._word())
            self._skip_blanks()
        if keyword := self._keyword():
            raise MustAskError(f"it uses {keyword!r} behind 'time'")
        return self._simple(*words)

    def _element(self) -> Element:
        """Read a command or a compound, and the redirections behind it."""
        if self._text[self._at : self._at + 1] == "(":
            if self._text.startswith("((", self._at):
                raise MustAskError("it uses '(('")
            self._at += 1
            return self._compound(Group(self._sequence(frozenset({")"}))[0], is_subshell=True))
        match self._keyword():
            case "":
                return self._simple()
            case "{":
                self._at += 1
                return self._compound(Group(self._sequence(frozenset({"}"}))[0], is_subshell=False))
            case "if":
                return self._compound(self._if())
            case "for":
                return self._compound(self._for())
            case "while":
                return self._while_read()
            case "[[":
                return self._double_bracket()
            case keyword:
                raise MustAskError(f"it uses {keyword!r}")

    def _compound(self, element: Element) -> Element:
        found = self._rest(takes_words=False)
        if found.reads:
            raise MustAskError("a group of commands gets a file as input")
        if found.writes:
            raise MustAskError("a group of commands writes to a file")
        return element

    def _if(self) -> If:
        branches: list[tuple[Sequence, Sequence]] = []
        self._at += len("if")
        end = "elif"
        while end == "elif":
            condition, _ = self._sequence(frozenset({"then"}))
            body, end = self._sequence(frozenset({"elif", "else", "fi"}))
            branches.append((condition, body))
        otherwise = self._sequence(frozenset({"fi"}))[0] if end == "else" else None
        return If(tuple(branches), otherwise)

    def _for(self) -> For:
        self._at += len("for")
        self._skip_blanks()
        name = self._word()
        self._skip_blanks()
        if not name.is_plain or self._keyword() != "in":
            raise MustAskError("it has a loop that is not over plain words")
        self._at += len("in")
        found = self._rest(takes_words=True)
        if found.reads or found.writes or not found.words or self._inner:
            raise MustAskError("it has a loop that is not over plain words")
        self._note(name, *found.words)
        return For(name.value, tuple(found.words), self._do())

    def _while_read(self) -> WhileRead:
        self._at += len("while")
        self._skip_blanks()
        head = self._simple()
        names = (
            head.words[1:] if isinstance(head, Command) and head.words[0].value == "read" else ()
        )
        if names and names[0].value == "-r":
            names = names[1:]
        if (
            not isinstance(head, Command)
            or not names
            or not all(one.is_plain and not one.is_pattern for one in head.words)
            or head.sets not in ((), ("IFS",))
            or head.reads
            or head.writes
            or head.printed
        ):
            raise MustAskError("it has a loop that is not over plain words or lines")
        body = self._do()
        found = self._rest(takes_words=False)
        if found.writes:
            raise MustAskError("a loop writes to a file")
        return WhileRead(tuple(one.value for one in names), body, tuple(found.reads))

    def _do(self) -> Sequence:
        operator = _OPERATOR.match(self._text, self._at)
        if operator is None or operator[0] not in (";", "\n"):
            raise MustAskError("it has a loop without a body")
        self._at = operator.end()
        self._skip_lines()
        if self._keyword() != "do":
            raise MustAskError("it has a loop without a body")
        self._at += len("do")
        return self._sequence(frozenset({"done"}))[0]

    def _double_bracket(self) -> Command:
        """Read one ``[[ … ]]`` test; operators that join tests are refused."""
        found = [Word("[[", self._at, self._at + 2)]
        self._at += 2
        while found[-1].value != "]]":
            self._skip_blanks()
            if self._text.startswith(("&&", "||", "=~", "(", "<", ">"), self._at):
                raise MustAskError("it joins tests or matches patterns in double brackets")
            found.append(self._word())
            if found[-1].value == "]]" and not found[-1].is_plain:
                raise MustAskError("a test compares with its end")
        rest = self._rest(takes_words=False)
        self.count += 1
        return Command(tuple(found), tuple(rest.reads), tuple(rest.writes), printed=self._taken())

    def _simple(self, *front: Word) -> Command | Assignment:
        """Read an assignment, or a command with what is assigned for it alone, behind ``front``."""
        assigned: list[tuple[Assignment, Word]] = []
        while begin := _ASSIGNED.match(self._text, self._at):
            assigned.append(self._assignment(begin))
            if self._at < len(self._text) and self._text[self._at] not in "\n;|&<>)":
                continue
            if len(assigned) > 1:
                raise MustAskError("it sets several variables at once")
            return assigned[0][0]
        found = self._rest(takes_words=True)
        if not found.words:
            raise MustAskError("an operator or redirection stands before its command")
        if found.words[0].value != "[":
            self._note(*front, *(word for _, word in assigned), *found.words)
        self.count += 1
        return Command(
            tuple(found.words),
            tuple(found.reads),
            tuple(found.writes),
            sets=tuple(one.name for one, _ in assigned),
            printed=(*(body for one, _ in assigned for body in one.printed), *self._taken()),
        )

    def _assignment(self, begin: re.Match[str]) -> tuple[Assignment, Word]:
        """Read ``NAME=value`` and the blanks behind it; return also where it stands."""
        self._at = begin.end()
        value = Word("", self._at, self._at)
        if self._at < len(self._text) and self._text[self._at] not in " \t\n;|&<>)":
            value = self._word()
        whole = Word(begin[0], begin.start(), self._at)
        self._skip_blanks()
        self.count += 1
        return Assignment(begin[1], value, self._taken()), whole

    def _rest(self, *, takes_words: bool) -> _Found:
        """Read words and redirections up to an operator."""
        found = _Found()
        while True:
            self._skip_blanks()
            here = self._text[self._at : self._at + 1]
            redirection = _REDIRECTION.match(self._text, self._at)
            reading = None if redirection else _INPUT.match(self._text, self._at)
            writing = None if redirection else _OUTPUT.match(self._text, self._at)
            if (redirection or reading or writing) and takes_words and not found.words:
                raise MustAskError("a redirection stands before its command")
            if redirection:
                self._at = redirection.end()
            elif file := reading or writing:
                self._at = file.end()
                (found.reads if reading else found.writes).append(self._word())
            elif not here or here in "\n;|&)" or not takes_words:
                return found
            else:
                found.words.append(self._word())

    def _note(self, *words: Word) -> None:
        self.spans.append(tuple((one.start, one.end) for one in words))


def _counts(tree: Sequence) -> bool:
    """Say whether a command prints one number: it is, or ends in, ``wc -l`` of its input."""
    match tree:
        case (Pipeline(elements=(*_, Command(words=(name, option)))),):
            return name.value == "wc" and option.value in ("-l", "-w", "-c", "-m")
        case _:
            return False
