"""Turns texts into what a terminal shows: Markdown, diffs, lines, at any width.

The one door to the terminal: what leaves it has no control characters but the painter's own, also
where Markdown would make some of harmless text (``&#27;``).
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from markdown_it import MarkdownIt
from pygments.token import Comment, Keyword, Name, Number, String
from rich.cells import cell_len, chop_cells
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.markdown import CodeBlock, Heading, ListItem, Markdown, MarkdownElement, TableElement
from rich.padding import Padding
from rich.segment import Segment, Segments
from rich.style import Style
from rich.syntax import ANSISyntaxTheme, Syntax
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

from agent_ls.cli.chat.changed_words import changed_words
from agent_ls.cli.chat.diff_rows import DiffRow, FileDiff, files_of, rows_of
from agent_ls.safety.text import visible, visible_line

_CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_BLANKS = re.compile("\n{3,}")
_STYLING = re.compile("\x1b\\[[0-9;]*m")
_TAB_COLUMNS = 4
_MOST_MARKED_ROWS = 1_000
"""In a longer diff no words are marked: it would keep the screen."""
_MIN_COLUMNS = 20
_STYLES = {"added": "green", "removed": "red", "same": "", "note": "dim", "gap": "dim"}
_SIGNS = {"added": "+", "removed": "-", "same": " "}
# Colours of the terminal's own palette, and of these the ones that can be read on a dark and on a
# light ground: no bright ones, no yellow, no blue.
_THEME = Theme(
    {
        "markdown.h1": "bold underline",
        "markdown.h2": "bold",
        "markdown.h3": "bold",
        "markdown.h4": "italic",
        "markdown.code": "magenta",
        "markdown.code_block": "",
        "markdown.block_quote": "dim",
        "markdown.hr": "dim",
        "markdown.item.bullet": "bold",
        "markdown.item.number": "bold",
        "markdown.table.border": "dim",
        "markdown.table.header": "bold",
    }
)


_CODE = ANSISyntaxTheme(
    {
        Comment: Style(dim=True),
        Keyword: Style(bold=True),
        Name.Function: Style(color="magenta"),
        Name.Class: Style(color="magenta"),
        Number: Style(color="cyan"),
        String: Style(color="green"),
    }
)


class _Code(CodeBlock):
    """Code that is set in, and nothing else."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the code; what does not fit goes on in the next line."""
        code = Syntax(str(self.text).rstrip(), self.lexer_name, theme=_CODE, word_wrap=True)
        yield Padding(code, (0, 0, 0, 2))


class _Item(ListItem):
    """An item that begins where the text around it begins."""

    def render_bullet(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the item behind a bullet."""
        yield from _without_edge(super().render_bullet(console, _wider(options)))

    def render_number(
        self, console: Console, options: ConsoleOptions, number: int, last_number: int
    ) -> RenderResult:
        """Yield the item behind its number."""
        lines = super().render_number(console, _wider(options), number, last_number)
        yield from _without_edge(lines)


def _wider(options: ConsoleOptions) -> ConsoleOptions:
    return options.update(width=options.max_width + 1)


def _without_edge(lines: RenderResult) -> RenderResult:
    """Yield drawn lines without their first column, which is blank."""
    is_first = True
    for one in lines:
        if isinstance(one, Segment) and is_first:
            yield one._replace(text=one.text[1:])
        else:
            yield one
        is_first = isinstance(one, Segment) and one.text == "\n"


class _Heading(Heading):
    """A heading at the left, without a box."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the heading's words."""
        self.text.justify = "left"
        yield self.text


class _Table(TableElement):
    """A table in which no long name is cut off."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the table; what does not fit goes on in the next line."""
        for table in super().__rich_console__(console, options):
            if isinstance(table, Table):
                table.show_edge = False
                for column in table.columns:
                    column.overflow = "fold"
            yield table


_PARSER = (
    MarkdownIt()
    .enable(["strikethrough", "table"])
    # Nothing is shown for HTML, so what looks like it stays text: ``List<String>``.
    .disable(["html_inline", "html_block"])
)


class _Markdown(Markdown):
    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "code_block": _Code,
        "fence": _Code,
        "heading_open": _Heading,
        "list_item_open": _Item,
        "table_open": _Table,
    }


class Painter:
    """Draws for a terminal with the colours that it has, or none (``NO_COLOR``)."""

    def markdown(self, text: str, columns: int) -> str:
        """Return a text in Markdown as the terminal shows it, without a final line end."""
        text = visible(text)
        shown = _Markdown(text, hyperlinks=False)
        shown.parsed = _PARSER.parse(text)
        return _BLANKS.sub("\n\n", self.drawn(shown, columns)).strip("\n")

    def line(self, text: str, columns: int, style: str = "") -> str:
        """Return one line, cut to the width."""
        shown = Text(visible_line(text), style=style, no_wrap=True, overflow="ellipsis")
        shown.truncate(columns, overflow="ellipsis")
        return self.drawn(shown, columns)

    def badge(self, word: str, text: str, columns: int) -> str:
        """Return one line that a word begins which nobody overlooks."""
        shown = Text.assemble((word, "bold reverse"), " ", (visible_line(text), "bold"))
        shown.truncate(columns, overflow="ellipsis")
        return self.drawn(shown, columns)

    def rule(self, columns: int) -> str:
        """Return a line from one side to the other."""
        return self.line("─" * columns, columns, "dim")

    def sides(self, text: str, end: str, columns: int, style: str = "", *, sign: str = "") -> str:
        """Return one line whose end is always shown; the text before it is cut to the width.

        ``sign``: the style of the text's first character.
        """
        end = visible_line(end)
        room = max(columns - cell_len(end) - 2, _MIN_COLUMNS // 2)
        shown = Text(visible_line(text), style=style, no_wrap=True)
        shown.truncate(room, overflow="ellipsis")
        if sign:
            shown.stylize(sign, 0, 1)
        return self.drawn(Text.assemble(shown, "  " if end else "", (end, style)), columns)

    def rows(self, rows: Sequence[tuple[str, str]], columns: int, chosen: str = "") -> str:
        """Return keys with what each does, wrapped beside the key.

        ``chosen`` stands out: the first word of a key.
        """
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(style="bold", no_wrap=True, min_width=3)
        table.add_column()
        for key, words in rows:
            style = "reverse" if chosen and key.partition(" ")[0] == chosen else None
            table.add_row(Text(visible_line(key)), Text(visible_line(words)), style=style)
        return self.drawn(table, columns)

    def words(self, text: str, columns: int, style: str = "", *, indent: int = 0) -> str:
        """Return a plain text, wrapped to the width."""
        shown = Text(visible(text), style=style, tab_size=_TAB_COLUMNS)
        return self.drawn(Padding(shown, (0, 0, 0, indent)) if indent else shown, columns)

    def tail(self, text: str, columns: int, most_lines: int, style: str = "dim") -> list[str]:
        """Return the last lines of a text, each cut to the width."""
        lines = text.rstrip("\n").split("\n")[-most_lines:]
        return [self.line(f"  {one}", columns, style) for one in lines if one.strip()]

    def diff(self, text: str, columns: int, *, most_rows: int = 0, is_titled: bool = False) -> str:
        """Return a unified diff with line numbers and colours; ``most_rows`` 0 shows all of it.

        ``is_titled``: what stands above it names its file, if it is about one.
        """
        files = list(files_of(rows_of(text)))
        is_headed = not is_titled or sum(one.name != "" for one in files) != 1
        left = most_rows or sum(len(one.rows) for one in files)
        more = sum(len(one.rows) for one in files) - left
        is_short = left <= _MOST_MARKED_ROWS
        shown: list[RenderableType] = []
        for one in files:
            if one.name and is_headed and (left > 0 or not most_rows):
                shown += ["", *_head(one)] if shown else _head(one)
            if one.rows[:left]:
                shown.append(_table(one.rows[:left], columns, marks=is_short))
            left = max(left - len(one.rows), 0)
        if more > 0:
            shown.append(Text(f"  … {more:,} more lines; /diff shows all", style="dim"))
        return self.drawn(Group(*shown), columns)

    def drawn(self, what: RenderableType, columns: int) -> str:
        """Return anything that rich can draw, made safe, without a final line end."""
        columns = max(columns, _MIN_COLUMNS)
        console = Console(
            file=io.StringIO(),
            force_terminal=True,
            legacy_windows=False,
            width=columns,
            theme=_THEME,
            highlight=False,
            markup=False,
            emoji=False,
        )
        safe = [
            Segment(_CONTROL.sub(_escaped, one.text), one.style)
            for one in console.render(what)
            if not one.control
        ]
        with console.capture() as captured:
            console.print(Segments(safe), end="")
        lines = captured.get().rstrip("\n").split("\n")
        return "\n".join("" if _is_blank(one) else one.rstrip() for one in lines)


def _head(file: FileDiff) -> list[RenderableType]:
    return [Text.assemble((visible_line(file.name), "bold"), f"  {file.size}")]


def _table(rows: Sequence[DiffRow], columns: int, *, marks: bool) -> RenderableType:
    digits = len(str(max((one.number for one in rows), default=0)))
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(justify="right", no_wrap=True, min_width=digits + 2)
    table.add_column(no_wrap=True, width=1)
    table.add_column(overflow="fold")
    room = max(columns - digits - 5, _MIN_COLUMNS // 2)
    # What is hidden in a line, and its tabs, are wider as they are shown.
    rows = [replace(one, text=visible(one.text).expandtabs(_TAB_COLUMNS)) for one in rows]
    changed = changed_words(rows) if marks else {}
    for at, one in enumerate(rows):
        style = _STYLES[one.kind]
        text = Text(one.text, style=style)
        for first, last in changed.get(at, ()):
            text.stylize("reverse", first, last)
        sign = Text(_SIGNS.get(one.kind, ""), style=style)
        # The number of a removed line is one of the old text.
        number = Text(str(one.number or ""), style=style if one.kind == "removed" else "dim")
        first, *others = _pieces(text, room)
        table.add_row(number, sign, first)
        for piece in others:
            table.add_row("", sign, Text.assemble(("↪ ", "dim"), piece))
    return table


def _pieces(text: Text, room: int) -> list[Text]:
    """Return a line in pieces of this width, the later ones two columns narrower."""
    if cell_len(text.plain) <= room:
        return [text]
    ends = [len(chop_cells(text.plain, room)[0])]
    for piece in chop_cells(text.plain[ends[0] :], room - 2):
        ends.append(ends[-1] + len(piece))
    return list(text.divide(ends[:-1]))


def _is_blank(line: str) -> bool:
    """Say whether a drawn line shows nothing."""
    return not _STYLING.sub("", line).strip()


def _escaped(found: re.Match[str]) -> str:
    return found.group().encode("unicode_escape").decode()
