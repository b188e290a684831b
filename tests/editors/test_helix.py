"""The agent's changes reviewed in a stock Helix: hints in the text, and its menu of actions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.editors.helix import Helix
from tests.editors.scripted import served

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

OpenHelix = Callable[..., Helix]


def test_changes_are_seen_kept_and_undone_by_keyboard(helix: OpenHelix, tmp_path: Path) -> None:
    file = tmp_path / "work" / "a.py"
    (file.parent / ".git").mkdir(parents=True)
    file.write_text(_TEXT)
    first = "agent-ls changed 1 line (was 2). Keep or undo."
    second = "agent-ls changed 2 lines (was 1). Keep or undo."
    with served(_SCENARIO) as model:
        variables = {
            "AGENT_LS_MODEL": "openai/scripted",
            "AGENT_LS_API_BASE": model.url,
            "AGENT_LS_MODE": "accept-edits",
        }
        with helix(file, variables) as editor:
            editor.act("ask")
            editor.wait_for_screen("cc = 33")
            editor.go_to(0)
            editor.wait_for_screen(first, "(agent-change)")
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
