"""Edits of a model that read an older text: they go where they were meant, or nowhere."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ls.domain.edits import apply_replacements
from agent_ls.edits.hunks import place_hunks
from agent_ls.edits.rebase import place_as_read
from agent_ls.edits.requests import EditRequest, Placed, Refused, Why
from agent_ls.edits.search_replace import place
from agent_ls.edits.unified import parse_unified


def _function(name: str, limit: object) -> str:
    return (
        f"def {name}():\n    load()\n    check()\n    limit = {limit}\n    send()\n    done()\n\n\n"
    )


_TWINS = _function("a", 10) + _function("b", 10)
_A_CHANGED = _function("a", 12) + _function("b", 10)
_LIMIT = EditRequest("    limit = 10", "    limit = 11")
_LIMIT_IN_A = EditRequest("    limit = 10", "    limit = 11", 4)
_LIMIT_IN_B = EditRequest("    limit = 10", "    limit = 11", 12)
_DIFF = "@@ -3,3 +3,3 @@{}\n     check()\n-    limit = 10\n+    limit = 11\n     send()\n"
_IMPORT = EditRequest("import a\n", "import a\nimport c\n")
_CLASS = "class B:\n    limit = 10\n    x = 1\n"
_ALL = EditRequest("limit", "most", replace_all=True)


def _placed(edit: EditRequest | str, text: str) -> Placed:
    if isinstance(edit, EditRequest):
        return place(text, [edit])
    patches = parse_unified(f"--- a/f\n+++ b/f\n{edit}")
    assert not isinstance(patches, Refused)
    return place_hunks(text, patches[0].hunks)


def _nothing(text: str) -> Placed:
    return ()


def check(
    read: str | None,
    now: str,
    edit: EditRequest | str,
    expected: str | Why,
    *,
    is_merged: bool = False,
) -> str:
    """Assert what the newest text becomes, or why nothing does; return the reason."""
    picked = _nothing if isinstance(edit, EditRequest) and edit.replace_all else None
    found = place_as_read(read, now, partial(_placed, edit), picked)
    if isinstance(found.placed, Refused):
        assert found.placed.why == expected, found.placed.reason
        return found.placed.reason
    assert apply_replacements(now, found.placed) == expected
    assert found.is_merged == is_merged
    return ""


@pytest.mark.parametrize(
    "read, now, edit, why",
    [
        pytest.param(_TWINS, _A_CHANGED, _LIMIT_IN_A, "conflict", id="by-its-line"),
        pytest.param(_TWINS, _A_CHANGED, _DIFF.format(""), "conflict", id="by-the-diffs-number"),
        pytest.param(
            _TWINS, _A_CHANGED, _DIFF.format(" def a():"), "conflict", id="by-number-and-section"
        ),
        pytest.param(
            _function("a", 10) + _function("b", 20),
            _A_CHANGED,
            EditRequest("check()\n    limit = 10\n", "check()\n    limit = 11\n"),
            "conflict",
            id="unique-in-both",
        ),
        pytest.param(_TWINS, _A_CHANGED, _LIMIT, "ambiguous", id="by-nothing"),
        pytest.param(_TWINS, "# typed\n" * 8 + _TWINS, _LIMIT_IN_B, "ambiguous",
                     id="typing-moved-the-other-one-to-the-line"),
        pytest.param(_function("a", 10), _function("x", 10) + _function("a", 10), _LIMIT_IN_A,
                     "ambiguous", id="a-copy-pasted-above"),
        pytest.param(_TWINS, _function("b", 10), _LIMIT_IN_A, "conflict", id="the-meant-is-gone"),
        pytest.param(_function("a", 11), _function("a", 10), _LIMIT, "applied", id="taken-back"),
        pytest.param("a = 1\nb = 2\n", "a = 2\nb = 1\n", EditRequest("= 1", "= 3"), "conflict",
                     id="swapped"),
        pytest.param(
            _function("a", 10) + _function("b", 10) + _function("d", 10),
            (_function("a", 10) + "def b():\n" + _function("b", 10).split("\n", 1)[1] * 2
             + "if x:\n    " + _function("d", 10).replace("\n    ", "\n        ")),
            EditRequest("load()\n    check()\n    limit = 10",
            "load()\n    check()\n    limit = 9", 18),
            "conflict",
            id="indented-beside-copies-of-it",
        ),
        pytest.param("limit = 10\n", "limit = 10 + rest\n", EditRequest("limit = 10", "limit = 11"),
                     "conflict", id="the-line-itself-was-changed"),
    ],
)  # fmt: skip
def test_an_edit_is_refused_where_another_place_may_be_meant(
    read: str, now: str, edit: EditRequest | str, why: Why
) -> None:
    reason = check(read, now, edit, why)
    assert "Read the file again" in reason


def test_the_refusal_shows_the_meant_place_and_names_the_other() -> None:
    reason = check(_TWINS, _A_CHANGED, _LIMIT_IN_A, "conflict")
    assert "     4:     limit = 12" in reason
    assert "Line 12 fits the old text, but is another place." in reason


@pytest.mark.parametrize(
    "read, now, edit, expected",
    [
        pytest.param(_TWINS, "# typed\n" + _TWINS, _LIMIT_IN_A,
                     "# typed\n" + _function("a", 11) + _function("b", 10), id="typed-above"),
        pytest.param(_TWINS, _TWINS.replace("load()", "load(1)"), _LIMIT_IN_B,
                     (_function("a", 10) + _function("b", 11)).replace("load()", "load(1)"),
                     id="typed-in-both"),
        pytest.param("import a\nimport z\n", "import a\nimport b\nimport z\n", _IMPORT,
                     "import a\nimport c\nimport b\nimport z\n", id="typed-in-the-same-gap"),
        pytest.param("f()\nlimit = 10\n", "if x:\n    f()\n    limit = 10\n",
                     EditRequest("f()\nlimit = 10", "f()\nlimit = 11"),
                     "if x:\n    f()\n    limit = 11\n", id="only-indented"),
        pytest.param("f(1)\n", "f(2)\n", EditRequest("f(2)", "f(3)"), "f(3)\n",
                     id="known-from-elsewhere"),
        pytest.param(_function("a", 10), _TWINS, _ALL, _TWINS.replace("limit", "most"),
                     id="all-places"),
        pytest.param(_A_CHANGED, _TWINS, _ALL, _TWINS.replace("limit", "most"),
                     id="all-places-one-changed"),
        pytest.param(None, _A_CHANGED, _LIMIT_IN_A, _function("a", 12) + _function("b", 11),
                     id="nothing-was-read"),
    ],
)  # fmt: skip
def test_an_edit_that_means_its_place_is_carried_out_there(
    read: str | None, now: str, edit: EditRequest | str, expected: str
) -> None:
    check(read, now, edit, expected)


@pytest.mark.parametrize(
    "read, now, edit, expected",
    [
        pytest.param(_function("a", 10), _function("a", 10).replace("check()", "verify(all, now)"),
                     EditRequest("check()\n    limit = 10\n    send()",
                          "check()\n    limit = 11\n    send()"),
                     _function("a", 11).replace("check()", "verify(all, now)"),
                     id="a-line-beside-it-changed"),
        pytest.param(_function("a", 10), _function("a", 10) + _CLASS, _LIMIT,
                     _function("a", 11) + _CLASS, id="a-twin-came-below"),
    ],
)  # fmt: skip
def test_an_edit_that_fits_the_older_text_only_is_merged(
    read: str, now: str, edit: EditRequest | str, expected: str
) -> None:
    check(read, now, edit, expected, is_merged=True)


@given(
    st.lists(st.sampled_from([10, 10, 20]), min_size=2, max_size=4),
    st.lists(st.tuples(st.integers(0, 40), st.sampled_from(["change", "insert"])), max_size=5),
    st.data(),
)
def test_whatever_a_user_typed_only_the_meant_line_is_replaced(
    limits: list[int], typed: list[tuple[int, str]], data: st.DataObject
) -> None:
    read = "".join(_function(f"f{n}", limit) for n, limit in enumerate(limits)).splitlines()
    solid = [number for number, line in enumerate(read) if line]
    meant = data.draw(st.sampled_from(solid))
    first = data.draw(st.integers(max(0, meant - 3), meant))
    past = data.draw(st.integers(meant + 1, min(len(read), meant + 4)))
    now: list[tuple[int | None, str]] = list(enumerate(read))
    for at, kind in typed:
        at %= len(now)
        # What is typed is also the very line that another function has.
        line = data.draw(st.sampled_from(["    limit = 10", "    typed()"]))
        if kind == "insert" or now[at][1] != line:
            now[at : at + (kind == "change")] = [(None, line)]

    def text(lines: list[str]) -> str:
        return "".join(f"{line}\n" for line in lines)

    new = [*read[first:meant], "    edited()", *read[meant + 1 : past]]
    request = EditRequest(text(read[first:past]), text(new), first + 1)
    newest = text([line for _, line in now])
    found = place_as_read(text(read), newest, partial(_placed, request)).placed
    if isinstance(found, Refused):
        return
    wanted = [("    edited()" if number == meant else line) for number, line in now]
    assert apply_replacements(newest, found) == text(wanted)


@pytest.mark.parametrize(
    "now, why",
    [
        pytest.param(_TWINS.replace("10", "13"), "conflict", id="both-changed"),
        pytest.param(_function("a", 10) * 3, "ambiguous", id="the-merge-is-unclear"),
    ],
)
def test_what_neither_text_makes_certain_is_refused(now: str, why: Why) -> None:
    check(_function("a", 10), now, _LIMIT, why)


def test_what_fits_neither_text_is_refused_by_the_newest() -> None:
    check(_TWINS, _A_CHANGED, EditRequest("nothing of it", "x"), "not-found")
