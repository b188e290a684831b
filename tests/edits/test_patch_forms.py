"""Patches as they are written: every way to write them is read as it is meant, or refused whole."""

from __future__ import annotations

import pytest

from agent_ls.domain.edits import apply_replacements
from agent_ls.edits.plan import plan_patch
from agent_ls.edits.requests import Refused, Why

_FENCE = "`" * 3
_HUNK = "@@ -1 +1 @@\n-a\n+b\n"
_UPDATE = "*** Update File: f\n@@\n-a\n+b\n"
_TWO_F = "@@ -5,1 +5,1 @@\n-foo()\n+bar()\n@@ -1,1 +1,1 @@\n-x = 1\n+x = 2\n"
_BELOW = {"f": "a\n", "sub/f": "a\n"}
_X = "def f():\n    x = 1\n    a()\n    b()\n    x = 1\n    c()\n"


def check(patch: str, texts: dict[str, str], expected: dict[str, str] | tuple[Why, str]) -> None:
    """Assert the changed and created files, or the refusal and words of its reason."""
    plans = plan_patch(patch, texts)
    if isinstance(expected, tuple):
        assert isinstance(plans, Refused), plans
        assert plans.why == expected[0], plans.reason
        assert expected[1] in plans.reason
        return
    assert not isinstance(plans, Refused), plans.reason
    found = {
        plan.new_path or plan.path: plan.text
        if plan.kind == "create"
        else apply_replacements(texts[plan.path], plan.replacements)
        for plan in plans
    }
    assert found == expected


def _envelope(body: str) -> str:
    return f"*** Begin Patch\n{body}*** End Patch\n"


def _fenced(body: str) -> str:
    return f"{_FENCE}diff\n{body}{_FENCE}\n"


@pytest.mark.parametrize(
    "patch, texts, expected",
    [
        pytest.param("--- f 2024-01-01 10:00:00.0 +0000\n+++ f 2024-01-01 10:00:01.0 +0000\n"
                     + _HUNK, {"f": "a\n"}, {"f": "b\n"}, id="times-behind-the-names"),
        pytest.param("    --- a/f\n    +++ b/f\n    @@ -1 +1 @@\n    -a\n    +b\n", {"f": "a\n"},
                     {"f": "b\n"}, id="a-diff-indented-as-a-whole"),
        pytest.param(_fenced("--- a/f\n+++ b/f\n" + _HUNK) + "\nand\n"
                     + _fenced("--- a/g\n+++ b/g\n" + _HUNK), {"f": "a\n", "g": "a\n"},
                     {"f": "b\n", "g": "b\n"}, id="two-fenced-diffs"),
        pytest.param("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-\ufeffa\n+\ufeffb\n", {"f": "\ufeffa\n"},
                     {"f": "\ufeffb\n"}, id="a-mark-of-the-byte-order"),
        pytest.param("--- /dev/null\n+++ b/f\n@@ -0,0 +1,3 @@\n+a\n\n+b\n", {}, {"f": "a\n\nb\n"},
                     id="a-new-file-with-a-bare-blank-line"),
        pytest.param(_envelope("*** Update file: f\n@@\n-a\n+b\n"), {"f": "a\n"}, {"f": "b\n"},
                     id="a-small-letter"),
        pytest.param(_envelope("*** Update File: f\n--- a/f\n+++ b/f\n" + _HUNK), {"f": "a\n"},
                     {"f": "b\n"}, id="a-diff-inside-of-the-envelope"),
        pytest.param(_envelope("*** Add File: f\n@@\n+a\n*** End of File\n"), {}, {"f": "a\n"},
                     id="a-new-file-with-marks-of-hunks"),
        pytest.param(_envelope(_UPDATE).strip().replace("\n", "\\n"), {"f": "a\n"}, {"f": "b\n"},
                     id="escaped-as-in-json"),
        pytest.param("apply_patch <<'EOF'\n" + _envelope(_UPDATE) + "EOF\n", {"f": "a\n"},
                     {"f": "b\n"}, id="a-heredoc"),
        pytest.param("cd sub && apply_patch <<'EOF'\n" + _envelope(_UPDATE) + "EOF\n", _BELOW,
                     {"sub/f": "b\n"}, id="a-heredoc-in-a-folder"),
        pytest.param("cd './sub/' ; apply_patch <<\"PATCH\"\n" + _envelope(_UPDATE) + "PATCH",
                     _BELOW, {"sub/f": "b\n"}, id="a-quoted-folder"),
        pytest.param("Now this:\nbash -lc \"cd sub &&\napplypatch <<EOF\n" + _envelope(_UPDATE)
                     + "EOF\"\n", _BELOW, {"sub/f": "b\n"}, id="a-folder-in-a-shell"),
        pytest.param("cd sub\napply_patch <<'EOF'\n" + _envelope(
                         _UPDATE.replace(": f", ": ../f")), _BELOW, {"f": "b\n"},
                     id="a-path-out-of-the-folder"),
        pytest.param("cd sub && apply_patch <<'EOF'\n" + _envelope(
                         _UPDATE.replace("@@", "*** Move to: g\n@@", 1)) + "EOF\n", _BELOW,
                     {"sub/g": "b\n"}, id="moved-in-a-folder"),
        pytest.param("cd sub && apply_patch <<'EOF'\n" + _envelope("*** Add File: g\n+a\n"),
                     _BELOW, {"sub/g": "a\n"}, id="added-in-a-folder"),
        pytest.param("cd sub && apply_patch <<'EOF'\n" + _envelope(_UPDATE) + "EOF\n"
                     "apply_patch <<'EOF'\n" + _envelope(_UPDATE) + "EOF\n", _BELOW,
                     {"sub/f": "b\n", "f": "b\n"}, id="a-folder-for-one-of-two"),
        pytest.param("cd sub && git apply <<'EOF'\n--- a/f\n+++ b/f\n" + _HUNK + "EOF\n", _BELOW,
                     {"sub/f": "b\n"}, id="a-diff-in-a-folder"),
        pytest.param("*** Begin Patch  \n" + _UPDATE + " *** End Patch\t\n", {"f": "a\n"},
                     {"f": "b\n"}, id="marks-with-blanks-around"),
        pytest.param("  *** Begin Patch\n  *** Delete File: g\n  " + _UPDATE + "*** End Patch",
                     {"f": "a\n", "g": "x\n"}, {"f": "b\n", "g": "x\n"},
                     id="headers-with-blanks-before"),
        pytest.param(_envelope(_UPDATE.replace("-a", " *** Begin Patch\n-a") + " *** End Patch\n"),
                     {"f": "*** Begin Patch\na\n*** End Patch\n"},
                     {"f": "*** Begin Patch\nb\n*** End Patch\n"}, id="marks-that-are-context"),
        pytest.param(_envelope("*** Update File: f\n@@\n-c\n+c\n@@\n-a\n+b\n"), {"f": "a\nc\n"},
                     {"f": "b\nc\n"}, id="a-hunk-that-changes-nothing"),
        pytest.param("--- a/f\n+++ b/f\n@@ -2 +2 @@\n-c\n+c\n" + _HUNK, {"f": "a\nc\n"},
                     {"f": "b\nc\n"}, id="a-hunk-of-a-diff-that-changes-nothing"),
        pytest.param(_envelope("*** Update File: g\n@@\n-c\n+c\n" + _UPDATE),
                     {"f": "a\n", "g": "c\n"}, {"f": "b\n"}, id="a-file-where-nothing-changes"),
        pytest.param(_envelope("*** Update File: f\n@@ def f():\n-    x = 1\n+    x = 2\n"),
                     {"f": _X}, {"f": _X.replace("1", "2", 1)}, id="the-first-below-an-anchor"),
        pytest.param(_envelope("*** Update File: f\n@@ def g():\n-  x\n+  y\n"
                               "@@ def g():\n-  x\n+  z\n"),
                     {"f": "def g():\n  x\ndef g():\n  x\n"},
                     {"f": "def g():\n  y\ndef g():\n  z\n"}, id="the-next-anchor-of-two"),
        pytest.param(_envelope("*** Update File: f\n@@ def g():\n-  x\n+  y\n"),
                     {"f": "  x\ndef g():\n  x\ndef g():\n  x\n"},
                     {"f": "  x\ndef g():\n  y\ndef g():\n  x\n"}, id="the-first-anchor-of-two"),
        pytest.param(_envelope("*** Update File: f\n@@ say \"hi\" - now\n-a\n+b\n"),
                     {"f": "a\nsay \u201chi\u201d \u2013 now\na\n"},
                     {"f": "a\nsay \u201chi\u201d \u2013 now\nb\n"},
                     id="an-anchor-in-plain-quotes"),
        pytest.param(_envelope("*** Update File: f\n@@ -1,3 @@\n-a\n+b\n"), {"f": "a\n"},
                     {"f": "b\n"}, id="numbers-are-no-anchor"),
        pytest.param(_envelope("*** Update File: f\n@@ def g(one):\n     y = load(one)\n-    a\n"
                               "+    b\n     return check(y)\n"),
                     {"f": "def g(one, two):\n    y = load(one)\n    a\n    return check(y)\n"},
                     {"f": "def g(one, two):\n    y = load(one)\n    b\n    return check(y)\n"},
                     id="an-anchor-that-grew-above-enough-context"),
        pytest.param(_FENCE + "\n" + _envelope(_UPDATE) + _FENCE, {"f": "a\n"}, {"f": "b\n"},
                     id="a-fenced-envelope"),
        pytest.param(_envelope(_UPDATE) + _envelope(_UPDATE.replace(": f", ": g")),
                     {"f": "a\n", "g": "a\n"}, {"f": "b\n", "g": "b\n"}, id="two-envelopes"),
        pytest.param(_envelope(_UPDATE + "*** Update File: f\n@@\n-c\n+d\n"), {"f": "a\nc\n"},
                     {"f": "b\nd\n"}, id="one-file-named-twice"),
        pytest.param("--- a/f\n+++ b/f\n@@ -1,9 +1,9 @@\n+x\n a\n-b\n", {"f": "a\nb\n"},
                     {"f": "x\na\n"}, id="a-last-line-removed-below-one-added-and-wrong-counts"),
        pytest.param("--- a/f\n+++ b/f\n@@ -1,3 +1,2 @@\n a\n-b\n \n \n", {"f": "a\nb\n\n"},
                     {"f": "a\n\n"}, id="a-removed-line-above-blank-ones"),
        pytest.param(_envelope("*** Update File: f\n@@\n  \ta()\n+ \tb()\n  }\n"),
                     {"f": "on {\n\ta()\n}\n"}, {"f": "on {\n\ta()\n\tb()\n}\n"},
                     id="a-blank-behind-each-sign"),
        pytest.param(_envelope("*** Update File: f\n@@\n@@\n-a\n+b\n"), {"f": "a\n"},
                     {"f": "b\n"}, id="an-empty-hunk"),
        pytest.param(_envelope("*** Update File: f\n@@ -5,1 +5,1 @@ def f():\n-    x = 1\n"
                               "+    x = 2\n"), {"f": _X},
                     {"f": "def f():\n    x = 1\n    a()\n    b()\n    x = 2\n    c()\n"},
                     id="numbers-in-an-envelope"),
    ],
)  # fmt: skip
def test_a_patch_is_read_as_it_is_meant(
    patch: str, texts: dict[str, str], expected: dict[str, str]
) -> None:
    check(patch, texts, expected)


@pytest.mark.parametrize(
    "patch, texts, expected",
    [
        pytest.param("--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n", {"f": "a\nb\nc\n"},
                     ("malformed", "cut off"), id="cut-off-behind-a-removed-line"),
        pytest.param("*** Begin Patch\n" + _UPDATE, {"f": "a\n"}, ("malformed", "cut off"),
                     id="an-envelope-without-an-end"),
        pytest.param("*** Begin Patch\n*** Delete File: f\n", {"f": "a\n"},
                     ("malformed", "Send it whole"), id="a-deletion-without-an-end"),
        pytest.param("apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: g\n+x\nEOF\n", {},
                     ("malformed", "cut off"), id="a-heredoc-without-an-end"),
        pytest.param("*** Begin Patch\n" + _UPDATE + _envelope(_UPDATE.replace(": f", ": g")),
                     {"f": "a\n", "g": "a\n"}, ("malformed", "cut off"),
                     id="the-first-of-two-without-an-end"),
        pytest.param("cd sub && cd deep && apply_patch <<'EOF'\n" + _envelope(_UPDATE), _BELOW,
                     ("malformed", "in which folder"), id="two-folders"),
        pytest.param("cd $HERE && apply_patch <<'EOF'\n" + _envelope(_UPDATE), _BELOW,
                     ("malformed", "in which folder"), id="a-folder-that-only-a-shell-knows"),
        pytest.param("cd sub && apply_patch <<'EOF'\n" + _envelope(_UPDATE), {"f": "a\n"},
                     ("missing", "sub/f: there is no such file"), id="not-in-the-folder"),
        pytest.param(_envelope("*** Update File: f\n@@ def nowhere():\n-a\n+b\n"), {"f": "a\n"},
                     ("not-found", "The anchor 'def nowhere():' is no line of the file"),
                     id="an-anchor-that-is-nowhere"),
        pytest.param(_envelope("*** Update File: f\n@@ def nowhere():\n+b\n"), {"f": "a\n"},
                     ("not-found", "'def nowhere():'"), id="an-addition-below-it"),
        pytest.param(_envelope("*** Update File: f\n@@ class A\n@@ def g():\n-a\n+b\n"),
                     {"f": "def g():\na\nclass A\n"}, ("not-found", "below 'class A'"),
                     id="an-anchor-above-the-one-around-it"),
        pytest.param(_envelope("*** Update File: f\n@@ def g(x):\n first = call(x)\n-a\n+b\n"
                               " second = call(x)\n"),
                     {"f": "import os\nfirst = call(x)\na\nsecond = call(x)\n"},
                     ("not-found", "'def g(x):'"), id="a-lost-anchor-above-enough-context"),
        pytest.param("--- a/f\n+++ b/f\n@@ def nowhere(): @@\n-a\n+b\n", {"f": "a\n"},
                     ("not-found", "'def nowhere():'"), id="an-anchor-of-a-diff-that-is-nowhere"),
        pytest.param(_envelope("*** Update File: f\n@@\n-a\n+a\n@@\n-c\n+c\n"), {"f": "a\nc\n"},
                     ("equal", "nothing to change"), id="no-hunk-changes-anything"),
        pytest.param("--- /dev/null\n+++ b/f\n@@ -0,0 +1,3 @@\n+def f():\n    x = 1\n+    g()\n",
                     {}, ("malformed", "'x = 1'"), id="a-new-file-with-a-line-without-a-sign"),
        pytest.param("diff --git a/f b/g\nsimilarity index 90%\ncopy from f\ncopy to g\n"
                     "--- a/f\n+++ b/g\n" + _HUNK, {"f": "a\n"}, ("malformed", "copies f"),
                     id="a-copy"),
        pytest.param(_envelope("*** Create File: g\n+x\n" + _UPDATE), {"f": "a\n"},
                     ("malformed", "Create File: g"), id="an-unknown-verb"),
        pytest.param("--- a/g\n+++ b/g\n" + _HUNK + _envelope(_UPDATE), {"f": "a\n", "g": "a\n"},
                     ("malformed", "'--- a/g'"), id="a-diff-before-an-envelope"),
        pytest.param(_envelope("*** Update File: f\n@@\n a\n"), {"f": "a\n"},
                     ("malformed", "changes nothing"), id="only-context"),
        pytest.param(_envelope("*** Update File: f\n*** Move to: g\n@@\n-a\n+b\n"
                               "*** Update File: f\n@@\n-c\n+d\n"), {"f": "a\nc\n"},
                     ("overlap", "twice"), id="moved-and-updated-apart"),
        pytest.param("--- a/f\n+++ b/f\n" + _TWO_F,
                     {"f": "x = 1\na\nb\nc\nfoo()\n" + "q\n" * 30 + "x = 1\n"},
                     ("ambiguous", "2 times"), id="order-and-number-contradict-each-other"),
        pytest.param("--- a/f\n+++ b/f\n@@ -9,1 +9,1 @@ def f():\n-    x = 1\n+    x = 2\n",
                     {"f": "def f():\n    x = 1\n\n\ndef g():\n    a()\n\n\n    x = 1\n"},
                     ("ambiguous", "2 times"), id="a-number-beyond-the-next-header"),
    ],
)  # fmt: skip
def test_what_is_no_patch_in_part_is_none(
    patch: str, texts: dict[str, str], expected: tuple[Why, str]
) -> None:
    check(patch, texts, expected)
