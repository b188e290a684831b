"""The documentation's matrix of editors is what the tests of abilities are."""

from __future__ import annotations

from tests.editors.abilities import EDITORS, LIMITS, STORIES
from tools.generate_editors_page import PAGE, page


def test_the_matrix_is_the_table_of_the_stories() -> None:
    assert PAGE.read_text("utf-8") == page(), "run `make generate`"


def test_limits_are_of_editors_and_abilities_that_there_are() -> None:
    assert not [cell for cell in LIMITS if cell[0] not in EDITORS or cell[1] not in STORIES]
