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
        pytest.param(
            "a.cpp", _CPP, "A.f", "replace", "void f() {\n        b();\nout:\n        c();\n    }",
            _CPP.replace("a();\n", "b();\nout:\n        c();\n"), id="a-label-without-the-first",
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
