"""New text of which lines stand at the margin: nothing else is shifted for them, nor are they."""

from __future__ import annotations

import pytest

from tests.support.symbol_changes import Way, check

_PY = "class A:\n    def f(self):\n        x = 1\n        return x\n"
_JS = "class A {\n    f() {\n        a();\n    }\n}\n"
_CPP = "class A {\n    void f() {\n        a();\n    }\n};\n"
_ADDED = "    def g(self):\n        x = 2\n#       y = 3\n        return x\n"
_RUST = 'impl A {\n    fn f(&self) -> &str {\n        "a\nb"\n    }\n}\n'


@pytest.mark.parametrize(
    "name, text, symbol, position, new_text, after",
    [
        pytest.param("a.py", _PY, "A.f", "after", _ADDED, f"{_PY}\n{_ADDED}", id="beside"),
        pytest.param("a.py", _PY, "A", "inside_end", _ADDED, f"{_PY}\n{_ADDED}", id="inside"),
        pytest.param(
            "a.py", _PY, "A.f", "replace", _ADDED.replace("def g", "def f"),
            "class A:\n" + _ADDED.replace("def g", "def f"), id="code-made-a-comment",
        ),
        pytest.param(
            "a.py", _PY, "A.f", "replace",
            "    def f(self):\n        x = foo(\n  2)\n        y()\n",
            "class A:\n    def f(self):\n        x = foo(\n  2)\n        y()\n",
            id="a-line-that-goes-on",
        ),
        pytest.param(
            "a.py", _PY, "A.f", "replace",
            "def f(self):\n        x = 2\n# y = 3\n        z = 1 + \\\n2\n        return z",
            "class A:\n    def f(self):\n        x = 2\n# y = 3\n        z = 1 + \\\n2\n"
            "        return z\n",
            id="the-first-line-lacks-its-indentation",
        ),
        pytest.param(
            "a.py", _PY.replace("class A:", "class B:\n  class A:"),
            "B.A.f", "replace",
            "        def f(self):\n            x = 2\n# y = 3\n            z()\n",
            "class B:\n  class A:\n    def f(self):\n        x = 2\n# y = 3\n        z()\n",
            id="from-deeper",
        ),
        pytest.param(
            "a.py", _PY, "A.f", "replace", "def f(self):\n    x = 2\n# y = 3\n    return x",
            "class A:\n    def f(self):\n        x = 2\n    # y = 3\n        return x\n",
            id="all-is-at-the-margin",
        ),
        pytest.param(
            "a.js", _JS, "A.f", "replace", "    f() {\n        b();\n//      c();\n    }",
            _JS.replace("a();\n", "b();\n//      c();\n"), id="slashes",
        ),
        pytest.param(
            "a.js", _JS, "A.f", "replace", "    f() {\n        b();\n        c();\n}",
            _JS.replace("a();\n", "b();\n        c();\n"), id="the-last-brace",
        ),
        pytest.param(
            "a.cpp", _CPP, "A.f", "replace",
            "    void f() {\n        b();\nout:\n        c();\n    }",
            _CPP.replace("a();\n", "b();\nout:\n        c();\n"), id="a-label",
        ),
    ],
)  # fmt: skip
def test_lines_at_the_margin_shift_nothing(
    name: str, text: str, symbol: str, position: Way, new_text: str, after: str
) -> None:
    check(name, text, symbol, position, new_text, after, "")


@pytest.mark.parametrize(
    "name, text, symbol, new_text, after",
    [
        ("a.rs", _RUST, "A.f", 'fn f(&self) -> &str {\n    "a\nc"\n}', _RUST.replace("b", "c")),
        ("a.rs", _RUST, "A.f", 'fn f(&self) -> &str {\n    r#"a\n  c\n"#\n}',
         _RUST.replace('"a\nb"', 'r#"a\n  c\n"#')),
        ("a.js", _JS, "A.f", "f() {\n    `\nx\n  y\n`\n}", _JS.replace("a();", "`\nx\n  y\n`")),
        ("a.cpp", _CPP, "A.f", 'void f() {\n    R"(\nq\n)";\n}', _CPP.replace("a();",
                                                                        'R"(\nq\n)";')),
        ("a.py", _PY, "A.f", 'def f(self):\n    """A.\n\n    B.\n    """',
         'class A:\n    def f(self):\n        """A.\n\n        B.\n        """\n'),
    ],
)  # fmt: skip
def test_only_pythons_docstrings_go_along(
    name: str, text: str, symbol: str, new_text: str, after: str
) -> None:
    check(name, text, symbol, "replace", new_text, after, "")


_BLANKS = (
    'class A:\n    """A.\n    \n  \n    B.\n    """\n\n    def f(self):\n        """C.\n        \n'
    '        D.\n            \n\n    \n        """\n        return """\n  \n"""\n'
)
_MARGIN = 'def f(self):\n    """C.\n    \n    D.\n        \n\n    """\n    return 1'


@pytest.mark.parametrize(
    "name, text, symbol, new_text, after",
    [
        ("a.py", _BLANKS, "A", _BLANKS, _BLANKS),
        ("a.py", _BLANKS, "A.f", _BLANKS[_BLANKS.index("    def") :], _BLANKS),
        ("a.py", _BLANKS, "A.f", _BLANKS[_BLANKS.index("def") :], _BLANKS),
        ("a.py", _PY, "A.f", _MARGIN,
         "class A:\n" + "\n".join(f"    {one}" if one else one for one in _MARGIN.split("\n"))
         + "\n"),
        ("a.py", _PY, "A.f", "def f(self):\n    x = 1\n    \n    return 2",
         "class A:\n    def f(self):\n        x = 1\n\n        return 2\n"),
        ("a.js", _JS, "A.f", "f() {\n    `\n    \n`\n}", _JS.replace("a();", "`\n    \n`")),
    ],
)  # fmt: skip
def test_blanks_alone_on_a_line_of_a_string_stay(
    name: str, text: str, symbol: str, new_text: str, after: str
) -> None:
    check(name, text, symbol, "replace", new_text, after, "")


_GOOGLE = "class A {\n public:\n  void f();\n\n private:\n  int a;\n};\n"
_IN_ONE = "struct B {\n  class A {\n  public: // all\n    void f();\n  };\n};\n"
_BEHIND = "class A {\n private: int a;\n  int b;\n};\n"
_LONG = (
    "class A {\n  final M m =\n      new M(16,\n          0.75f);\n\n  void go() {\n    call(\n"
    "        1,\n        2);\n    other(\n        3);\n  }\n}\n"
)
_MORE = "void more() {\n  call();\n}"
_PUT = "  void more() {\n    call();\n  }\n"
_FIELDS = "class A {\n  final M m =\n      new M(1);\n  final M n =\n      new M(2);\n\n}\n"
_DEEP = "export const a = {\n    b: 1,\n};\n\nfunction f() {\n  g();\n}\n"


@pytest.mark.parametrize(
    "name, text, symbol, position, new_text, after",
    [
        pytest.param("a.cc", _GOOGLE, "A", "inside_end", "int x;",
                     _GOOGLE.replace("a;\n", "a;\n  int x;\n"), id="an-access-label"),
        pytest.param("a.h", _GOOGLE, "A", "inside_end", "int x;",
                     _GOOGLE.replace("a;\n", "a;\n  int x;\n"), id="in-a-header"),
        pytest.param("a.cc", _IN_ONE, "A", "inside_end", "void g();",
                     _IN_ONE.replace("f();\n", "f();\n    void g();\n"), id="at-the-braces"),
        pytest.param("a.cc", _BEHIND, "A", "inside_end", "int x;",
                     _BEHIND.replace("b;\n", "b;\n  int x;\n"), id="a-member-behind-it"),
        pytest.param("a.c", "struct A {\n  unsigned a : 3;\n};\n", "A", "inside_end", "int x;",
                     "struct A {\n  unsigned a : 3;\n  int x;\n};\n", id="a-field-of-bits-is-none"),
        pytest.param("a.ts", "interface A {\n  b:\n    | C;\n}\n", "A", "inside_end", "c: D;",
                     "interface A {\n  b:\n    | C;\n\n  c: D;\n}\n", id="no-labels-elsewhere"),
        pytest.param("A.java", _LONG, "go", "after", _MORE,
                     _LONG.replace("3);\n  }\n", f"3);\n  }}\n\n{_PUT}"),
                     id="lines-that-go-on"),
        pytest.param("A.java", _LONG, "m", "before", _MORE,
                     _LONG.replace("{\n  final", f"{{\n{_PUT}\n  final", 1),
                     id="beside-a-field"),
        pytest.param("A.java", _LONG, "A", "inside_end", _MORE.replace("  ", "    "),
                     _LONG.replace("  }\n}", f"  }}\n\n{_PUT}}}"),
                     id="in-other-steps"),
        pytest.param("A.java", _FIELDS, "A", "inside_end", _MORE,
                     _FIELDS.replace("\n}\n", f"\n{_PUT}}}\n"), id="fields"),
        pytest.param("a.js", _DEEP, "f", "after", "function h() {\n  g();\n}",
                     f"{_DEEP}\nfunction h() {{\n  g();\n}}\n", id="as-the-anchor"),
    ],
)  # fmt: skip
def test_text_is_as_deep_as_what_it_stands_beside(
    name: str, text: str, symbol: str, position: Way, new_text: str, after: str
) -> None:
    check(name, text, symbol, position, new_text, after, "")
