"""The panel's golden updates are what our own types send: its tests prove the real protocol."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest

from agent_ls.lsp import wire
from tools.generate_panel_stories import stories

_GOLDEN = Path(__file__).parents[2] / "vscode-client" / "test" / "golden"
_STORIES = sorted(_GOLDEN.glob("*.json"))


def check(story: Path) -> set[str]:
    """Assert that every notification is sent exactly so; the kinds of updates it holds."""
    kinds: set[str] = set()
    for raw in json.loads(story.read_text("utf-8")):
        params = wire.UpdateParams.model_validate(raw)
        assert params.model_dump(mode="json", by_alias=True) == raw
        kinds |= {update.session_update for update in params.updates}
    return kinds


@pytest.mark.parametrize("story", _STORIES, ids=lambda path: path.stem)
def test_a_golden_story_speaks_the_servers_types(story: Path) -> None:
    assert check(story)


def test_the_golden_stories_are_what_the_server_makes_of_their_journals() -> None:
    found = {path: path.read_text("utf-8") for path in _STORIES}
    assert found == stories(), "run `make generate`"


def test_the_golden_stories_hold_every_kind_of_update() -> None:
    union, _ = get_args(wire.Update.__value__)
    wanted = {update.model_fields["session_update"].default for update in get_args(union)}
    assert wanted == set().union(*map(check, _STORIES))
