"""What a model gets wrong without meaning anything else is bridged, and nothing beyond it."""

from __future__ import annotations

import re
from bisect import bisect_right

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ls.domain.edits import Replacement, apply_replacements
from agent_ls.edits.requests import EditRequest, Refused, Why
from agent_ls.edits.search_replace import place

_PY = (
    "class A:\n    def f(self):\n        x = 1\n        return x\n\n"
    "    def g(self):\n        pass\n"
)
_CALL = "a()\n\n\ndef g():\n    x()\n"
_SH = "f() {\n\tif true; then\n\t\techo hi\n\tfi\n}\n"
_GO = "func f() {\n\tx := 1\n\treturn x\n}\n"


def check(text: str, old: str, new: str, expected: str | tuple[Why, str]) -> None:
    """Assert the text afterwards, or the kind of refusal and words of it."""
    placed = place(text, [EditRequest(old, new)])
    if isinstance(expected, tuple):
        assert isinstance(placed, Refused), placed
        assert placed.why == expected[0], placed.reason
        assert expected[1] in placed.reason
        return
    assert not isinstance(placed, Refused), placed.reason
    assert apply_replacements(text, placed) == expected


@pytest.mark.parametrize(
    "text, old, new, expected",
    [
        pytest.param(_PY, "x = 1\nreturn x", "x = 2\nif x:\n    x = 3\nreturn x",
                     _PY.replace("x = 1\n", "x = 2\n        if x:\n            x = 3\n"),
                     id="dedented"),
        pytest.param(_PY, "x = 1\n        return x", "x = 2\n        return x",
                     _PY.replace("x = 1", "x = 2"), id="first-line-stripped"),
        pytest.param(_PY, "x = 1", "if self:\n    x = 1",
                     _PY.replace("        x = 1", "        if self:\n            x = 1"),
                     id="one-stripped-line-becomes-a-block"),
        pytest.param(_PY, "x = 1", "x = 1\n        y = 2",
                     _PY.replace("x = 1\n", "x = 1\n        y = 2\n"),
                     id="only-the-first-line-was-stripped"),
        pytest.param(_GO, "    x := 1\n    return x",
                     "    if y {\n        x := 1\n    }\n    return x",
                     _GO.replace("\tx := 1\n", "\tif y {\n\t\tx := 1\n\t}\n"),
                     id="spaces-for-tabs"),
        pytest.param(_GO, "func f() {", "func f() {\n    y := 0",
                     _GO.replace("{\n", "{\n\ty := 0\n"), id="no-evidence-takes-the-files-style"),
        pytest.param("a  \nb\nc\n", "a\nb\nc", "a\nX\nc", "a  \nX\nc\n", id="trailing-blanks-stay"),
        pytest.param("a\n\n\nb\nc\n", "a\nb\nc", "a\nb\nX", "a\n\n\nb\nX\n", id="blank-lines-stay"),
        pytest.param("\ufeffa\r\nb\r\n", "a\nb\n", "a\nX\n", "\ufeffa\r\nX\r\n", id="bom-and-crlf"),
        pytest.param("\ufeffa = 1\nb\n", "a = 1", "", "\ufeffb\n", id="bom-and-a-deleted-line"),
        pytest.param("a\nb", "a\nb\n", "a\nX\n", "a\nX", id="no-final-end-stays-so"),
        pytest.param('s = "a"\n', "s = “a”", "s = “b”", 's = "b"\n', id="curly-quotes"),
        pytest.param("s = “a” # x\nt\n", 's = "a" # x\nt', 's = "a" # y\nt', "s = “a” # y\nt\n",
                     id="the-files-quotes-stay"),
        pytest.param("s = “a…” # x\nt\n", 's = "a..." # x\nt', 's = "a..." # y\nt',
                     "s = “a…” # y\nt\n", id="the-files-ellipsis-stays"),
        pytest.param("cafe\u0301 = 1\n", "café = 1", "café = 2", "cafe\u0301 = 2\n",
                     id="normal-form-stays"),
        pytest.param("a &lt; b\nif c < d:\n", "if c &lt; d:", "if c &lt; e:",
                     "a &lt; b\nif c < e:\n", id="entities-that-the-file-has-elsewhere"),
        pytest.param("a = “q”\ns = \"x\"\n", "s = “x”", "s = “x” + “y”",
                     "a = “q”\ns = \"x\" + \"y\"\n", id="quotes-that-the-file-has-elsewhere"),
        pytest.param("if a < b && c:\n", "if a &lt; b &amp;&amp; c:", "if a &gt; b:",
                     "if a > b:\n", id="entities"),
        pytest.param('p("a")\nq\n', 'p(\\"a\\")\nq', 'p(\\"b\\")\nq', 'p("b")\nq\n', id="escaped"),
        pytest.param('p("a")\nq\n', 'p(\\"a\\")\\nq', 'p(\\"b\\")\\nr', 'p("b")\nr\n',
                     id="escaped-line-ends"),
        pytest.param(_PY, "    3\t        x = 1\n    4\t        return x",
                     "    3\t        x = 2\n    4\t        return x",
                     _PY.replace("x = 1", "x = 2"), id="numbered"),
        pytest.param(_PY, "    def f(self):\n        # ... existing code ...\n        return x\n",
                     "    def f(self, y):\n        # ... existing code ...\n        return y\n",
                     _PY.replace("(self):\n        x", "(self, y):\n        x")
                     .replace("return x", "return y"), id="elided-in-both"),
        pytest.param(_PY, "    def f(self):\n        x = 1\n        return x\n",
                     "    def f(self, y):\n        # ... existing code ...\n        return x\n",
                     _PY.replace("f(self)", "f(self, y)"), id="elided-in-new"),
        pytest.param("def f():\n    pass\n", "    pass", "    ...", "def f():\n    ...\n",
                     id="an-ellipsis-that-is-code"),
        pytest.param("def f():\n    one_a()\n    two_b()  # new\n    three_c()\n    four_d()\n",
                     "def f():\n    one_a()\n    two_b()\n    three_c()\n    four_d()",
                     "def f():\n    one_a()\n    two_b()\n    three_c()\n    five_e()",
                     "def f():\n    one_a()\n    two_b()  # new\n    three_c()\n    five_e()\n",
                     id="changed-context-keeps-the-files-version"),
        pytest.param("const x = {\n  a,\n  b,\n  c: 1,\n};\n",
                     "const x = {\n  a,\n  b,\n  c: 1,\n};",
                     "const x = {\n  a,\n  ...rest,\n  c: 2,\n};",
                     "const x = {\n  a,\n  ...rest,\n  c: 2,\n};\n", id="spread-is-code"),
        pytest.param("f(a);\n", "f(a);", "f(\n  ...(await rest(a)),\n);",
                     "f(\n  ...(await rest(a)),\n);\n", id="spread-of-an-expression-is-code"),
        pytest.param('"""\n>>> f()\n"""\n', ">>> f()\n",
                     ">>> for line in f():\n...     print(line)\n...     more\n...\n>>> f()\n",
                     '"""\n>>> for line in f():\n...     print(line)\n...     more\n...\n'
                     '>>> f()\n"""\n', id="doctest-goes-on"),
        pytest.param("def f():\n    return x\n\ndef g():\n    return xs\n", "    return x",
                     "    return y", "def f():\n    return y\n\ndef g():\n    return xs\n",
                     id="a-longer-word-is-no-rival"),
        pytest.param("self.client.get(1)\n", "self.client", "self.http", "self.http.get(1)\n",
                     id="a-part-of-an-expression"),
        pytest.param("def f(a):\n    pass\n", "def f(", "@cached\ndef f(",
                     "@cached\ndef f(a):\n    pass\n", id="a-line-above-a-part"),
        pytest.param('{\n  "a": 1,\n  "c": 3\n}\n', '  "a": 1', '  "a": 1,\n  "b": 2',
                     '{\n  "a": 1,\n  "b": 2,\n  "c": 3\n}\n', id="a-comma-goes-to-the-new-line"),
        pytest.param("- a\n  - b\n  - c\n\n## Build\n", "## Build",
                     "## Build\n\n~~~make\nall:\n\tcc x.c\n~~~",
                     "- a\n  - b\n  - c\n\n## Build\n\n~~~make\nall:\n\tcc x.c\n~~~\n",
                     id="blanks-inside-a-fence"),
        pytest.param("package a\n\nfunc f() {\n\tg()\n\th()\n}\n\nvar doc = ``\n", "var doc = ``",
                     "var doc = `\na:\n  b: 1\n  c:\n    - 2\n`",
                     "package a\n\nfunc f() {\n\tg()\n\th()\n}\n\n"
                     "var doc = `\na:\n  b: 1\n  c:\n    - 2\n`\n", id="blanks-inside-a-string"),
        pytest.param("a:\n\tb\nc\n", "c", "c:\n    d", "a:\n\tb\nc:\n\td\n",
                     id="blanks-below-what-opens-a-block"),
        pytest.param("all: x\n\tcc x\n\nbin: t | d\n\tcp t d\n", "bin: t | d",
                     "bin: t | d\n    rm -f d",
                     "all: x\n\tcc x\n\nbin: t | d\n\trm -f d\n\tcp t d\n",
                     id="blanks-below-a-target"),
        pytest.param(_GO + "import x\n", "import x", "import (\n  x\n  y\n)",
                     _GO + "import (\n\tx\n\ty\n)\n", id="two-blanks-for-a-tab"),
        pytest.param("if a:\n    if b:\n        c()\n        d()\nelse:\n    e()\n",
                     "c()\n        d()\nelse:\n    e()", "    log()\n    e()",
                     "if a:\n    if b:\n    log()\n    e()\n",
                     id="a-first-line-with-blanks-of-its-own"),
        pytest.param("- a\n  - b\n  - c\n\nMore\n", "More", "More\n\n\tcode",
                     "- a\n  - b\n  - c\n\nMore\n\n\tcode\n",
                     id="a-tab-is-wider-than-a-list-is-deep"),
        pytest.param(_GO + "/*\na: 1\n*/\n", "a: 1\n", "a: 1\nb:\n  c: 2\n",
                     _GO + "/*\na: 1\nb:\n  c: 2\n*/\n", id="yaml-in-a-comment"),
        pytest.param(_SH + "cat > c <<'EOF'\na: 1\nEOF\n", "a: 1\n", "a: 1\nb:\n  c: 2\n",
                     _SH + "cat > c <<'EOF'\na: 1\nb:\n  c: 2\nEOF\n",
                     id="yaml-in-a-here-document"),
        pytest.param("- a\n\t- b\n\t\t- c\n\n```yaml\na: 1\n```\n", "a: 1\n", "a: 1\nb:\n  c: 2\n",
                     "- a\n\t- b\n\t\t- c\n\n```yaml\na: 1\nb:\n  c: 2\n```\n",
                     id="yaml-in-a-fence"),
        pytest.param("j:\n  t:\n    steps:\n    - run: a\n    - run: b\n", "- run: b",
                     "- run: b\n  env: c",
                     "j:\n  t:\n    steps:\n    - run: a\n    - run: b\n      env: c\n",
                     id="what-hangs-on-a-dash"),
        pytest.param("if (a < b) {\n  go();\n}\n", "if (a &lt; b) {\n  go();\n}",
                     'if (a &lt; b) {\n  go("?x=1&copy=2&reg=3");\n}',
                     'if (a < b) {\n  go("?x=1&copy=2&reg=3");\n}\n', id="only-whole-entities"),
        pytest.param("def f():\n    a()\n\n    b()\n    c()\n", "  a()\n\n  b()", "  a()\n",
                     "def f():\n    a()\n\n    c()\n", id="a-blank-line-of-the-new-text"),
        pytest.param(_PY, "3: x = 1\n4: return x", "x = 2\nreturn x", _PY.replace("x = 1", "x = 2"),
                     id="numbers-in-the-old-text-alone"),
        pytest.param(_PY, "3 |         x = 1\n4 |         return x",
                     "3 |         x = 2\n        y = 3\n4 |         return x",
                     _PY.replace("x = 1\n", "x = 2\n        y = 3\n"),
                     id="numbers-but-for-new-lines"),
        pytest.param("S = {\n    404: 'a',\n    500: 'b',\n}\n",
                     "    2\t    404: 'a',\n    3\t    500: 'b',",
                     "    404: 'x',\n    500: 'b',\n    501: 'c',",
                     "S = {\n    404: 'x',\n    500: 'b',\n    501: 'c',\n}\n",
                     id="numbers-in-the-old-text-and-keys-in-the-new-one"),
        pytest.param("def f(d):\n    return g(d,\n             more)\n\n\nx = 1\n", "more)",
                     "             more)\n    log(d)",
                     "def f(d):\n    return g(d,\n             more)\n    log(d)\n\n\nx = 1\n",
                     id="a-line-of-the-file-aligned-to-a-bracket"),
        pytest.param("def f():\n    x = 1\n", "\xa0\xa0\xa0\xa0x = 1",
                     "\xa0\xa0\xa0\xa0x = 2\n\xa0\xa0\xa0\xa0y = 3",
                     "def f():\n    x = 2\n    y = 3\n", id="blanks-that-do-not-break"),
        pytest.param("a = 1\nb = 2\n", "a = 1", "", "b = 2\n", id="a-deleted-line-goes-whole"),
        pytest.param(_CALL, "a()\n\ndef g():\n    x()",
                     "a()\n\ndef n():\n    y()\n\n\ndef g():\n    x()",
                     "a()\n\n\ndef n():\n    y()\n\n\ndef g():\n    x()\n",
                     id="a-blank-line-lost-above-an-addition"),
        pytest.param(_CALL, "a()\n\ndef g():\n    x()",
                     "a()\n\n\ndef n():\n    y()\n\ndef g():\n    x()",
                     "a()\n\n\ndef n():\n    y()\n\n\ndef g():\n    x()\n",
                     id="a-blank-line-lost-below-an-addition"),
        pytest.param("a\n\nb\n", "a\n    \nb", "a\n    \nx\n    \nb", "a\n\nx\n\nb\n",
                     id="blanks-on-blank-lines-that-the-file-has-not"),
        pytest.param(_PY, "        x = 1\n", "        x = 1\n\t\tif x:\n\t\t\ty()\n",
                     _PY.replace("x = 1\n", "x = 1\n        if x:\n            y()\n"),
                     id="tabs-in-added-lines-alone"),
        pytest.param(_PY, "        x = 1\n", "        x = 1\n        y(\"\"\"\n\tq\n\"\"\")\n",
                     _PY.replace("x = 1\n", "x = 1\n        y(\"\"\"\n\tq\n\"\"\")\n"),
                     id="tabs-in-a-string-that-is-added"),
        pytest.param("\ta = 1\n\tb = 2\n", "    a = 1\n", "    a = 3", "\ta = 3\n\tb = 2\n",
                     id="no-lines-glued-where-the-old-text-is-not-exact"),
        pytest.param("x\n    .a()\n    .b()\n", "\n    .a()\n    .b()", ".a().b()", "x.a().b()\n",
                     id="lines-joined-on-purpose"),
    ],
)  # fmt: skip
def test_drift_without_meaning_is_bridged(text: str, old: str, new: str, expected: str) -> None:
    check(text, old, new, expected)


@pytest.mark.parametrize(
    "text, old, new, expected",
    [
        pytest.param("a()\nb(2)\nc()\n", "a()\nb(1)\nc()", "a()\nb(3)\nc()",
                     ("not-found", "b(2)"), id="a-replaced-line-was-changed"),
        pytest.param("- name: a\n  on: yes\n- name: b\n- name: c\n  on: yes\n- name: d\n",
                     "  on: yes\n- name: c\n  on: yes\n- name: d",
                     "- name: c\n  on: yes\n- name: d", ("not-found", "- name: b"),
                     id="a-removal-that-was-done-with-its-like-above"),
        pytest.param("a()\n\tb()\n", "a()\\n\\tb()", "a()\n\tp(\"x\\n\")",
                     ("not-found", "two ways"), id="only-the-old-text-may-be-escaped"),
        pytest.param("data X\n  = A\n", "1 | data X\n2 |   = A", "1 | data X\n2 |   = A\n  | B",
                     ("not-found", "1 | data X"), id="a-bar-of-code-or-for-a-number"),
        pytest.param("x\ny\n", "1 | x\n2 | y", "1 | x\n  |> f()\n2 | y",
                     ("not-found", "1 | x"), id="a-pipe-where-others-have-a-number"),
        pytest.param("cd '\\.*'\nq\n", "cd '\\\\.*'\nq", "cd \\\"'\\\\.*'\\\"\nq",
                     ("not-found", "two ways"), id="backslashes-doubled-and-new-quotes-escaped"),
        pytest.param("a()\n\tb()\n", "a()\\n\\tb()", "p(\"x\\n\")",
                     ("not-found", "two ways"), id="an-escape-in-quotes"),
        pytest.param("a {\n  f() {\n    b();\n    c();\n  }\n}\n", "    c();\n}",
                     "    c();\n}\n\n  g() {\n    d();\n  }\n}", ("indentation", "line 4"),
                     id="a-brace-was-left-out"),
        pytest.param("timeout = 30\n", "timeout = 3", "timeout = 5", ("not-found", "old text"),
                     id="the-line-goes-on"),
        pytest.param("timeout = 1.5\n", "timeout = 1", "timeout = 2", ("not-found", "old text"),
                     id="a-number-goes-on"),
        pytest.param("//\n//=====//\n// It does.\na()\n", "//\n// It does.\na()",
                     "// It does.\na()",
                     ("not-found", "old text"), id="a-mark-is-the-end-of-a-line"),
        pytest.param("by A.<br>\nB<br>\nC\n", "<br>\nB<br>\nC", "B<br>\nC",
                     ("not-found", "old text"),
                     id="a-line-that-goes-is-the-end-of-another"),
        pytest.param("a() {\n    x\n  }\n} // end\n", "    x\n  }\n}", "    x\n  }",
                     ("not-found", "old text"), id="a-bracket-goes-on-with-a-remark"),
        pytest.param("if (a) {\n  x\n} else {\n  y\n}\n", "  x\n}", "  x",
                     ("not-found", "old text"), id="a-bracket-goes-on-with-a-block"),
        pytest.param("import sys\nimport os.path\n", "import os", "", ("not-found", "old text"),
                     id="a-deleted-name-goes-on"),
        pytest.param("import os.path\n", "import os", "import os\nimport re",
                     ("not-found", "old text"),
                     id="a-line-that-gets-a-neighbour-goes-on"),
        pytest.param("import os.path\n", "import os", "import os, re", ("not-found", "old text"),
                     id="a-line-that-grows-goes-on"),
        pytest.param("    x = a or b\n    z()\n", "    x = a", "", ("not-found", "old text"),
                     id="a-deleted-expression-goes-on"),
        pytest.param("if a:\n    x = f(a).b\n", "if a:\n    x = f(a)", "if a:\n    x = g(a)",
                     ("not-found", "old text"), id="a-call-goes-on"),
        pytest.param("e\u0301a\n", "\u0301a", "b", ("not-found", ""),
                     id="an-accent-without-its-letter"),
        pytest.param("  x = 1\n\n    x = 1\n", "x = 1\n", "x = 2\n", ("ambiguous", "2 times"),
                     id="twice-in-other-indentation"),
        pytest.param("one = 1\ntwo = 2\n", "one = 1\ntwo = 2", "# ... existing code ...\nz()",
                     ("marker", "Write the new text in full"), id="a-mark-that-is-not-certain"),
        pytest.param("one()\ntwo()\nthree()\n", "one()\ntwo()\nthree()",
                     "uno()\n...existing code...\ntres()", ("marker", ""), id="dots-on-both-sides"),
        pytest.param("one()\ntwo()\nthree()\n", "one()\ntwo()\nthree()",
                     "uno()\n... (other methods, unchanged)\ntres()", ("marker", ""),
                     id="prose-behind-dots"),
        pytest.param(_PY, "    def f(self):\n        x = 1\n        return x\n",
                     "    def f(self) -> int:\n        ...\n", ("marker", ""),
                     id="dots-that-are-a-body-or-stand-for-one"),
        pytest.param("var a=1;" * 4_000 + "“\nb\n", "var a=1;" * 4_000 + "\"\nb",
                     "var b=2;" * 4_000 + "\"\nb", ("not-found", "Copy the file's characters"),
                     id="other-characters-in-a-line-too-long-to-compare"),
        pytest.param("import a\nimport b_long_name\n", "import a", "import a\nimport b_long_name",
                     ("applied", "line 1"), id="an-addition-that-is-there"),
        pytest.param("class A:\n    def f(self):\n        x = 1\n        y = 2\n", "x = 1\ny = 2",
                     "x = 1\nif x:\ny = 2", ("indentation", "own indentation"),
                     id="a-block-without-any-indentation"),
        pytest.param("\tif a:\n\t\tb\n", "if a:\nb\n", "if a:\nc\nd\n",
                     ("indentation", "own indentation"), id="indentation-without-a-rule"),
        pytest.param("if a:\n    def f(c):\n        c.o |= 1\n", "    c.o |= 1",
                     "    c.o |= 1\n\n\n__all__ = []", ("indentation", "own indentation"),
                     id="a-line-at-the-margin-below-half-the-indentation"),
        pytest.param("def f():\n    one()\n    two()\n", "def g():\n    one()\n    two()",
                     "def g():\n    one()\n    three()", ("not-found", "def f"),
                     id="another-function"),
    ],
)  # fmt: skip
def test_what_could_mean_something_else_is_refused(
    text: str, old: str, new: str, expected: tuple[Why, str]
) -> None:
    check(text, old, new, expected)


def _by_a_strict_client(text: str, placed: tuple[Replacement, ...]) -> str:
    """Return the text as a client makes it that knows lines and UTF-16 columns alone."""
    units = text.encode("utf-16-le")
    starts = [0, *(match.end() for match in re.finditer("\r\n|\n|\r", text))]

    def offset(at: int) -> int:
        line = bisect_right(starts, at) - 1
        # A client clips a column to its line, so a place inside a CRLF would move.
        end = re.search("\r|\n|$", text[starts[line] :])
        assert end is not None
        assert at <= starts[line] + end.start()
        return len(text[:at].encode("utf-16-le"))

    for one in reversed(placed):
        units = units[: offset(one.start)] + one.text.encode("utf-16-le") + units[offset(one.end) :]
    return units.decode("utf-16-le")


_LINES = st.lists(st.sampled_from(["a", "  b", "\tc", "é😀", "x ", "", "q\x0cr"]), max_size=8)


@given(_LINES, _LINES, _LINES, _LINES, st.sampled_from(["\n", "\r\n", "\r"]), st.booleans())
def test_a_strict_client_gets_the_same_and_the_rest_keeps_its_bytes(
    head: list[str], old: list[str], new: list[str], tail: list[str], end: str, has_bom: bool
) -> None:
    head, tail = ["head_line", *head, "above"], ["below", *tail]
    text = ("\ufeff" if has_bom else "") + end.join([*head, *old, *tail])
    placed = place(
        text,
        [EditRequest("\n".join(["above", *old, "below"]), "\n".join(["above", *new, "below"]))],
    )
    if isinstance(placed, Refused):
        return
    after = apply_replacements(text, placed)
    assert _by_a_strict_client(text, placed) == after
    assert after.startswith(text[: text.index("above")])
    assert after.endswith(text[text.rindex("below") :])
    assert all(text[one.start : one.end] != one.text for one in placed)


@pytest.mark.parametrize(
    "text, old, new, expected",
    [
        pytest.param("if a:\n    b()\n", "    b()", "    b()\n\tc()", "if a:\n    b()\n    c()\n",
                     id="a-tab-in-python"),
        pytest.param("if a:\n  b()\n", "  b()", "\tb(1)", "if a:\n  b(1)\n", id="two-blanks"),
        pytest.param("all: a\n\tcc a\n\tld a\n", "\tld a", "\tld a\n    strip a",
                     "all: a\n\tcc a\n\tld a\n\tstrip a\n", id="blanks-in-a-makefile"),
        pytest.param("a:\n  b: 1\nc: 2\n", "c: 2", "c:\n\td: 2", "a:\n  b: 1\nc:\n  d: 2\n",
                     id="a-tab-in-yaml"),
        pytest.param("if a:\n    b()\n", "    b()", "    b()\n\t  c()", None, id="of-both"),
        pytest.param("if a:\n\tb()\n", "\tb()", "\tb()\n\tif c:\n        d()\n      e()", None,
                     id="of-odd-depth"),
    ],
)  # fmt: skip
def test_new_lines_take_the_character_that_the_file_is_indented_with(
    text: str, old: str, new: str, expected: str | None
) -> None:
    placed = place(text, [EditRequest(old, new)])
    if expected is None:
        assert isinstance(placed, Refused), apply_replacements(text, placed)
        assert placed.why == "indentation"
        return
    assert not isinstance(placed, Refused), placed.reason
    assert apply_replacements(text, placed) == expected
