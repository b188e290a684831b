"""The agent's changes reviewed in a stock Neovim, by keyboard: menus and a key of one's own."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from tests.editors.nvim import Neovim
from tests.editors.scripted import served
from tests.editors.test_nvim_turns import setup_for

OpenNeovim = Callable[..., Neovim]

_DOCS = Path(__file__).parents[2] / "docs" / "review.md"
_TEXT = "ä = 1\nb = 2\nc = 3\nd = 4\ne = 5\n"

_SCENARIO = """
[[answer]]
[[answer.call]]
tool = "edit_file"
[answer.call.arguments]
path = "a.py"
edits = [
  { old_string = "ä = 1", new_string = "ä = '😀'" },
  { old_string = "c = 3", new_string = "c = 30\\ncc = 33" },
  { old_string = "e = 5\\n", new_string = "" },
]

[[answer]]
text = "Changed."
"""


def test_changes_are_kept_and_undone_by_keyboard(nvim: OpenNeovim, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(_TEXT)
    with served(_SCENARIO) as model:
        editor = nvim(tmp_path, setup_for(model.url))
        editor.open("a.py")
        editor.wait_for_server()
        editor.execute("agent-ls.mode", "accept-edits")
        editor.execute("agent-ls.prompt", "Change them.")
        editor.wait_until(lambda: "cc = 33" in editor.text(), "the agent's edit")
        editor.wait_until(
            lambda: any(one.get("kind") == "end" for one in editor.progress), "the end of the turn"
        )
        # The user types above and beside the changes.
        editor.replace("b = 2", "b = 2\nmine = '😀'")
        editor.put_cursor_at("ä = ")
        editor.act("Agent: keep this change")
        editor.put_cursor_at("cc = 33")
        # The key that the documentation binds undoes the change at the caret.
        [binding] = re.findall(r"```lua\n(.*?)```", _DOCS.read_text(), re.DOTALL)
        editor.lua(f"vim.g.mapleader = ' '\n{binding}")
        editor.lua("vim.api.nvim_input(' au')")
        editor.wait_until(lambda: "c = 3\n" in editor.text(), "the undone change")
        assert editor.text() == "ä = '😀'\nb = 2\nmine = '😀'\nc = 3\nd = 4\n"
        editor.put_cursor_at("d = 4")
        editor.act("Agent: undo this change")
        editor.wait_until(lambda: "e = 5" in editor.text(), "the lines that were taken away")
        assert editor.text() == "ä = '😀'\nb = 2\nmine = '😀'\nc = 3\nd = 4\ne = 5\n"
        editor.wait_until(
            lambda: editor.execute("agent-ls.review.list") == [], "that nothing is open"
        )
        # It was one change of the buffer, so the editor's own undo takes it back as ever.
        editor.undo()
        assert "e = 5" not in editor.text()
        assert model.problems() == []


def hints(editor: Neovim) -> list[tuple[int, int, str]]:
    """Return first line, last line and text of every hint of ours."""
    found = [one for one in editor.findings() if one.code == "agent-change"]
    assert all((one.severity, one.source) == (4, "agent-ls") for one in found)
    return [(one.line, one.end_line, one.message.removesuffix(". Keep or undo.")) for one in found]


def test_open_changes_are_hints_among_the_diagnostics(nvim: OpenNeovim, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(_TEXT)
    first, second = "agent-ls changed 1 line", "agent-ls changed 2 lines (was 1)"
    third = "agent-ls removed 1 line here"
    with served(_SCENARIO) as model:
        editor = nvim(tmp_path, setup_for(model.url))
        editor.open("a.py")
        editor.wait_for_server()
        editor.execute("agent-ls.mode", "accept-edits")
        editor.execute("agent-ls.prompt", "Change them.")
        editor.wait_until(
            lambda: hints(editor) == [(0, 0, first), (2, 3, second), (4, 4, third)], "the hints"
        )
        editor.replace("b = 2", "b = 2\nmine = '😀'")
        editor.wait_until(
            lambda: hints(editor) == [(0, 0, first), (3, 4, second), (5, 5, third)],
            "the hints at their new lines",
        )
        editor.put_cursor_at("cc = 33")
        assert not [one for one in editor.offered() if "Ask the agent to fix" in one]
        editor.act("Agent: undo this change")
        editor.wait_until(
            lambda: hints(editor) == [(0, 0, first), (4, 4, third)], "that the undone one is gone"
        )
        editor.put_cursor_at("ä = ")
        editor.answer("Agent", "Agent: keep all changes in a.py")
        editor.act("Agent: More…")
        editor.wait_until(lambda: hints(editor) == [], "that all are gone")
        assert editor.text() == "ä = '😀'\nb = 2\nmine = '😀'\nc = 3\nd = 4\n"
        assert model.problems() == []


def test_a_conflict_is_told_and_its_document_opened(nvim: OpenNeovim, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(_TEXT)
    with served(_SCENARIO) as model:
        editor = nvim(tmp_path, setup_for(model.url))
        editor.open("a.py")
        editor.wait_for_server()
        editor.execute("agent-ls.mode", "accept-edits")
        editor.execute("agent-ls.prompt", "Change them.")
        editor.wait_until(lambda: "cc = 33" in editor.text(), "the agent's edit")
        editor.wait_until(
            lambda: any(one.get("kind") == "end" for one in editor.progress), "the end of the turn"
        )
        editor.replace("cc = 33", "cc = 33  # mine")
        before = editor.text()
        editor.put_cursor_at("cc = 33")
        editor.act("Agent: undo this change")
        editor.wait_until(
            lambda: any("undo was not possible" in one for one in editor.shown), "the message"
        )
        # The document with both versions comes before the user where the editor can show one.
        assert editor.text() == before or "+c = 3" in editor.text()
