"""The rules of editing, sentence by sentence, as somebody would try them who knows only these."""

from __future__ import annotations

import pytest

from agent_ls.domain.edits import apply_replacements
from agent_ls.edits.envelope import place_envelope
from agent_ls.edits.requests import EditRequest, Refused, Why
from agent_ls.edits.search_replace import place
from agent_ls.edits.unified import place_unified

_PY = (
    "class A:\n    def f(self):\n        x = 1\n        return x\n\n"
    "    def g(self):\n        y = 2\n        return y\n"
)
_F = "def a():\n    x = 1\n    return x\n\n\ndef b():\n    x = 1\n    return x\n"
_B2 = _F.replace("def b():\n    x = 1", "def b():\n    x = 2")
_ARGS = "def f(\n        a: int,\n        b: int,\n    ):\n        pass\n"
_SIX = "def f(a):\n    alpha = 1\n    beta = 2\n    gamma = 3\n    delta = 4\n    return alpha\n"
_SIX_5 = _SIX.replace("delta = 4", "delta = 5")


def check(text: str, request: str | list[EditRequest], expected: str | tuple[Why, ...]) -> None:
    """Assert the text afterwards, or one of the kinds of refusal; a string is a patch."""
    if isinstance(request, list):
        placed = place(text, request)
    else:
        run = place_envelope if request.startswith("***") else place_unified
        placed = run(text, request)
    if isinstance(expected, tuple):
        assert isinstance(placed, Refused), apply_replacements(text, placed)
        assert placed.why in expected, placed.reason
        return
    assert not isinstance(placed, Refused), placed.reason
    assert apply_replacements(text, placed) == expected


def _diff(body: str, header: str = "@@ -1,3 +1,3 @@") -> str:
    return f"--- a/f\n+++ b/f\n{header}\n{body}"


def _envelope(body: str) -> str:
    return f"*** Begin Patch\n*** Update File: f\n{body}*** End Patch\n"


@pytest.mark.parametrize(
    "text, old, new, expected",
    [
        pytest.param("\tif a:\n\t\tb()\nx\n    if a:\n        b()\n", "    if a:\n        b()",
                     "    if c:\n        b()",
                     "\tif a:\n\t\tb()\nx\n    if c:\n        b()\n", id="exact-beats-fuzzy"),
        pytest.param(_PY, "def g(self):", "@prop\ndef g(self):",
                     _PY.replace("    def g", "    @prop\n    def g"), id="a-decorator"),
        pytest.param(_PY, "    y = 2\n    return y", "        y = 3\n        return y",
                     _PY.replace("y = 2", "y = 3"), id="only-the-old-text-lost-a-level"),
        pytest.param("a\rb\rc\r", "a\nb", "a\nx\nb", "a\rx\rb\rc\r", id="carriage-returns"),
        pytest.param("\u304c\u3056 x\ny\n", "\u304b\u3099\u3055\u3099 x",
                     "\u304d\u3099\u304f\u3099 z", "\u304e\u3050 z\ny\n",
                     id="a-normal-form-in-all-new-text"),
        pytest.param(_SIX.replace("    beta = 2\n", ""), _SIX, _SIX_5,
                     _SIX_5.replace("    beta = 2\n", ""), id="context-is-gone"),
        pytest.param("f()\n", "f()", "// ... however, only lines before this one are of use\nf()",
                     "// ... however, only lines before this one are of use\nf()\n",
                     id="dots-that-begin-a-sentence"),
        pytest.param("  a();\n  }\n", "  a();\\n  }", "  a();\\n  b(\\\"x\\\");\\n  }",
                     "  a();\n  b(\"x\");\n  }\n", id="all-of-it-as-in-json"),
        pytest.param("def f():\n    if a:\n        if b:\n            c()\n        else:\n"
                     "            d()\n    else:\n        e()\n",
                     "if a:\n    if b:\n        c()\n    else:\n        d()\nelse:\n    e()",
                     "    if a:\n        d()\n    else:\n        e()",
                     "def f():\n    if a:\n        d()\n    else:\n        e()\n",
                     id="only-the-old-text-is-shifted-and-looks-like-the-new-one"),
        pytest.param("class A:\n    x = 1\n    y = 2\n\n\nclass B:\n    z = 3\n",
                     "class A:\n  x = 1\n  y = 2", "if a:\n  class A:\n    x = 1\n    y = 2",
                     "if a:\n    class A:\n        x = 1\n        y = 2\n\n\nclass B:\n    z = 3\n",
                     id="steps-that-the-file-has-not-are-the-new-texts-own"),
        pytest.param("1: foo\n2: bar\n", "2: bar", "2: baz", "1: foo\n2: baz\n",
                     id="numbers-of-the-file-itself"),
        pytest.param("x = '&lt;'\n", "x = '&lt;'", "x = '&gt;'", "x = '&gt;'\n",
                     id="entities-of-the-file-itself"),
        pytest.param("Title\n~~~~~\n\na = 1\nb = 2\n", "```python\na = 1\nb = 2\n```",
                     "```python\na = 1\nb = 3\n```", "Title\n~~~~~\n\na = 1\nb = 3\n",
                     id="a-fence-of-another-kind-than-the-files-lines"),
        pytest.param("def f(a):\n    one(a)\n    two(a)\n    return a\n",
                     "1|def f(a):\n2|    one(a)\n3|    two(a)\n4|    return a",
                     "1|def f(a, b):\n2|    # ... existing code ...\n4|    return a",
                     "def f(a, b):\n    one(a)\n    two(a)\n    return a\n",
                     id="a-mark-with-a-number"),
        pytest.param("a\nif x < y:\n    b()\n", "```\n2: if x &lt; y:\n3:     b()\n```",
                     "```\n2: if x &lt; y:\n3:     c()\n```", "a\nif x < y:\n    c()\n",
                     id="a-fence-and-numbers-and-entities"),
        pytest.param("if (a < 1) f(\"x\");\ng();\n", "if (a &lt; 1) f(\\\"x\\\");\ng();",
                     "if (a &lt; 2) f(\\\"y\\\");\ng();", "if (a < 2) f(\"y\");\ng();\n",
                     id="entities-and-escapes"),
        pytest.param("say `vim` now\nend\n", "say \\`vim\\` now",
                     "say \\`vim\\` then\nrun \"a \\\"b\\\" c\"",
                     "say `vim` then\nrun \"a \\\"b\\\" c\"\nend\n",
                     id="only-the-escapes-of-the-old-text-are-undone"),
        pytest.param("a = \"\\\"q\\\"\"\nb = \"x\"\n", "b = \\\"x\\\"", "b = \\\"y\\\"",
                     "a = \"\\\"q\\\"\"\nb = \"y\"\n", id="escapes-that-the-file-has-elsewhere"),
        pytest.param("if [ \"$a\" ]; then\n  printf \"\\`x\\`\"\nfi\n",
                     "if [ \"\\$a\" ]; then\n  printf \"\\`x\\`\"",
                     "if [ \"\\$b\" ]; then\n  printf \"\\`x\\`\"",
                     "if [ \"$b\" ]; then\n  printf \"\\`x\\`\"\nfi\n",
                     id="another-escape-that-the-file-has"),
    ],
)  # fmt: skip
def test_what_keeps_its_meaning_is_placed(text: str, old: str, new: str, expected: str) -> None:
    check(text, [EditRequest(old, new)], expected)


@pytest.mark.parametrize(
    "text, old, new, why",
    [
        pytest.param(_SIX.replace("beta = 2\n", "beta = 2\n    first = 1\n"),
                     _SIX, _SIX.replace("beta = 2\n", "first = 1\n    second = 2\n"),
                     ("applied",), id="applied-in-part"),
        pytest.param("if a:\n        b()\n", "if a:\n    b()", "if a:\n        b()", ("applied",),
                     id="an-indentation-that-is-there"),
        pytest.param("if a:\n\tone = compute(2)\nif b:\n\t\tone = compute(1)\n",
                     "\tone = compute(1)", "\tone = compute(2)", ("applied",),
                     id="the-new-text-is-there-and-the-old-one-only-in-other-indentation"),
        pytest.param("10: foo\nfoo\nbar\n", "3: bar", "3: baz", ("not-found",),
                     id="numbers-though-the-file-has-such"),
        pytest.param("def f():\n    a = load()\n    return a\n",
                     "def f():\n    a = load()\n    return a\n",
                     "def f():\n    ...\n    log(a)\n    return a\n", ("marker",),
                     id="a-mark-with-as-many-new-lines-as-it-stands-for"),
        pytest.param("x = [\n    1,\n    2,\n]\n", "x = [\n    1,\n    2,\n]\n",
                     "x = [\n    ...\n    3,\n    4,\n]\n", ("marker",),
                     id="a-mark-in-a-list-that-goes-on"),
        pytest.param(_SIX.replace("def f(a)", "def g(a)"), _SIX, _SIX_5, ("not-found",),
                     id="another-function-with-the-same-body"),
        pytest.param(_SIX.replace("beta = 2", "call_something_else()"), _SIX, _SIX_5,
                     ("not-found",), id="another-line-in-the-place-of-context"),
        pytest.param(_SIX.replace("beta = 2", "beta = 3") + _SIX.replace("beta = 2", "beta = 4"),
                     _SIX, _SIX_5, ("not-found",), id="two-places-with-changed-context"),
        pytest.param("  one = make(first)\n  fill(2)\n  send(all)\n  done(now)\n",
                     "  two = make(first)\n  fill(2)\n  send(all)\n  done(now)",
                     "  two = make(first)\n  fill(3)\n  send(all)\n  done(now)", ("not-found",),
                     id="a-quote-that-begins-with-another-name"),
        pytest.param("def f():\n    name = person.Name\n    send(name, \"not sent\")\n",
                     "    name = person.Name\n    send(name, \"sent\")",
                     "    name = person.name\n    send(name, \"sent\")", ("not-found",),
                     id="a-short-quote-that-ends-with-a-line-that-grew"),
        pytest.param("import os\nimport sys\nmain()\n", "import os\nimport sys\nmain()",
                     "import json\n# ... existing code ...\nmain()", ("marker",),
                     id="a-mark-after-a-line-that-may-be-new"),
        pytest.param("a:\n  return compute(2)\n\n\nb:\n  return compute(1)\n",
                     "  return compute(1)\n\n\n", "  return compute(2)\n\n\n", ("applied",),
                     id="the-new-text-is-there-and-the-old-one-only-with-fewer-blank-lines"),
        pytest.param("p(\"a\")\nq\n", "p(\\\"a\\\")\nq", "p(\\\"a\\\\n\\\")\nq",
                     ("not-found",), id="a-backslash-that-may-be-escaped-as-the-quotes-are"),
        pytest.param("```py\na()\n```\n\nb()\n", "```js\nb()\n```", "```js\nc()\n```",
                     ("not-found",), id="a-fence-though-the-file-has-such"),
        pytest.param("cafe\u0301\n", "cafe", "tea", ("not-found",),
                     id="a-letter-without-its-accent"),
        pytest.param("first()\nthird()\n", "first()\nsecond()\nthird()", "first()\nthird()",
                     ("applied",), id="a-removal-that-was-done"),
        pytest.param("f(\n  a\n);\ng(\n);\n", "f(\n  a\n// ...\n);", "f(\n  a\n// ...\n);\nh();",
                     ("marker",), id="a-mark-that-may-stand-for-nothing"),
        pytest.param("on: Linux\n* ... and other systems.\nb(1)\n\n"
                     "* ... and other systems.\nb(2)\n",
                     "on: Mac\n* ... and other systems.\nb(2)",
                     "on: Mac\n* ... and other systems.\nb(3)", ("not-found",),
                     id="a-line-like-a-mark-leaves-nothing-out"),
    ],
)  # fmt: skip
def test_what_may_mean_something_else_changes_nothing(
    text: str, old: str, new: str, why: tuple[Why, ...]
) -> None:
    check(text, [EditRequest(old, new)], why)


@pytest.mark.parametrize(
    "text, patch, expected",
    [
        pytest.param("\ta\n\tb\n\tc\n", _diff("     a\n-    b\n+    x\n     c\n"),
                     "\ta\n\tx\n\tc\n", id="blanks-for-tabs"),
        pytest.param("a\nbb\ncc\n", _diff("  a\n- bb\n+ xx\n  cc\n"), "a\nxx\ncc\n",
                     id="a-blank-behind-each-sign"),
        pytest.param(_ARGS,
                     _diff("        a: int,\n        b: int,\n+       c: int,\n    ):\n"),
                     ("indentation",), id="a-sign-in-the-place-of-the-first-blank"),
        pytest.param(_ARGS,
                     _diff("        a: int,\n        b: int,\n+        c: int,\n    ):\n"),
                     _ARGS.replace("    )", "        c: int,\n    )"),
                     id="a-sign-in-added-lines-alone"),
        pytest.param(_F, "Here:\n\n```diff\n" + _diff(" def b():\n-    x = 1\n+    x = 2\n")
                     + "```\n\nDone.\n", _B2, id="words-around-a-fence"),
        pytest.param(_F, _diff(" def b():\n-    x = 1\n+    x = 2\n     return x\n")
                     + "\nThat should do it.\n", _B2, id="words-behind-it"),
        pytest.param(_F, _diff("-    x = 1\n+    x = 2\n", "@@ -2,1 +2,1 @@ def b():"),
                     ("ambiguous",), id="number-and-section-contradict-each-other"),
        pytest.param("a\n-- x\n++ y\nb\n", _diff(" a\n--- x\n-++ y\n b\n", "@@ -1,4 +1,2 @@"),
                     "a\nb\n", id="lines-like-headers"),
        pytest.param("a\nb\nc\n", "--- a/f\n+++ b/f\n a\n-b\n+x\n c\n", "a\nx\nc\n",
                     id="without-a-header"),
        pytest.param("def f():\n    x = 1\n    y = 2\n",
                     _diff(" def f():\n    x = 1\n+    new = 1\n    y = 2\n"),
                     "def f():\n    x = 1\n    new = 1\n    y = 2\n", id="signs-lost-in-part"),
        pytest.param(_F, _envelope("@@ def b():\n+    y = 0\n"),
                     _F.replace("def b():\n", "def b():\n    y = 0\n"), id="right-after-an-anchor"),
        pytest.param("def ab():\n    x\ndef a():\n    x\n", _envelope("@@ def a\n-    x\n+    y\n"),
                     "def ab():\n    x\ndef a():\n    y\n", id="an-anchor-is-no-part-of-a-word"),
        pytest.param(_F, _envelope("@@ def b():\n def a():\n-    x = 1\n+    x = 2\n"),
                     ("ambiguous", "not-found"), id="not-after-the-anchor"),
        pytest.param("one()\ntwo()\nthree()\nfour()\n",
                     _envelope("@@\n two()\n three()\n+more()\n@@\n one()\n two()\n+other()\n"),
                     "one()\ntwo()\nother()\nthree()\nmore()\nfour()\n",
                     id="a-hunk-that-reaches-into-an-earlier-one-from-above"),
        pytest.param("one()\ntwo()\nthree()\nfour()\n",
                     _envelope("@@\n one()\n+other()\n two()\n@@\n two()\n+more()\n three()\n"),
                     "one()\nother()\ntwo()\nmore()\nthree()\nfour()\n",
                     id="hunks-that-share-a-line-of-context"),
        pytest.param("func f() {\n\tif a {\n\t\treturn q\n\t}\n}\n",
                     _envelope("@@\n \treturn q\n }\n+\n+func g() {\n+}\n"),
                     ("not-found",), id="an-addition-to-few-lines-indented-otherwise"),
    ],
)  # fmt: skip
def test_patches_are_read_as_they_are_meant(
    text: str, patch: str, expected: str | tuple[Why, ...]
) -> None:
    check(text, patch, expected)


@pytest.mark.parametrize(
    "text, requests, expected",
    [
        pytest.param("a\nb\n", [EditRequest("a", "b"), EditRequest("b", "c")], "b\nc\n",
                     id="none-sees-what-another-did"),
        pytest.param("\tx = 1\n\ty\n\tx = 1\n\ty\n",
                     [EditRequest("    x = 1\n    y", "    x = 2\n    y", replace_all=True)],
                     "\tx = 2\n\ty\n\tx = 2\n\ty\n", id="all-places-in-other-indentation"),
        pytest.param("x=1\nq\nq\nq\nx=1\n", [EditRequest("x=1", "x=2", 1), EditRequest("x=1",
                     "x=3", 5)],
                     "x=2\nq\nq\nq\nx=3\n", id="hints-tell-twins-apart"),
    ],
)  # fmt: skip
def test_several_edits_are_one(
    text: str, requests: list[EditRequest], expected: str | tuple[Why, ...]
) -> None:
    check(text, requests, expected)


@pytest.mark.parametrize("kind", ["unified", "envelope"])
def test_a_diff_that_shows_how_the_file_is_indented_adds_tabs_as_they_are(kind: str) -> None:
    text = "int a(void) {\n    return 1;\n}\n\nint b(void) {\n    return 2;\n}\n"
    added = "int c(void) {\n\treturn 3;\n}\n\n"
    lines = "".join(f"+{line}\n" for line in added.splitlines())
    diff = _diff(f"     return 1;\n }}\n \n{lines} int b(void) {{\n", "@@ -2,4 +2,8 @@")
    patch = diff.replace("--- a/f\n+++ b/f\n", "*** Begin Patch\n*** Update File: f\n")
    check(
        text,
        f"{patch}*** End Patch\n" if kind == "envelope" else diff,
        text.replace("int b", f"{added}int b"),
    )
