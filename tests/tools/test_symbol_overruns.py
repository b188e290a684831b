"""Definitions with a syntax error and with strings or comments over several lines."""

from __future__ import annotations

import pytest

from tests.support.symbol_changes import check

_SQL = 'def f():\n    q = """\nSELECT 1\n"""\n    return = 2\n'
_UNCLOSED = 'def f():\n    q = """abc\n\n\ndef g():\n    """Doc."""\n    return 2\n'
_BLOCK = "int f(void)\n{\n/* a\nb c\n*/\n    return (;\n}\n"
_OPEN_BLOCK = "int f(void)\n{\n    /* a\n}\n\nint b(void)\n{\n    /* x */\n    return (;\n}\n"
_QUERY = "class A {\n  m() {\n    s = `\nx y\n`;\n    return (;\n  }\n}\n"
_OPEN_QUERY = "class A {\n  m() {\n    s = `a;\n  }\n\n  n() {\n    return `b`;\n  }\n}\n"


@pytest.mark.parametrize(
    "name, text, symbol, new_text, after, said",
    [
        ("a.py", _SQL, "f", "def f():\n    return 2", None, "line 3 (SELECT 1)"),
        ("a.py", _UNCLOSED, "f", "def f(): ...", None, "line 5 (def g():)"),
        ("a.py", _SQL.replace("SELECT 1", "key = 1"), "f", "def f(): ...", None, "line 3 (key"),
        ("a.c", _BLOCK, "f", "int f(void) {}", None, "line 4 (b c)"),
        ("a.c", _OPEN_BLOCK, "f", "int f(void) {}", None, "line 6 (int b(void))"),
        ("a.ts", _QUERY, "A.m", "m() {}", None, "line 4 (x y)"),
        ("a.js", _OPEN_QUERY, "A.m", "m() {}", None, "line 6 (n() {)"),
        ("a.go", "package p\n\nfunc A() {\n\ts := `a\n}\n\nfunc B() {\n\tx := `a`\n}\n", "A",
         "func A() {}", None, "line 7 (func B() {)"),
    ],
)  # fmt: skip
def test_a_line_at_the_margin_of_a_broken_definition_may_begin_another_one(
    name: str, text: str, symbol: str, new_text: str, after: str | None, said: str
) -> None:
    check(name, text, symbol, "replace", new_text, after, said)
