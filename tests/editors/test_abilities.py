"""Every ability of the agent in every stock editor, by the configuration that is printed.

A cell of the matrix in `docs/editors.md` is one test here: (editor, ability).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.editors.abilities import EDITORS, LIMITS, STORIES, Story, User
from tests.editors.scripted import served

_CELLS = [
    pytest.param(
        editor,
        story,
        id=f"{editor}-{name.replace(' ', '_')}",
        # From the wish over the approval to the kept change.
        marks=pytest.mark.story(editor) if name == "allows" else (),
    )
    for editor in EDITORS
    for name, story in STORIES.items()
    if (editor, name) not in LIMITS
]


@pytest.mark.parametrize(("editor_name", "story"), _CELLS)
def test_ability(
    open_editor: Callable[..., User], editor_name: str, story: Story, tmp_path: Path
) -> None:
    file = tmp_path / "work" / "shop.py"
    (file.parent / ".git").mkdir(parents=True)
    file.write_text(story.text)
    with served(story.scenario) as model:
        variables = {
            "AGENT_LS_MODEL": "openai/scripted",
            "AGENT_LS_API_BASE": model.url,
            "AGENT_LS_MODE": story.mode,
        }
        with open_editor(editor_name, file, variables) as editor:
            story.play(editor, model)
        assert model.problems() == []
