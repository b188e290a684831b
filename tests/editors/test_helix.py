"""A stock Helix: changes reviewed by hints and the menu of actions, and words given by keys."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.editors.helix import Helix
from tests.editors.scripted import ServedModel, served

_TEXT = "# agent: change them\na = 1\nb = 2\nc = 3\nd = 4\n"
_SCENARIO = """
[[answer]]
[[answer.call]]
tool = "edit_file"
[answer.call.arguments]
path = "a.py"
edits = [
  { old_string = "# agent: change them\\na = 1", new_string = "a = 10" },
  { old_string = "c = 3", new_string = "c = 30\\ncc = 33" },
]
[[answer.call]]
tool = "write_file"
arguments = { path = "b.py", content = "n = 1\\nm = 2\\n" }

[[answer]]
text = "Changed."
"""

_QUESTION = """
[[answer]]
[[answer.call]]
tool = "ask_user"
arguments = { question = "As a string?" }

[[answer]]
expect = { last_contains = ["100 %"] }
[[answer.call]]
tool = "edit_file"
arguments = { path = "a.py", edits = [{ old_string = "a = 1", new_string = "a = '1'" }] }

[[answer]]
expect = { last_contains = ["rejected", "in double ones"] }
hang = "before"
"""

OpenHelix = Callable[..., Helix]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "work" / "a.py"
    (file.parent / ".git").mkdir(parents=True)
    file.write_text(_TEXT)
    return file


def _variables(model: ServedModel, mode: str) -> dict[str, str]:
    return {
        "AGENT_LS_MODEL": "openai/scripted",
        "AGENT_LS_API_BASE": model.url,
        "AGENT_LS_MODE": mode,
    }


def test_words_are_given_by_keys(open_editor: OpenHelix, file: Path) -> None:
    with (
        served(_QUESTION) as model,
        open_editor("helix-25.07", file, _variables(model, "ask")) as editor,
    ):
        editor.tell("p", "Change a")
        editor.wait_for_screen("As a string?")
        editor.tell("w", r"yes, \"100 %%\"")
        editor.wait_for_screen("Edit a.py")
        editor.tell("n", "in double ones")
        editor.wait_until(lambda: len(model.requests()) == 3, "the third request")
        editor.tell("t", "all of them")
        editor.wait_until(lambda: "all of them" in editor.conversation(), "the words told")
        editor.act("stop")
        editor.wait_until(lambda: "Stopped" in editor.conversation(), "the end of the turn")
        assert model.problems() == []


def test_changes_are_seen_kept_and_undone_by_keyboard(open_editor: OpenHelix, file: Path) -> None:
    first = "agent-ls changed 1 line (was 2). Keep or undo."
    second = "agent-ls changed 2 lines (was 1). Keep or undo."
    with served(_SCENARIO) as model:
        with open_editor("helix-25.01", file, _variables(model, "accept-edits")) as editor:
            editor.act("ask")
            editor.wait_for_screen("cc = 33")
            editor.go_to(0)
            editor.wait_for_screen(first)
            # The list of all files' diagnostics shows what is to be reviewed, open or not.
            editor.press("Space")
            editor.wait_for_screen("Space")
            editor.press("D")
            editor.wait_for_screen("a.py agent-ls changed", "b.py agent-ls made")
            editor.press("Escape")
            editor.go_to(0)
            # The key for the next diagnostic goes from change to change.
            editor.press("]", "d")
            editor.wait_for_screen(second)
            editor.act("undo")
            editor.wait_until(lambda: "cc = 33" not in editor.screen(), "the undone change")
            editor.go_to(0)
            editor.wait_for_screen(first)
            editor.choose("keep")
            editor.wait_until(lambda: first not in editor.screen(), "the kept one's hint gone")
            assert editor.text() == "a = 10\nb = 2\nc = 3\nd = 4\n"
        assert model.problems() == []
