"""The agent's changes reviewed in a stock Kate: by the keyboard and its menu of code actions."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

from tests.editors.kate import Kate
from tests.editors.scripted import served

_DOCS = Path(__file__).parents[2] / "docs" / "editors" / "kate.json"
_TEXT = "# agent: change them\na = 1\nb = 2\nc = 3\nd = 4\ne = 5\n"
_SCENARIO = """
[[answer]]
# Kate takes edits only for two seconds after a command, so this one has to be offered.
delay_ms = 2000
[[answer.call]]
tool = "edit_file"
[answer.call.arguments]
path = "a.py"
edits = [
  { old_string = "# agent: change them\\n", new_string = "" },
  { old_string = "a = 1", new_string = "a = 10" },
  { old_string = "c = 3", new_string = "c = 30\\ncc = 33" },
  { old_string = "e = 5", new_string = "e = 50" },
]

[[answer]]
text = "Changed."
"""


OpenKate = Callable[..., Kate]


def test_changes_are_kept_and_undone_by_keyboard(kate: OpenKate, tmp_path: Path) -> None:
    file = tmp_path / "work" / "a.py"
    (file.parent / ".git").mkdir(parents=True)
    file.write_text(_TEXT)
    with served(_SCENARIO) as model:
        variables = {
            "AGENT_LS_MODEL": "openai/scripted",
            "AGENT_LS_API_BASE": model.url,
            "AGENT_LS_MODE": "accept-edits",
        }
        with kate(file, json.loads(_DOCS.read_text()), variables) as editor:
            editor.go_to(0)
            editor.choose_titled("Run agent: change them")
            editor.wait_for_finding("edit")
            editor.choose_titled("Apply — Agent: edit a.py")
            editor.wait_for_progress("end")
            # The comment that asked went with the line below it.
            first = "0: agent-ls changed 1 line (was 2). Keep or undo."
            last = "5: agent-ls changed 1 line. Keep or undo."
            middle = "2: agent-ls changed 2 lines (was 1). Keep or undo."
            editor.wait_until(
                lambda: editor.hints() == [first, middle, last],
                "the hints",
            )
            editor.go_to(0)
            editor.screen.shot(tmp_path / "hints.png")
            # The user types beside the changes, and into one of them.
            editor.go_to(1)
            editor.screen.type("  # mine")
            editor.go_to(5)
            editor.screen.type("  # mine, too")
            assert editor.text() == (
                "a = 10\nb = 2  # mine\nc = 30\ncc = 33\nd = 4\ne = 50  # mine, too\n"
            )
            last = last.replace("line.", "line, changed again since.")
            editor.wait_until(
                lambda: editor.hints() == [first, middle, last],
                "the hint that its line was changed",
            )
            editor.go_to(0)
            editor.choose_titled("Agent: keep this change")
            editor.wait_until(lambda: editor.hints() == [middle, last], "the kept one gone")
            editor.go_to(2)
            editor.choose_titled("Agent: undo this change")
            kept = "a = 10\nb = 2  # mine\nc = 3\nd = 4\ne = 50  # mine, too\n"
            editor.wait_until(lambda: editor.text() == kept, "the undone change")
            editor.go_to(4)
            editor.choose_titled("Agent: undo this change")
            editor.wait_until(lambda: "undo was not possible" in editor.told(), "the conflict")
            # This Kate cannot be shown a document, so it is told where both versions are.
            [place] = editor.wait_until(
                lambda: re.findall(r"is shown in (/.*)$", editor.told(), re.MULTILINE),
                "the document's place",
            )
            assert "+e = 5\n" in Path(place).read_text()
            editor.screen.shot(tmp_path / "kate.png")
            assert editor.text() == kept
        assert model.problems() == []
