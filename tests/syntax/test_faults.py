"""Syntax errors that an edit brings in, and those that were there before."""

from __future__ import annotations

import pytest

from agent_ls.syntax.faults import new_faults
from agent_ls.syntax.languages import language_of

_LONG = "".join(f"def f{n}():\n    return {n}\n\n\n" for n in range(20))


def check(file_name: str, before: str, after: str) -> list[tuple[int, str]]:
    """Return the lines of the new faults and what is said of them."""
    language = language_of("", file_name)
    assert language is not None
    return [(one.line, one.text) for one in new_faults(before, after, language)]


@pytest.mark.parametrize(
    "file_name, before, after, expected",
    [
        pytest.param("a.py", "x = 1\n", "x = 2\n", [], id="good-stays-good"),
        pytest.param("a.py", "x = 1\n", "x = = 1\n", [(1, "x = = 1")], id="new"),
        pytest.param("a.py", "", "def f(:\n    pass\n", [(1, "def f(:  (')' is missing)")],
                     id="in-a-new-file"),
        pytest.param("a.py", "x = = 1\ny = 1\n", "x = = 1\ny = 2\n", [], id="old"),
        pytest.param("a.py", "x = = 1\ny = 1\n", "z = 1\nx = = 1\ny = 2\n", [], id="old-moved"),
        pytest.param("a.py", "x = = 1\n", "x = 1\n", [], id="mended"),
        pytest.param("a.py", "x = = 1\ny = 1\n", "x = = 1\ny = 1 +\n", [(2, "y = 1 +")],
                     id="one-more"),
        pytest.param("a.js", "f({ a: 1 });\n", "f({ a: 1 };\n",
                     [(1, "f({ a: 1 };  (')' is missing)")], id="missing"),
        pytest.param("a.json", '{"a": 1}', '{"a": 1,}', [(1, '{"a": 1,}')], id="json"),
        pytest.param("a.jsonc", '{"a": 1}', '{"a": 1, // a\n}', [], id="a-last-comma-is-fine"),
        pytest.param("a.jsonc", '{"a": 1}', '{,}', [(1, "{,}")], id="a-comma-alone-is-not"),
        pytest.param("a.sh", "f() { :; }\n", "f() { :;\n", [(1, "f() { :;")],
                     id="bash"),
        pytest.param("a.ini", "[a]\n", "[[[\n", [], id="unknown-language"),
        pytest.param("a.py", "x = 1\r\ny = 1\r\n", "x = 1\r\ny = 1 +\r\n", [(2, "y = 1 +")],
                     id="crlf"),
        pytest.param("a.rs", "fn ä() {}\n", "fn ä() { let = 1; }\n", [(1, "fn ä() { let = 1; }")],
                     id="non-ascii"),
    ],
)  # fmt: skip
def test_what_an_edit_breaks_is_told_and_nothing_else(
    file_name: str, before: str, after: str, expected: list[tuple[int, str]]
) -> None:
    assert check(file_name, before, after) == expected


def test_a_fault_is_told_where_the_edit_was() -> None:
    broken = _LONG.replace("    return 11\n", "    return (11\n")
    found = check("a.py", _LONG, broken)
    assert found
    assert [line for line, _ in found if abs(line - 46) <= 1]


def test_a_text_above_the_limit_is_not_judged() -> None:
    python = language_of("python")
    assert python is not None
    assert new_faults("", "x = = 1\n", python, max_bytes=3) == []
