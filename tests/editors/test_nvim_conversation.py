"""The conversation in a stock Neovim 0.11, set up as the documentation prints it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.editors.nvim import Neovim, NeovimSetup
from tests.editors.scripted import served

_DOCS = Path(__file__).parents[2] / "docs" / "editors"
_COMMAND = json.dumps([sys.executable, "-P", "-m", "agent_ls", "serve"])
_SCENARIO = """
[[answer]]
[[answer.call]]
tool = "edit_file"
arguments = { path = "shop.py", edits = [{ old_string = "TAX = 0.07", new_string = "TAX = 0.19" }] }

[[answer]]
expect = { last_contains = ["as a string"] }
[[answer.call]]
tool = "edit_file"
arguments = { path = "shop.py", edits = [{ old_string = "0.07", new_string = "'0.19'" }] }

[[answer]]
chunk = 8
between_ms = 60
text = \"\"\"
The tax is a string now. This is said slowly, so that the user can write below meanwhile,
while one line after the other comes in above.
\"\"\"

[[answer]]
expect = { last_contains = ["Thanks, and now?"] }
text = "Nothing is left."
"""


def _printed_setup() -> str:
    """Return the configuration for Neovim 0.11 that the documentation prints."""
    printed = (_DOCS / "neovim-0.11.lua").read_text()
    command = f"vim.fn.json_decode([==[{_COMMAND}]==])"
    return "vim.g.mapleader = ' '\n" + printed.replace("{ 'agent-ls', 'serve' }", command)


def _words(editor: Neovim) -> list[str]:
    """Return the lines below the last heading."""
    lines = editor.lines()
    return lines[lines.index("# Write here, then take the code action Send") + 1 :]


@pytest.mark.parametrize("nvim", [(0, 11)], indirect=True, ids=["neovim-0.11"])
def test_a_turn_is_asked_for_followed_corrected_and_continued_in_one_buffer(
    nvim: Callable[..., Neovim], tmp_path: Path
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "shop.py").write_text("TAX = 0.07\n")
    with served(_SCENARIO) as model:
        variables = {"AGENT_LS_MODEL": "openai/scripted", "AGENT_LS_API_BASE": model.url}
        editor = nvim(tmp_path, NeovimSetup(variables=variables, init=_printed_setup()))
        editor.open("shop.py")
        editor.wait_for_server()

        editor.type(" ac")
        editor.wait_until(lambda: "Write here" in editor.text(), "the conversation")
        editor.type("iSet the tax to 19 %<C-s>")
        editor.wait_until(lambda: "**Allow?** Edit shop.py" in editor.text(), "the approval")
        assert "-TAX = 0.07\n+TAX = 0.19\n" in editor.text()
        assert _words(editor) == [""]

        # Sending leaves the insert mode; the cursor is still below the heading.
        editor.type("Aas a string<C-s>")
        editor.wait_until(lambda: "rejected: “as a string”" in editor.text(), "the rejection")
        editor.wait_until(lambda: "+TAX = '0.19'" in editor.text(), "the second approval")
        editor.type("<C-y>")
        editor.wait_until(lambda: "The tax is a" in editor.text(), "the streamed answer")
        editor.type("AThanks, ")
        editor.wait_until(lambda: "comes in above." in editor.text(), "the whole answer")
        editor.type("and now?")
        assert _words(editor) == ["Thanks, and now?"]
        assert editor.lines("shop.py") == ["TAX = '0.19'"]

        editor.wait_until(lambda: "*Done (3 steps" in editor.text(), "the end of the turn")
        editor.type("<C-s>")
        editor.wait_until(lambda: "Nothing is left." in editor.text(), "the second turn")
        editor.wait_until(lambda: _words(editor) == [""], "the words are gone")
        editor.type("<Esc>oA note.<Esc>")
        assert _words(editor) == ["", "A note."]
        editor.type("u")
        assert _words(editor) == [""]
        assert "Nothing is left." in editor.text()
        editor.type(" ak")
        editor.wait_until(lambda: not editor.findings("shop.py"), "the change is kept")
        assert model.problems() == []
