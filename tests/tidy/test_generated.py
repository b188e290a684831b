"""Pages that are written from the code are as the code is now."""

from __future__ import annotations

from tools import generate_man, generate_run_events
from tools.generate_settings import PAGE, page


def test_the_settings_page_is_fresh() -> None:
    assert PAGE.read_text("utf-8") == page(), "run `make generate`"


def test_the_events_of_a_run_are_described_as_they_are() -> None:
    for path, text in generate_run_events.outputs().items():
        assert path.read_text("utf-8") == text, "run `make generate`"


def test_the_man_page_has_the_options_of_today() -> None:
    assert generate_man.PAGE.read_text("utf-8") == generate_man.page(), "run `make generate`"
