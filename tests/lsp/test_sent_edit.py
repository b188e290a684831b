"""What a text proves of an edit, for any text, edit and typing beside it or in it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from agent_ls.domain.edits import Replacement, apply_replacements
from agent_ls.lsp.workspace.sent_edit import Proof, SentEdit


def proven(before: str, expected: str, now: str) -> Proof:
    return SentEdit(before, expected, ()).proof_in(now)


TEXTS = st.text("ab \n", max_size=14)
"""Few characters, so that nearly everything is repeated beside itself."""


@dataclass(frozen=True)
class Case:
    """A text, an edit of it, and something typed at a place of the text the edit leads to."""

    before: str
    replacements: tuple[Replacement, ...]
    typed: str

    @property
    def expected(self) -> str:
        return apply_replacements(self.before, self.replacements)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    before = draw(TEXTS)
    marks = sorted(draw(st.lists(st.integers(0, len(before)), min_size=2, max_size=6)))
    pairs = list(zip(marks[::2], marks[1::2], strict=False))
    changes = [
        Replacement(start=a, end=b, text=draw(st.text("ab \n", max_size=4))) for a, b in pairs
    ]
    case = Case(before, tuple(changes), draw(st.text("abc \n", max_size=6)))
    assume(case.expected != before)
    return case


def outside(changes: tuple[Replacement, ...], start: int, end: int) -> bool:
    """Say whether a stretch of the old text has a character between it and every change."""
    return all(end < one.start or one.end < start for one in changes)


def typed_beside(case: Case, start: int, end: int) -> tuple[str, str]:
    """Return the text with typing in ``start:end`` of the old one, without the edit and with it."""
    assume(outside(case.replacements, start, end))
    typing = Replacement(start=start, end=end, text=case.typed)
    both = sorted((*case.replacements, typing), key=lambda one: one.start)
    return (
        apply_replacements(case.before, (typing,)),
        apply_replacements(case.before, tuple(both)),
    )


@settings(max_examples=500)
@given(cases(), st.data())
def test_typing_beside_an_edit_never_proves_the_contrary(case: Case, data: st.DataObject) -> None:
    places = range(len(case.before) + 1)
    free = [at for at in places if outside(case.replacements, at, at)]
    assume(free)
    start = data.draw(st.sampled_from(free))
    end = data.draw(st.integers(start, min(start + 3, len(case.before))))
    untouched, applied = typed_beside(case, start, end)
    told = (case.before, case.expected)
    if untouched != case.expected:
        assert proven(*told, untouched) != "applied"
    if applied != case.before:
        assert proven(*told, applied) != "untouched"


@settings(max_examples=500)
@given(cases(), st.data())
def test_an_edit_that_is_changed_as_it_arrives_is_not_taken_for_undone(
    case: Case, data: st.DataObject
) -> None:
    """Whatever the person makes of the new text within its place."""
    change = case.replacements[0]
    old = case.before[change.start : change.end]
    assume(old[:1] != change.text[:1] and old[-1:] != change.text[-1:])
    altered = change.model_copy(update={"text": data.draw(st.text("abc \n", max_size=6))})
    one = (change,)
    expected = apply_replacements(case.before, one)
    now = apply_replacements(case.before, (altered,))
    assume(expected != case.before and now not in (case.before, expected))
    assert proven(case.before, expected, now) != "untouched"


@settings(max_examples=300)
@given(st.integers(0, 39), st.integers(0, 39), st.sampled_from(["", "new", "x\ny"]))
def test_a_text_without_repetition_proves_what_happened(at: int, where: int, new: str) -> None:
    """The proof is found where there is one, else every edit beside typing would be unclear."""
    assume(abs(at - where) > 1)
    before = "".join(chr(0x4E00 + number) for number in range(40))
    case = Case(before, (Replacement(start=at, end=at + 1, text=new),), "typed")
    untouched, applied = typed_beside(case, where, where)
    told = (case.before, case.expected)
    assert proven(*told, untouched) == "untouched"
    assert proven(*told, applied) == "applied"


def test_many_edits_of_a_large_file_are_proven() -> None:
    before = "".join(f"x = {number}\n" for number in range(20_000))
    changes = tuple(Replacement(start=at, end=at, text="y") for at in range(0, 100_000, 100))
    expected = apply_replacements(before, changes)
    assert proven(before, expected, "# typed\n" + before) == "nothing"
    changes = changes[1:]
    expected = apply_replacements(before, changes)
    assert proven(before, expected, "# typed\n" + before) == "untouched"
    assert proven(before, expected, "# typed\n" + expected) == "applied"


BEFORE = "a\r\nb\r\nc\r\n"


@pytest.mark.parametrize(
    "before, expected, now, is_there",
    [
        pytest.param("a\n", "b\n", "b\n", True, id="the-very-text"),
        pytest.param("a\n", "b\n", "a\n", False, id="the-old-text"),
        pytest.param("a\n", "b\nc\n", "b\r\nc\r\n", True, id="all-ends-made-others"),
        pytest.param("a\n", "b\nc\n", "b\rc\r", True, id="carriage-returns-alone"),
        pytest.param(BEFORE, "a\r\nx\nb\r\nc\r\n", "a\r\nx\r\nb\r\nc\r\n", True, id="the-new-end"),
        pytest.param(BEFORE, "a\r\nx\nb\r\nc\r\n", "a\nx\nb\nc\n", True, id="every-end"),
        pytest.param(BEFORE, "x\n" + BEFORE, "x\r\n" + BEFORE, True, id="at-the-start"),
        pytest.param(BEFORE, BEFORE + "x\n", BEFORE + "x\r\n", True, id="at-the-end"),
        pytest.param(BEFORE, "a\r\nc\r\n", "a\r\nc\n", True, id="taken-out"),
        pytest.param(BEFORE, "", "", True, id="all-taken-out"),
        pytest.param(BEFORE, "a\r\nx\nb\r\nc\r\n", "a\r\nx\nb\r\nc\r\n.", False, id="typed-below"),
        pytest.param(BEFORE, "a\r\nx\nb\r\nc\r\n", "a\r\n\r\nx\r\nb\r\nc\r\n", False, id="typed"),
        pytest.param(BEFORE, "x\r\nb\r\ny\r\n", "x\r\nb\r\nc\r\n", False, id="one-of-two-places"),
        pytest.param("a\r\nb", "a\rb", "a\r\nb", False, id="line-ends-alone-count"),
        pytest.param("a\r\nb", "a\rb", "a\rb", True, id="line-ends-alone-are-there"),
        pytest.param("a\r\nb", "a\rx\nb", "a\rx\r\nb", True, id="within-a-line-end"),
        pytest.param("a\rb\nc", "a\r\nb\nc", "a\r\nb\r\nc", False, id="a-line-feed-more"),
    ],
)
def test_a_text_is_the_wanted_one_but_for_its_line_ends(
    before: str, expected: str, now: str, is_there: bool
) -> None:
    assert SentEdit(before, expected, ()).is_shown_in(now) is is_there
