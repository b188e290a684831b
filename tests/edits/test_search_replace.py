"""Exact edits: placed with certainty, or refused with what the model needs to do better."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from agent_ls.domain.edits import apply_replacements
from agent_ls.edits.requests import EditRequest, Refused
from agent_ls.edits.search_replace import place


def check(text: str, requests: Sequence[EditRequest], expected: str | tuple[str, ...]) -> None:
    """Assert the text after the edits, or with a tuple the words that the refusal contains."""
    placed = place(text, requests)
    if isinstance(expected, tuple):
        assert isinstance(placed, Refused), placed
        for words in expected:
            assert words in placed.reason
        return
    assert not isinstance(placed, Refused), placed
    assert apply_replacements(text, placed) == expected
    for one in placed:
        assert "\r\n" not in (text[one.start - 1 : one.start + 1], text[one.end - 1 : one.end + 1])


@pytest.mark.parametrize(
    "text, requests, expected",
    [
        pytest.param("a b c", [EditRequest("b", "x")], "a x c", id="once"),
        pytest.param("def f():\n    a = one(1)\n    b = two(2)\n", [EditRequest("b = two(2)", "")],
                     "def f():\n    a = one(1)\n", id="a-line-that-goes-without-its-indentation"),
        pytest.param("a\nb\n", [EditRequest("a\nb\n", "")], "", id="everything"),
        pytest.param("", [EditRequest("", "new\n")], "new\n", id="into-an-empty-file"),
        pytest.param("é😀\x0cb", [EditRequest("😀\x0cb", "😀\x0cc")], "é😀\x0cc",
                     id="wide-and-odd"),
        pytest.param("a a a", [EditRequest("a", "b", replace_all=True)], "b b b", id="all"),
        pytest.param("x = 1\na\nx = 10\n", [EditRequest("x = 1", "x = 2", line=3)],
                     "x = 2\na\nx = 10\n", id="hint-at-a-longer-word"),
        pytest.param("x = 1\nmax = 1\nx = 10\n", [EditRequest("x = 1", "x = 2", replace_all=True)],
                     "x = 2\nmax = 1\nx = 10\n", id="all-but-those-inside-longer-words"),
        pytest.param("x\nx\nx\n", [EditRequest("x", "y", line=2)], "x\ny\nx\n", id="hint"),
        pytest.param("x\n\n\n\nx\n", [EditRequest("x", "y", line=4)], "x\n\n\n\ny\n",
                     id="hint-is-off"),
        pytest.param("x\ny\n", [EditRequest("y", "z", line=99)], "x\nz\n",
                     id="hint-overrules-nothing"),
        pytest.param("a\nf(\"}\")\nb\nc\n}\n", [EditRequest("}", "end", line=1)],
                     'a\nf("}")\nb\nc\nend\n', id="hint-means-a-line-and-no-part-of-one"),
        pytest.param("if a:\n  x = 1\n  if b:\n    x = 1\n", [EditRequest("  x = 1", "  x = 2")],
                     "if a:\n  x = 2\n  if b:\n    x = 1\n", id="an-indented-line-no-deeper-one"),
        pytest.param("b = 2  # kept\nc\n", [EditRequest("b = 2", "x\nb = 2")],
                     "x\nb = 2  # kept\nc\n",
                     id="a-line-above-one-with-a-remark"),
        pytest.param("a b", [EditRequest("b", "2"), EditRequest("a", "1")], "1 2", id="any-order"),
        pytest.param("ab", [EditRequest("a", "1"), EditRequest("b", "2")], "12", id="side-by-side"),
        pytest.param("a = 1\nmid = 2\nc = 3\n", [EditRequest("a = 1\nmid = 2", "a = 9\nmid = 2"),
                                                 EditRequest("mid = 2\nc = 3", "mid = 2\nc = 9")],
                     "a = 9\nmid = 2\nc = 9\n", id="a-shared-line-that-stays"),
        pytest.param("a = 1\nmid = 2\nc = 3\n", [EditRequest("mid = 2\nc = 3",
                     "mid = 2\nx = 4\nc = 3"),
                                                 EditRequest("a = 1\nmid = 2",
                                                 "a = 1\nx = 5\nmid = 2")],
                     "a = 1\nx = 5\nmid = 2\nx = 4\nc = 3\n",
                     id="additions-around-a-shared-line"),
        pytest.param("a\n", [EditRequest("a", "b"), EditRequest("a", "b")], "b\n",
                     id="the-same-edit-twice"),
        pytest.param("a\r\nb\r\n", [EditRequest("a\nb\n", "a\nx\nb\n")], "a\r\nx\r\nb\r\n",
                     id="crlf-file"),
        pytest.param("a\nb\n", [EditRequest("a\r\nb", "a\r\nc")], "a\nc\n", id="crlf-in-the-wish"),
        pytest.param("a\r\nb\nc\r\n", [EditRequest("a\nb\nc", "a\nb\nd")], "a\r\nb\nd\r\n",
                     id="mixed-ends-stay"),
        pytest.param("a\nb\r\nc\n", [EditRequest("b", "b\nx")], "a\nb\r\nx\r\nc\n",
                     id="neighbours-end"),
        pytest.param("def f():\n    a()\n\n    b()\n    c()\n",
                     [EditRequest("    a()\n\n    b()", "    a()\n")],
                     "def f():\n    a()\n\n    c()\n", id="a-blank-line-of-the-new-text"),
        pytest.param("// ask\nconst x = 1;\n", [EditRequest("// ask\nconst", "export const")],
                     "export const x = 1;\n", id="a-line-that-goes-on-behind-the-same-word"),
        pytest.param("a\r\n\r\nb", [EditRequest("a\n\nb", "ab")], "ab", id="crlf-removed-whole"),
        pytest.param("a\rb", [EditRequest("a\rb", "a\rc")], "a\rc", id="lone-carriage-return"),
        pytest.param("\ta\n  b \n", [EditRequest("  b ", "  c ")], "\ta\n  c \n",
                     id="white-space-counts"),
    ],
)  # fmt: skip
def test_what_is_certain_is_placed(text: str, requests: list[EditRequest], expected: str) -> None:
    check(text, requests, expected)


@pytest.mark.parametrize(
    "text, requests, expected",
    [
        pytest.param("b = 2  # kept\nc\n", [EditRequest("b = 2", "b = 7\nx")],
                     ("stands at line 1, but only inside a longer word or line",),
                     id="a-remark-of-a-line-that-goes"),
        pytest.param("a", [EditRequest("a", "a")], ("equal",), id="nothing-to-change"),
        pytest.param("a = 1\nmid = 2\nc = 3\n", [EditRequest("a = 1\nmid = 2", "a = 1\nmid = 9"),
                                                 EditRequest("mid = 2\nc = 3", "mid = 2\nc = 9")],
                     ("1 and 2 overlap", "line 3"), id="a-line-that-one-quotes-and-one-changes"),
        pytest.param("a\r\nb", [EditRequest("a\nb", "a\r\nb")], ("equal",),
                     id="only-line-ends-differ"),
        pytest.param("a", [EditRequest("", "b")], ("empty or blank", "write_file"), id="empty-old"),
        pytest.param("x\ny\nx\n", [EditRequest("x", "z")], ("2 times", "1: x", "3: x",
                     "give the line"),
                     id="twice"),
        pytest.param("aaa", [EditRequest("aa", "b")], ("2 times",), id="overlapping-places"),
        pytest.param("x\n\nx\n", [EditRequest("x", "z", line=2)], ("2 times", "clearly nearest"),
                     id="tie"),
        pytest.param("max = 1\n", [EditRequest("x = 1", "x = 2", replace_all=True)],
                     ("+max = 1",), id="all-inside-longer-words"),
        pytest.param("abc", [EditRequest("ab", "1"), EditRequest("bc", "2")], ("1 and 2 overlap",
                     "line 1"),
                     id="overlap"),
        pytest.param("import os\n\nX = 1\n", [EditRequest("import os\n", "import os\nimport sys"),
                                           EditRequest("\nX = 1", "Y = 2\nX = 1")],
                     ("1 and 2 overlap", "line 2"), id="a-blank-line-that-both-take"),
        pytest.param("a\nb\nc\n", [EditRequest("a\nb", "a\nx\nb"), EditRequest("a\nb\nc",
                     "a\ny\nb\nc")],
                     ("1 and 2 overlap", "line 2"), id="two-additions-between-the-same-lines"),
        pytest.param("a\nb\nc\n", [EditRequest("b", "b\nx"), EditRequest("a\nb\nc", "a\nb\nx\nc")],
                     ("1 and 2 overlap", "line 3"), id="one-addition-quoted-in-two-ways"),
        pytest.param("a\n\nb\n", [EditRequest("a", "a\n\nx"), EditRequest("a\n\nb", "a\n\nx\n\nb")],
                     ("1 and 2 overlap", "line 3"),
                     id="one-addition-that-differs-in-where-it-begins"),
        pytest.param("a = 1\nb = 2\n", [EditRequest("a = 1", "alpha = 1"),
                                         EditRequest("alpha = 1\nb = 2", "alpha = 1\nb = 3")],
                     ("Edit 2 of 2", "as it was before the call"), id="edits-in-sequence"),
        pytest.param('indent = 4\nmost = "3.1", extra\n',
                     [EditRequest('indent = 4\nmost = "3.1"', 'indent = 4\nmost = "3.2"')],
                     ("+most = \"3.1\", extra",), id="a-last-line-that-says-more-by-now"),
        pytest.param("def a():\n    return compute(1)\n\ndef b():\n    return compute(2)\n",
                     [EditRequest("    retrun compute(1)", "    return compute(2)")],
                     ("not in the file", "begins at line 2", "+    return compute(1)",
                      "new text stands at line 5"), id="the-new-text-of-another-place"),
        pytest.param("size = 1\nMAX_SIZE = compute(two)\ny\n",
                     [EditRequest("max_size = compute(two)", "x")],
                     ("begins at line 2", "only the case of letters", "+MAX_SIZE = compute(two)"),
                     id="only-the-case-differs"),
        pytest.param("x\nclass Foo:\n\tBar\n", [EditRequest("class foo:\n\tbar\n", "y")],
                     ("begins at line 2", "only the case of letters"), id="the-case-of-two-lines"),
        pytest.param("x\r\nlong_name(someThing, and_more, and_this)\r\n", [EditRequest("something",
                     "y")],
                     ("begins at line 2", "only the case of letters"), id="the-case-inside-a-line"),
        pytest.param("\tHELLO\nbye\n", [EditRequest("    hello", "y")], ("begins at line 1",),
                     id="the-case-in-other-indentation"),
        pytest.param("a", [EditRequest("a", "b"), EditRequest("q", "r")], ("Edit 2 of 2", "not in"),
                     id="all-or-nothing"),
        pytest.param("a\n", [EditRequest("zebra crossing", "b")], ("'zebra crossing'",
                     "Read the file"),
                     id="nothing-like-it"),
        pytest.param("a = compute(one)\nb = 2\n", [EditRequest("a = compute(two)", "x")],
                     ("line 1", "-a = compute(two)", "+a = compute(one)"), id="nearest"),
        pytest.param("return value + 1\n",
                     [EditRequest("return value", "return value + 1"),
                     EditRequest("return gone", "return value + 1")],
                     ("Edit 2", "new text stands at line 1"), id="applied"),
        pytest.param("}\n", [EditRequest("return a_long_name;", "}")], ("Read the file",),
                     id="short-new-proves-nothing"),
        pytest.param("def compute_total(x):\n    return x\n", [EditRequest("ute_total(x)",
                     "ute_sum(x)")],
                     ("is in the file, but only inside a longer word", "+def compute_total(x):"),
                     id="a-text-that-begins-inside-a-word"),
        pytest.param("a = f(price, 1)\n", [EditRequest("f(pri", "g(pri")],
                     ("stands at line 1, but only inside a longer word",),
                     id="a-short-text-that-ends-inside-a-word"),
    ],
)  # fmt: skip
def test_what_is_not_certain_is_refused(
    text: str, requests: list[EditRequest], expected: tuple[str, ...]
) -> None:
    check(text, requests, expected)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("is_read", [False, True])
@pytest.mark.parametrize(
    "text, old, new",
    [
        pytest.param("f(a,\nb)\n", ",\n", ", ", id="inside-a-line"),
        pytest.param("if a and \\\n    b:\n", "if a and \\\n", "if a and ", id="a-whole-line"),
        pytest.param("if a and \\\n    b:\n", " \\\n    ", " ", id="with-an-indentation"),
        pytest.param("<b>\nx</b>\n", "<b>\n", "<b>", id="nothing-but-the-end-goes"),
        pytest.param("a\nb\n", "b\n", "b", id="the-end-of-the-file"),
        pytest.param("line1\nline2\n", "\nline2", " line2", id="the-end-of-the-line-above"),
        pytest.param("line1\nline2\n", "\nline2", "line2", id="without-a-blank"),
        pytest.param("a = 1\nb = 2\nc\n", "\nb = 2\n", "b = 3\nd\n", id="both-lines-change"),
        pytest.param("a\n\nb\n", "a\n\n", "a\n", id="a-blank-line-below"),
        pytest.param("a\n\nb\n", "a\n", "a", id="a-blank-line-by-one-end"),
        pytest.param("a\n\nb\n", "\n\nb", "\nb", id="a-blank-line-above"),
        pytest.param("a()\nb()\n\nc()\n", "a()\nb()\n", "x()\nb()", id="a-change-and-a-blank-line"),
        pytest.param("a()\nb()\n", "a()", "x()\n", id="a-blank-line-is-added"),
        pytest.param("x = [\n  1,\n]\n", "\n  1,\n", "1", id="an-end-on-both-sides"),
        pytest.param("  a:\n    b\n", "a:\n", "a: ", id="a-line-without-its-indentation"),
    ],
)
def test_an_exact_text_with_a_line_end_is_replaced_exactly(
    text: str, old: str, new: str, end: str, *, is_read: bool
) -> None:
    assert text.count(old) == 1
    for replace_all in (False, True):
        request = EditRequest(old, new, replace_all=replace_all)
        placed = place(text.replace("\n", end), [request], is_read=is_read)
        assert not isinstance(placed, Refused), placed.reason
        expected = text.replace(old, new).replace("\n", end)
        assert apply_replacements(text.replace("\n", end), placed) == expected


def test_all_line_ends_behind_a_text_go() -> None:
    check("a,\r\nb,\r\nc", [EditRequest(",\n", ", ", replace_all=True)], "a, b, c")
    check("a()\nx\na()\ny\n", [EditRequest("a()\n", "b()", replace_all=True)], "b()x\nb()y\n")


def test_a_text_that_differs_only_in_a_line_end_has_to_be_exact() -> None:
    check("\ta\nb\n", [EditRequest("    a\n", "    a")], ("only in the last line end", "exactly"))


def test_a_part_of_a_word_may_be_replaced_in_the_text_that_was_read() -> None:
    requests = [EditRequest("x = 1", "x = 2")]
    assert isinstance(place("max = 1\n", requests), Refused)
    placed = place("max = 1\n", requests, is_read=True)
    assert not isinstance(placed, Refused)
    assert apply_replacements("max = 1\n", placed) == "max = 2\n"


def test_only_what_differs_is_replaced() -> None:
    text = "def f(a):\n    one\n    two\n    three\n"
    placed = place(text, [EditRequest(text, text.replace("two", "TWO").replace("(a)", "(a, b)"))])
    assert not isinstance(placed, Refused)
    assert [(text[one.start : one.end], one.text) for one in placed] == [
        ("", ", b"),
        ("two", "TWO"),
    ]


def test_several_candidates_are_named_best_first() -> None:
    text = "total = price * 2\n" + "pass\n" * 9 + "total = price * amount + tax\n"
    check(
        text,
        [EditRequest("total = price * amount - tax", "x")],
        ("begins at line 11", "others at 1"),
    )


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "text, meant",
    [
        ("a" * 1_000_000, EditRequest("a" * 500_000, "b")),
        ("x = 1\n" * 20_000, EditRequest("x = 2\n" * 200, "b")),
        ("x" * 1_000_000 + "\n", EditRequest("y" * 100_000, "b")),
        ("\r\n" * 200_000, EditRequest("a\n", "b")),
        ("ab\n" * 100_000, EditRequest("ab", "c", line=5)),
        ("x = 10\n" * 9_000 + "y\n" * 500_000, EditRequest("x = 1", "x = 2", replace_all=True)),
        ("if a:\n    b()\n" * 100_000, EditRequest("    b()", "    c()", replace_all=True)),
        (
            "if a:\n    b()\n    c()\n" * 60_000,
            EditRequest("b()\nc()", "c()\nd()", replace_all=True),
        ),
    ],
)
def test_hostile_texts_take_no_quadratic_time(text: str, meant: EditRequest) -> None:
    assert place(text, [meant]) is not None


_TEXTS = st.text(alphabet="ab \n\r\té😀", max_size=40)


_SOLID = st.lists(st.sampled_from(["a", "b c", "", "    d", "é😀", "x\x0cy"]), max_size=10)


@given(_SOLID, _SOLID, st.sampled_from(["\n", "\r\n"]), st.data())
def test_a_unique_text_is_replaced_and_nothing_else(
    lines: list[str], new: list[str], end: str, data: st.DataObject
) -> None:
    flat = "".join(f"{line}\n" for line in lines)
    low = data.draw(st.integers(0, len(lines)))
    high = data.draw(st.integers(low, len(lines)))
    old, goal = "".join(f"{x}\n" for x in lines[low:high]), "".join(f"{x}\n" for x in new)
    assume(old.strip())
    placed = place(flat.replace("\n", end), [EditRequest(old, goal)])
    if isinstance(placed, Refused):
        assert old == goal or flat.find(old) != flat.rfind(old) or placed.why == "applied"
        return
    at = flat.index(old)
    after = flat[:at] + goal + flat[at + len(old) :]
    assert apply_replacements(flat.replace("\n", end), placed) == after.replace("\n", end)


@given(_TEXTS, st.lists(st.tuples(_TEXTS, _TEXTS), max_size=4))
def test_any_wishes_give_sorted_replacements_or_a_reason(
    text: str, pairs: list[tuple[str, str]]
) -> None:
    placed = place(text, [EditRequest(old, new) for old, new in pairs])
    if isinstance(placed, Refused):
        assert placed.reason
    else:
        apply_replacements(text, placed)
