"""Patches in both formats: carried out whole, or not at all."""

from __future__ import annotations

import pytest

from agent_ls.domain.edits import apply_replacements
from agent_ls.edits.plan import plan_patch
from agent_ls.edits.requests import Refused, Why
from agent_ls.edits.unified import place_unified

_F = "def a():\n    x = 1\n    return x\n\n\ndef b():\n    x = 1\n    return x\n"


def check(
    patch: str, texts: dict[str, str], expected: dict[str, str | None] | tuple[Why, str]
) -> None:
    """Assert all texts after the patch, None for one that is gone, or the refusal."""
    plans = plan_patch(patch, texts)
    if isinstance(expected, tuple):
        assert isinstance(plans, Refused), plans
        assert plans.why == expected[0], plans.reason
        assert expected[1] in plans.reason
        return
    assert not isinstance(plans, Refused), plans.reason
    after: dict[str, str | None] = dict(texts)
    for plan in plans:
        if plan.kind == "create":
            after[plan.path] = plan.text
            continue
        text = after[plan.path]
        assert text is not None
        after[plan.path] = None
        if plan.kind != "delete":
            after[plan.new_path or plan.path] = apply_replacements(text, plan.replacements)
    assert after == expected


def _unified(body: str, header: str = "@@ -1,3 +1,3 @@") -> str:
    return f"--- a/f\n+++ b/f\n{header}\n{body}"


def _envelope(body: str) -> str:
    return f"*** Begin Patch\n*** Update File: f\n{body}*** End Patch\n"


_B2 = _F.replace("def b():\n    x = 1", "def b():\n    x = 2")


@pytest.mark.parametrize(
    "patch, texts, expected",
    [
        pytest.param(_unified(" def b():\n-    x = 1\n+    x = 2\n", "@@ -90,9 +3 @@"),
                     {"f": _F}, {"f": _B2}, id="wrong-numbers"),
        pytest.param(_unified("-    x = 1\n+    x = 2\n     return x\n", "@@ -7,2 +7,2 @@"),
                     {"f": _F}, {"f": _B2}, id="a-right-number-breaks-the-tie"),
        pytest.param(_unified("-    x = 1\n+    x = 2\n", "@@ ... @@ def b():"),
                     {"f": _F}, {"f": _B2}, id="a-section-breaks-the-tie"),
        pytest.param(_unified("def b():\n-    x = 1\n+    x = 2\n    return x\n"),
                     {"f": _F}, {"f": _B2}, id="context-without-its-space"),
        pytest.param(_unified(" a\n-b\n\\ No newline at end of file\n+c\n"), {"f": "a\nb"},
                     {"f": "a\nc"}, id="a-final-end-stays-away"),
        pytest.param(_unified(" a\n-b\n\\ No newline at end of file\n+b\n"), {"f": "a\nb"},
                     ("equal", "nothing to change"), id="only-a-final-end-is-added"),
        pytest.param(_unified(" a\n-b\n+c\n\\ No newline at end of file\n"), {"f": "a\nb\nz\n"},
                     {"f": "a\nc\nz\n"}, id="somebody-wrote-on-behind-it"),
        pytest.param("--- /dev/null\n+++ b/g\n@@ -0,0 +1,2 @@\n+a\n+b\n", {"f": "x"},
                     {"f": "x", "g": "a\nb\n"}, id="created"),
        pytest.param("--- a/g\n+++ b/g\n@@ -0,0 +1,2 @@\n+a\n+b\n", {}, {"g": "a\nb\n"},
                     id="created-without-saying-so"),
        pytest.param("--- a/g\n+++ b/g\n@@ -0,0 +1,2 @@\n+a\n b\n", {},
                     ("missing", "no such file"), id="a-line-of-a-file-that-is-missing"),
        pytest.param("--- a/g\n+++ b/g\n@@ ... @@\n+a\n+b\n", {}, ("missing", "no such file"),
                     id="an-addition-to-a-file-that-is-missing"),
        pytest.param("--- a/f\n+++ b/f\n@@ -0,0 +1,2 @@\n+a\n+b\n", {"f": "x\n"},
                     ("blank", "f: "), id="created-without-saying-so-over-a-file"),
        pytest.param("--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", {"f": "x\n"}, {"f": None},
                     id="deleted"),
        pytest.param("--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", {"f": "x\nmore\n"},
                     ("conflict", "does not show"), id="deleted-with-more-than-the-diff-shows"),
        pytest.param("diff --git a/f b/g\nsimilarity index 90%\nrename from f\nrename to g\n",
                     {"f": "x\n"}, {"f": None, "g": "x\n"}, id="renamed"),
        pytest.param(_envelope("@@ def b():\n-    x = 1\n+    x = 2\n"), {"f": _F}, {"f": _B2},
                     id="first-after-the-anchor"),
        pytest.param(_envelope("@@\n x\n+y\n*** End of File\n"), {"f": "x\na\nx\n"},
                     {"f": "x\na\nx\ny\n"}, id="at-the-end"),
        pytest.param(_envelope("+y\n*** End of File\n"), {"f": "x"}, {"f": "x\ny"},
                     id="added-at-the-end"),
        pytest.param(_envelope("@@\n-    x = 1\n+    x = 9\n     return x\n \n@@\n-    x = 1\n"
                               "+    x = 2\n@@ def b():\n-    return x\n+    return 2\n"),
                     {"f": _F}, ("ambiguous", "Hunk 2 of 3"), id="a-tie-stays-a-tie"),
        pytest.param("*** Begin Patch\n*** Add File: g\n+a\n*** Delete File: f\n*** End Patch",
                     {"f": "x"}, {"f": None, "g": "a\n"}, id="added-and-deleted"),
        pytest.param("*** Begin Patch\n*** Delete File: f\n*** Add File: f\n+a\n+b\n+c\n"
                     "*** End Patch",
                     {"f": "a\r\nx\r\nc\r\n"}, {"f": "a\r\nb\r\nc\r\n"},
                     id="deleted-and-added-anew"),
        pytest.param("*** Begin Patch\n*** Delete File: f\n*** Add File: f\n+a\n*** End Patch",
                     {}, ("missing", "no such file"), id="missing-and-added-anew"),
        pytest.param("*** Begin Patch\n*** Delete File: f\n*** Add File: f\n+a\n*** End Patch",
                     {"f": "a\n"}, ("equal", "that it has"), id="added-as-it-was"),
        pytest.param("*** Begin Patch\n*** Add File: g\n+a\n+b\n*** Update File: g\n@@\n-b\n+c\n"
                     "*** End Patch",
                     {}, ("overlap", "twice"), id="added-and-updated"),
        pytest.param("*** Begin Patch\n*** Add File: g\n+a\n*** Delete File: g\n*** End Patch", {},
                     ("overlap", "twice"), id="added-and-deleted-again"),
        pytest.param(_envelope("*** Move to: g\n@@\n-x\n+y\n"), {"f": "x\n"},
                     {"f": None, "g": "y\n"}, id="moved-and-changed"),
        pytest.param("*** Update File: f\n@@\n-x\n+y\n", {"f": "x\n"}, {"f": "y\n"},
                     id="without-any-marks"),
        pytest.param(_envelope("*** Move to: f\n@@\n-x\n+y\n"),
                     {"f": "x\n"}, {"f": "y\n"}, id="moved-to-where-it-is"),
        pytest.param("  *** Begin Patch\n  *** Update File: f\n  @@\n  -x\n  +y\n  *** End Patch\n",
                     {"f": "x\n"}, {"f": "y\n"}, id="indented-as-a-whole"),
        pytest.param(_envelope("@@ def b(): @@     x = 1\n-    return x\n+    return 2\n"),
                     {"f": _F}, {"f": _F.removesuffix("x\n") + "2\n"},
                     id="two-anchors-in-a-line"),
        pytest.param(_envelope("@@\n a\n-b\n\\ No newline at end of file\n+c\n"), {"f": "a\nb"},
                     {"f": "a\nc"}, id="a-missing-end-is-told-of"),
        pytest.param("*** Begin Patch\n*** End Patch\n", {}, ("malformed", "names no file"),
                     id="nothing-in-it"),
        pytest.param("*** Begin Patch\n*** Add File: f\n+a\n*** End Patch", {"f": "x"},
                     ("exists", "f: the file exists"), id="added-over-a-file"),
        pytest.param("*** Begin Patch\n*** Update File: f\n*** Move to: g\n*** End Patch",
                     {"f": "x", "g": "y"}, ("exists", "g exists"), id="moved-over-a-file"),
        pytest.param(_unified("+x\n"), {"f": _F}, ("blank", "unchanged lines"), id="no-context"),
        pytest.param("just words", {"f": _F}, ("malformed", "`@@`"), id="no-patch"),
        pytest.param(_unified(" def b():\n-    x = 1\n+    # ... rest of code ...\n"), {"f": _F},
                     ("marker", "in full"), id="a-mark"),
    ],
)  # fmt: skip
def test_a_patch_is_carried_out_whole_or_refused(
    patch: str, texts: dict[str, str], expected: dict[str, str | None] | tuple[Why, str]
) -> None:
    check(patch, texts, expected)


@pytest.mark.timeout(20)
def test_equal_hunks_in_a_file_of_equal_lines_are_refused_at_once() -> None:
    hunk = "@@ -{0},3 +{0},3 @@\n if ready:\n-    turn(it)\n+    turn(all)\n     pull(it)\n"
    diff = "--- a/f\n+++ b/f\n" + "".join(hunk.format(3 * number + 1) for number in range(500))
    placed = place_unified("if ready:\n    turn(it)\n    pull(it)\n" * 50_000, diff)
    assert isinstance(placed, Refused)
    assert placed.why == "ambiguous"
