"""Pages that are written from the code are as the code is now."""

from __future__ import annotations

from tools.generate_settings import PAGE, page


def test_the_settings_page_is_fresh() -> None:
    assert PAGE.read_text("utf-8") == page(), "run `make generate`"
