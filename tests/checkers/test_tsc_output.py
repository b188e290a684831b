"""Both forms in which tsc prints what it finds, and where that is in the text."""

from __future__ import annotations

import pytest

from agent_ls.checkers.tsc_output import Printed, parse_output, place_of


def check(output: str, *expected: tuple[str, int, int, str, str]) -> None:
    """Assert the diagnostics: file, line, column, code, message."""
    found = parse_output(output)
    assert [(one.file, one.line, one.column, one.code, one.message) for one in found] == list(
        expected
    )


PRETTY = (
    "\x1b[96msrc/a (1).ts\x1b[0m:\x1b[93m2\x1b[0m:\x1b[93m7\x1b[0m - \x1b[91merror\x1b[0m\x1b[90m "
    "TS2322: \x1b[0mType 'A' is not assignable to type 'B'.\n"
    "  Property 'x' is missing.\n"
    "\n"
    "\x1b[7m2\x1b[0m   const s: B = a;\n"
    "\x1b[7m \x1b[0m \x1b[91m      ~\x1b[0m\n"
    "\n"
    "\n"
    "Found 1 error in src/a.ts\x1b[90m:2\x1b[0m\n"
)


def test_odd_names_and_texts_are_read_whole() -> None:
    check(
        "a (1,2): b.ts(3,4): error TS1: Type '\"x\u2028y\x0c\"' is odd.\r\n",
        ("a (1,2): b.ts", 3, 4, "TS1", "Type '\"x\u2028y\x0c\"' is odd."),
    )


def test_the_plain_form_is_read() -> None:
    check(
        "src/a (1).ts(2,7): error TS2322: Type 'A' is not assignable to type 'B'.\n"
        "  Property 'x' is missing.\n"
        "    Deeper: b.ts(1,1): error TS1: not one of its own.\n"
        "error TS18003: No inputs were found.\n"
        "C:/x.ts(1,1): warning TS6000: \n",
        ("src/a (1).ts", 2, 7, "TS2322",
         "Type 'A' is not assignable to type 'B'.\n  Property 'x' is missing.\n"
         "    Deeper: b.ts(1,1): error TS1: not one of its own."),
        ("", 1, 1, "TS18003", "No inputs were found."),
        ("C:/x.ts", 1, 1, "TS6000", ""),
    )  # fmt: skip


def test_the_form_for_people_is_read_without_the_source_it_repeats() -> None:
    check(
        PRETTY,
        ("src/a (1).ts", 2, 7, "TS2322",
         "Type 'A' is not assignable to type 'B'.\n  Property 'x' is missing."),
    )  # fmt: skip


def test_other_words_are_no_diagnostics() -> None:
    check("Version 7.0.2\n\nwatching…\n  indented\nsrc/a.ts(1,2): hello\n")


@pytest.mark.parametrize(
    ("text", "line", "column", "expected"),
    [
        ("abc def", 1, 5, (0, 4, 7)),
        ("a\r\nbc", 2, 2, (1, 1, 2)),
        ("a\rb\nc", 3, 1, (2, 0, 1)),
        ("a\u2028bc", 2, 2, (0, 3, 4)),
        ("\U0001f600 x", 1, 4, (0, 2, 3)),
        ("(x)", 1, 1, (0, 0, 1)),
        ("", 1, 1, (0, 0, 1)),
        ("a", 9, 9, (0, 1, 2)),
    ],
)
def test_a_printed_place_is_found_in_the_text(
    text: str, line: int, column: int, expected: tuple[int, int, int]
) -> None:
    assert place_of(Printed("a.ts", line, column, "error", "TS1"), text) == expected
