"""A user in front of Neovim, by the keys of its page: how many they press, and what they see."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.editors.abilities import EDIT, HANGS
from tests.editors.nvim_terminal import NeovimTerminal
from tests.editors.scripted import ServedModel, served

Opened = Callable[..., AbstractContextManager[NeovimTerminal]]

_DONE = """
[[answer]]
text = "The tax is 19 % now."
"""
_LINES = "".join(f"line_{number} = {number}\n" for number in range(60))
_TEXT = f"# agent: set the tax\nTAX = 0.07\nFEE = 1\nLAST = 2\n{_LINES}"

pytestmark = pytest.mark.parametrize("name", ["neovim-0.11", "neovim-0.7"])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "work" / "shop.py"
    (file.parent / ".git").mkdir(parents=True)
    file.write_text(_TEXT)
    return file


def variables(model: ServedModel, mode: str = "ask") -> dict[str, str]:
    return {
        "AGENT_LS_MODEL": "openai/scripted",
        "AGENT_LS_API_BASE": model.url,
        "AGENT_LS_MODE": mode,
    }


def prompt_of(editor: NeovimTerminal, model: ServedModel) -> str:
    """Return the user's first message, as the model got it."""
    editor.wait_until(model.requests, "the request")
    messages = model.requests()[0]["body"]["messages"]
    return next(one["content"] for one in messages if one["role"] == "user")


def ask(editor: NeovimTerminal, words: str) -> None:
    """Ask with words about the cursor's place."""
    editor.press("Space", "a", "p")
    editor.wait_for_screen("Agent:")
    editor.say(words)
    editor.press("Enter")


@pytest.mark.parametrize(("mode", "most"), [("accept-edits", 7), ("ask", 9)])
def test_from_the_wish_to_the_kept_change_the_keys_are_few(
    open_editor: Opened, name: str, file: Path, mode: str, most: int
) -> None:
    with (
        served(EDIT + _DONE) as model,
        open_editor(name, file, variables(model, mode)) as editor,
    ):
        editor.go_to(40)
        editor.keys = 0
        ask(editor, "set the tax")
        if mode == "ask":
            editor.wait_for_screen("The agent asks: Edit shop.py")
            editor.press("g", "A")
        editor.wait_until(lambda: len(editor.hints()) == 2, "the hints of the changes")
        editor.wait_for_screen("Done: The tax is 19 % now.")
        editor.press("Space", "a", "k")
        editor.wait_for_screen("Kept 2 changes.")
        assert editor.keys == most, f"{editor.keys} keys from the wish to the kept change"
        editor.wait_until(lambda: not editor.hints(), "no hint is left")
        assert "the cursor in line 41" in prompt_of(editor, model)
        assert "TAX = 0.19" in editor.text()
        assert model.problems() == []


def test_what_waits_elsewhere_is_shown_where_the_cursor_is(
    open_editor: Opened, name: str, file: Path
) -> None:
    with served(EDIT + _DONE) as model, open_editor(name, file, variables(model)) as editor:
        editor.go_to(50)
        ask(editor, "set the tax")
        editor.wait_for_screen("The agent asks: Edit shop.py")
        editor.look()
        editor.wait_for_screen("-TAX = 0.07", "+TAX = 0.19", "line_46")


def test_the_selected_lines_go_with_the_words(open_editor: Opened, name: str, file: Path) -> None:
    with served(_DONE) as model, open_editor(name, file, variables(model)) as editor:
        # From below to above, and the visual mode is left.
        editor.go_to(6)
        editor.press("V", "k", "k")
        ask(editor, "explain it")
        said = prompt_of(editor, model)
        assert "Active file: shop.py, selected: lines 5 to 7" in said
        assert "    5  line_0 = 0\n    6  line_1 = 1\n    7  line_2 = 2" in said
        editor.wait_until(lambda: "VISUAL" not in editor.screen(), "the normal mode")


def test_a_buffer_without_a_file_sends_its_text_and_runs_no_comment(
    open_editor: Opened, name: str, file: Path
) -> None:
    with served(_DONE) as model, open_editor(name, file, variables(model)) as editor:
        editor.wait_for_screen("# agent: set the tax")
        editor.say(":enew")
        editor.press("Enter")
        if name == "neovim-0.7":
            # It attaches the agent to files only.
            editor.press("Space", "a", "r")
            editor.wait_for_screen("agent-ls is not ready")
            return
        editor.say(":set filetype=python")
        editor.press("Enter", "i")
        editor.say("# agent: write a sum")
        editor.press("Escape")
        assert not editor.offered(lambda: editor.press("Space", "a", "r"))[:-1]
        editor.wait_for_screen("No instruction comment to run here")
        ask(editor, "explain it")
        said = prompt_of(editor, model)
        assert "Active: a buffer without a file, the cursor in line 1" in said
        assert "    1  # agent: write a sum" in said


def test_an_offer_to_resume_is_a_line_and_not_now_lasts(
    open_editor: Opened, name: str, file: Path
) -> None:
    with served(HANGS + _DONE) as model, open_editor(name, file, variables(model)) as editor:
        editor.go_to(0)
        editor.act("ask")
        editor.wait_until(model.requests, "the request")
        for _ in range(2):
            # Ignored, it is said again.
            editor.leave()
            editor.start()
            editor.wait_for_screen("The agent was cut off in: set the tax")
            assert not editor.said("server", "window/showMessageRequest")
            # It takes no keys: the next ones go to the text.
            editor.go_to(2)
            editor.wait_for_screen("3,1")
        editor.press("Space", "a", "G")
        editor.wait_for_screen("Not resumed.")
        editor.leave()
        editor.start()
        offered = editor.offered(lambda: editor.press("Space", "a", "y"))
        assert not [one for one in offered if "Not now" in one["title"]]
        assert "cut off" not in editor.told()
        assert len(model.requests()) == 1
        editor.act("resume")
        editor.wait_for_screen("Done: The tax is 19 % now.")


def test_trust_has_a_key(open_editor: Opened, name: str, file: Path) -> None:
    commands = file.parent / ".agent-ls" / "commands"
    commands.mkdir(parents=True)
    (commands / "greet.md").write_text("Greet.\n")
    with served(_DONE) as model, open_editor(name, file, variables(model)) as editor:
        editor.until_commanded(lambda: editor.press("Space", "a", "T"), "trust")
        editor.wait_for_screen("It would switch on:", "command /greet", "Trust", "Not now")
        editor.say("1")
        editor.press("Enter")
        editor.wait_for_screen("Trusted: ")
        assert json.dumps(editor.said("editor", "workspace/executeCommand")).count("trust") == 1
