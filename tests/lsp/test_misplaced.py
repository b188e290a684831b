"""Which texts are tried as the one in which an editor carried a late edit out."""

from __future__ import annotations

from agent_ls.domain.edits import Replacement, apply_replacements
from agent_ls.lsp.connection.convert import text_edits
from agent_ls.lsp.connection.positions import TextPositions
from agent_ls.lsp.workspace.misplaced import SentEdit, Watch

BEFORE = "".join(f"value = {number:03d}\n" for number in range(100))
PLACES = tuple(Replacement(start=at, end=at + 5, text="other") for at in range(0, 1200, 60))


def test_the_places_of_an_edit_are_worked_out_once_and_not_for_each_that_is_told() -> None:
    positions = TextPositions(BEFORE, "utf-16")
    expected = apply_replacements(BEFORE, PLACES)
    sent = SentEdit(BEFORE, expected, PLACES, text_edits(positions, PLACES), "utf-16")
    told: list[str] = []

    def places_of_the_last() -> TextPositions:
        worked_out.append(told[-1])
        return TextPositions(told[-1], "utf-16")

    for order in (PLACES, PLACES[::-1]):
        worked_out: list[str] = []
        told.append(BEFORE)
        watch = Watch(sent, places_of_the_last)
        assert watch.found(BEFORE) is None
        for one in order:
            told.append(apply_replacements(told[-1], (one,)))
            assert watch.found(told[-1]) is None
        assert worked_out == [BEFORE, expected]


def test_a_part_that_stays_alone_is_the_persons_own() -> None:
    positions = TextPositions(BEFORE, "utf-16")
    places = (Replacement(start=0, end=0, text="new\n"), PLACES[5])
    expected = apply_replacements(BEFORE, places)
    sent = SentEdit(BEFORE, expected, places, text_edits(positions, places), "utf-16")
    theirs = "new\n" + BEFORE
    told = positions
    watch = Watch(sent, lambda: told)
    assert watch.found(BEFORE) is None
    assert watch.found(theirs) is None
    at = PLACES[5].start - len("value = 000\n") + len("new\n")
    half = apply_replacements(theirs, (Replacement(start=at, end=at + 5, text="other"),))
    assert watch.found(half) is None
    wrong = watch.found("new\n" + half)
    assert wrong is not None
    assert wrong.text == theirs
