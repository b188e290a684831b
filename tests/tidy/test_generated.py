"""Pages that are written from the code are as the code is now."""

from __future__ import annotations

import re
import tomllib
from functools import reduce

from agent_ls.settings import Settings, load_settings
from tools import generate_man, generate_run_events
from tools.generate_settings import FIRST, PAGE, page, settings


def check(lines: str) -> Settings:
    """Assert that this can be set, and return the settings then."""
    loaded = load_settings(command_line=tomllib.loads(lines), environment={"PATH": ""})
    assert loaded.problems == ()
    return loaded.settings


def test_the_settings_page_is_fresh() -> None:
    assert PAGE.read_text("utf-8") == page(), "run `make generate`"


def test_the_events_of_a_run_are_described_as_they_are() -> None:
    for path, text in generate_run_events.outputs().items():
        assert path.read_text("utf-8") == text, "run `make generate`"


def test_the_man_page_has_the_options_of_today() -> None:
    assert generate_man.PAGE.read_text("utf-8") == generate_man.page(), "run `make generate`"


def test_every_example_can_be_set_and_is_not_the_default() -> None:
    # A profile has to be there before it can be chosen.
    shown = [one for one in settings() if one.name != "profile"]
    kept = check("\n".join(f"{one.name} = {one.example}" for one in shown))
    default = Settings()
    same = [
        one.name
        for one in shown
        if reduce(getattr, one.name.split("."), kept)
        == reduce(getattr, one.name.split("."), default)
    ]
    assert same == [], "write examples into tools/generate_settings.py"


def test_the_first_example_is_a_whole_file() -> None:
    block = re.search(r"```toml\n(.*?)```", page(), re.DOTALL)
    assert block is not None
    check(block[1])
    assert len(FIRST) == 10
