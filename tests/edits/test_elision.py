"""Text that leaves lines out, by a mark that never gets into the file.

What stands behind a mark is in the block begun before it. A comment is a mark by what it says
alone, or by what it says where old lines vanish.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from agent_ls.domain.edits import apply_replacements
from agent_ls.edits import elision
from agent_ls.edits.envelope import place_envelope
from agent_ls.edits.minimal import blocks
from agent_ls.edits.requests import EditRequest, Refused
from agent_ls.edits.search_replace import place
from agent_ls.edits.unified import place_unified

_TWINS = "g() {\n  if a {\n    no()\n  }\n  if b {\n    go()\n  }\n  p()\n}\n"
_A5 = "def a():\n    x()\n    return 5\n\n\n"
_A1 = _A5.replace("5", "1")
_B1 = "def b():\n    y()\n    return 1\n"
_B2 = _B1.replace("1", "2")


def check(text: str, head: str, expected: str | None) -> None:
    """Assert what comes of `return 1` behind a head and a mark, in both formats."""
    old = f"{head}\n    # ...\n    return 1"
    hunk = f" {head}\n     # ...\n-    return 1\n+    return 2\n"
    patch = f"*** Begin Patch\n*** Update File: f\n@@\n{hunk}*** End Patch\n"
    request = EditRequest(old, old.replace("1", "2"))
    for placed in (place(text, [request]), place_envelope(text, patch)):
        if expected is None:
            assert isinstance(placed, Refused), apply_replacements(text, placed)
            assert placed.why == "conflict", placed.reason
            continue
        assert not isinstance(placed, Refused), placed.reason
        assert apply_replacements(text, placed) == expected


@pytest.mark.parametrize(
    "text, head, expected",
    [
        pytest.param(_A5 + _B1, "def b():", _A5 + _B2, id="in-the-block"),
        pytest.param(_A1 + _B1, "def b():", _A1 + _B2, id="the-like-is-in-another-block"),
        pytest.param(_A5 + _B1, "    y()", _A5 + _B2, id="beside-it"),
        pytest.param(_A5 + _B1, "def a():", None, id="only-in-another-block"),
        pytest.param(_B1 + "\n\n" + _A5, "def a():", None, id="only-above"),
    ],
)
def test_what_is_behind_a_mark_is_looked_for_in_its_block(
    text: str, head: str, expected: str | None
) -> None:
    check(text, head, expected)


@pytest.mark.parametrize(
    "text, expected",
    [
        pytest.param(_A5 + _B1, _A5.replace("x()", "z()") + _B1, id="behind"),
        pytest.param(_B1 + "\n\n" + _A5, None, id="above"),
    ],
)
def test_what_stays_behind_a_mark_may_be_in_another_block(text: str, expected: str | None) -> None:
    old = "def a():\n    x()\n    # ...\n    return 1"
    assert _placed(text, old, old.replace("x()", "z()")) == (expected or "conflict")


_FOUR = "a = 1;\nb = 2;\nc = 3;\nd = 4;\n"


@pytest.mark.parametrize(
    "mark",
    [
        "// existing code", "// [existing code]", "# [... existing code ...]", "# (existing code)",
        "// <existing code>", "// -- existing code --", "// === existing code ===", "# [unchanged]",
        "# <rest unchanged>", "/* existing code here */", "# . . .", "// unchanged code.",
        "# [omitted]", "# Rest of the class stays the same", "# (unchanged code ...)",
        "(unchanged code ...)", "(rest of methods ...)", "rest of methods ...", "[rest unchanged]",
        "// (unchanged methods ...)", "# Rest Of Methods \u2026", "// unchanged ...",
        "// previous code ...", "// (previous code remains the same)", "// other methods...",
        "/* rest of the styles ... */", "// remaining methods unchanged ...",
        "<!-- rest of the page ... -->",
    ],
)  # fmt: skip
def test_what_can_be_nothing_but_a_mark_is_never_written(mark: str) -> None:
    assert _placed(_FOUR, _FOUR, f"a = 9;\n{mark}\nd = 4;\n") == _FOUR.replace("1", "9")
    assert _placed(_FOUR, "b = 2;\n", f"b = 5;\n{mark}\n") == "marker"
    diff = f"@@ -1,2 +1,2 @@\n a = 1;\n-b = 2;\n+b = 3;\n+{mark}\n"
    placed = place_unified(_FOUR, diff)
    assert isinstance(placed, Refused)
    assert placed.why == "marker"


@pytest.mark.parametrize(
    "mark", ["# (unchanged code ...)", "(rest of methods ...)", "// ... existing code ..."]
)
def test_a_mark_beside_one_of_the_file_is_a_mark(mark: str) -> None:
    text = f"{_FOUR}// ... rest of code ...\n"
    old = "d = 4;\n// ... rest of code ..."
    assert _placed(text, old, f"{mark}\nd = 5;\n// ... rest of code ...") == "marker"
    assert _placed(text, old, f"d = 5;\n// ... rest of code ...\n{mark}") == "marker"
    diff = f"@@ -4,2 +4,3 @@\n-d = 4;\n+d = 5;\n // ... rest of code ...\n+{mark}\n"
    placed = place_unified(text, diff)
    assert isinstance(placed, Refused)
    assert placed.why == "marker"
    assert _placed(f"{mark}\n{text}", old, f"d = 5;\n{mark}") == f"{mark}\n{_FOUR[:-3]}5;\n{mark}\n"


@pytest.mark.parametrize(
    "line",
    [
        "# More tests ...",
        "// handles the same cases ...",
        "    existing...,",
        "f(...rest)",
        "# rest of the arguments that the caller gave us ...",
        "Same thing, again ...",
        "# TODO ...",
    ],
)
def test_a_line_that_says_more_before_its_dots_is_written(line: str) -> None:
    assert _placed(_FOUR, "b = 2;\n", f"b = 5;\n{line}\n") == _FOUR.replace(
        "b = 2;\n", f"b = 5;\n{line}\n"
    )


@pytest.mark.parametrize(
    "mark",
    [
        "# remaining methods", "// etc.", "// previous code", "// other methods unchanged",
        "# keep existing code", "// Keep the rest as is", "[existing lines]", "// more code",
        "# rest of the handlers unchanged", "# everything else stays the same", "# as before",
        "// Your existing code", "# remaining steps as above", "# no changes below",
    ],
)  # fmt: skip
def test_a_comment_is_a_mark_only_where_lines_vanish(mark: str) -> None:
    assert _placed(_FOUR, _FOUR, f"a = 9;\n{mark}\nd = 4;\n") == _FOUR.replace("1", "9")
    assert _placed(_FOUR, _FOUR, f"{mark}\na = 9;\n") == "marker"
    assert _placed(_FOUR, "b = 2;\n", f"b = 5;\n{mark}\n") == _FOUR.replace(
        "b = 2;\n", f"b = 5;\n{mark}\n"
    )
    assert _placed("a();\n# helpers\nb();\n", "# helpers\nb();", f"{mark}\nb();") == (
        f"a();\n{mark}\nb();\n"
    )


@pytest.mark.parametrize(
    "text, old, new, expected",
    [
        pytest.param(_FOUR, _FOUR, "a = 9;\n# TODO: handle remaining methods\nd = 4;\n",
                     "a = 9;\n# TODO: handle remaining methods\nd = 4;\n",
                     id="a-comment-with-words-of-its-own"),
        pytest.param("* one\n* two\n* three\n", "* one\n* two\n* three", "* one\n* other",
                     "* one\n* other\n", id="an-item-of-a-list"),
        pytest.param('n = "x"\nv = "1"\ndoc = """\nUse it.\n"""\nk = "y"\n',
                     'v = "1"\ndoc = """\nUse it.\n"""\nk = "y"',
                     'v = "2"\ndoc = """\n...\nk = "y"',
                     'n = "x"\nv = "2"\ndoc = """\nUse it.\n"""\nk = "y"\n',
                     id="dots-that-stand-for-text"),
        pytest.param("A\n\nIf you are (or,\nthen read\n[it](x).\n\nZ\n",
                     "A\n\nIf you are (or,\nthen read\n[it](x).\n",
                     "A\n\nNew 1\nNew 2\nNew 3\n\nIf you are (or,\n...\n",
                     "A\n\nNew 1\nNew 2\nNew 3\n\nIf you are (or,\nthen read\n[it](x).\n\nZ\n",
                     id="dots-and-an-addition-elsewhere"),
        pytest.param('def f():\n    """Doc."""\n    a()\n    b()\n',
                     'def f():\n    """Doc."""\n    a()\n    b()',
                     'def f(x):\n    """Doc."""\n    ...', "marker", id="dots-behind-words-on-it"),
        pytest.param("def f():\n    pass\n", "def f():\n    pass", "def f(x):\n    ...",
                     "def f(x):\n    ...\n", id="dots-for-another-placeholder"),
        pytest.param("def f():\n    return 1\n", "def f():\n    return 1", "def f(x):\n    ...",
                     "marker", id="dots-for-a-body-of-one-line"),
        pytest.param(_TWINS, _TWINS, "g() {\n  if b {\n    go()\n  }\n  if a {\n    no()\n  }\n"
                     "  // ...\n  p()\n}\n", "marker", id="lines-that-were-moved"),
        pytest.param(_TWINS, _TWINS, "g() {\n    // ...\n  }\n  p()\n}\n", "equal",
                     id="a-block-that-may-end-before"),
        pytest.param(">>> f()\n1\n>>> g()\n2\n", ">>> f()\n1\n>>> g()\n2",
                     ">>> f()\n1\n>>> r(x)\n// existing code", "marker",
                     id="a-mark-below-an-example"),
        pytest.param("a()\n...\nb()  # noted\nc()\n\nx()\nb()\nc()\n", "a()\n...\nb()\nc()",
                     "a()\n...\nc()", "not-found", id="dots-that-are-a-line-of-the-file"),
        pytest.param("def g():\n    a()\n", "def g():",
                     'def f():\n    """Doc."""\n    ...\n\n\ndef g():',
                     'def f():\n    """Doc."""\n    ...\n\n\ndef g():\n    a()\n',
                     id="dots-where-nothing-vanishes"),
    ],
)  # fmt: skip
def test_dots_and_remarks_are_judged_by_what_vanishes_there(
    text: str, old: str, new: str, expected: str
) -> None:
    assert _placed(text, old, new) == expected


@pytest.mark.parametrize(
    "mark", ["...", "…", "[...]", "(...)", "⋮", "# snip", "// etc.", "# as before"]
)
def test_a_diff_adds_no_mark_where_lines_vanish(mark: str) -> None:
    diff = f"@@ -1,4 +1,3 @@\n-a = 1;\n-b = 2;\n-c = 3;\n-d = 4;\n+a = 9;\n+{mark}\n+d = 4;\n"
    patch = f"*** Begin Patch\n*** Update File: f\n{diff}*** End Patch\n"
    for placed in (place_unified(_FOUR, diff), place_envelope(_FOUR, patch)):
        assert isinstance(placed, Refused)
        assert placed.why == "marker"


@pytest.mark.parametrize("mark", ["(...)", "⋮", "⋮...", "# ⋮"])
def test_other_bare_marks_are_known(mark: str) -> None:
    assert _placed(_FOUR, _FOUR, f"a = 9;\n{mark}\nd = 4;\n") == _FOUR.replace("1", "9")


@pytest.mark.parametrize("mark", ["...", "(...)", "# etc."])
def test_a_diff_may_add_dots_where_nothing_goes(mark: str) -> None:
    lines = f"```kotlin\nfun load() {{\n  {mark}\n}}\n```\n"
    added = "".join(f"+{line}\n" for line in lines.splitlines())
    diff = f"@@ -1,4 +1,9 @@\n a = 1;\n{added} b = 2;\n-c = 3;\n+c = 9;\n d = 4;\n"
    patch = f"*** Begin Patch\n*** Update File: f\n{diff}*** End Patch\n"
    for placed in (place_unified(_FOUR, diff), place_envelope(_FOUR, patch)):
        assert not isinstance(placed, Refused), placed.reason
        after = _FOUR.replace("3", "9").replace("b =", f"{lines}b =")
        assert apply_replacements(_FOUR, placed) == after


def test_a_diff_may_put_dots_for_a_whole_body() -> None:
    text = "def f():\n    a()\n    b()\n\n\ndef g():\n    c()\n"
    diff = "@@ -1,3 +1,2 @@\n def f():\n-    a()\n-    b()\n+    ...\n"
    placed = place_unified(text, diff)
    assert not isinstance(placed, Refused)
    assert apply_replacements(text, placed) == text.replace("a()\n    b()", "...")


def test_texts_full_of_dots_are_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[object] = []

    def once(old: Sequence[str], new: Sequence[str]) -> list[tuple[str, int, int, int, int]]:
        compared.append(old)
        return blocks(old, new)

    monkeypatch.setattr(elision, "blocks", once)
    old = ["class A:", *("    def f(self): ...", "    def g(self):", "        ...") * 9]
    assert elision.added_markers(old, [*old, "    x = 1"], "\n".join(old)) == []
    assert len(compared) == 1


def _placed(text: str, old: str, new: str) -> str:
    """Return the text afterwards, or the kind of refusal."""
    placed = place(text, [EditRequest(old, new)])
    return placed.why if isinstance(placed, Refused) else apply_replacements(text, placed)
