"""Whole turns in a stock Neovim: what a user without any plugin sees and can do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.editors.nvim import Neovim, NeovimSetup
from tests.editors.scripted import served

OpenNeovim = Callable[..., Neovim]

_CALC = '''\
"""Sums."""


# agent: let total ignore everything that is not a number
def total(values):
    return sum(values)
'''

_EDIT_AND_MEND = r"""
[[answer]]
[answer.expect]
contains = ["# agent: let total ignore", "not saved yet"]
[[answer.call]]
tool = "edit_file"
[answer.call.arguments]
path = "calc.py"
[[answer.call.arguments.edits]]
old_string = "# agent: let total ignore everything that is not a number\n"
new_string = ""
[[answer.call.arguments.edits]]
old_string = "return sum(values)"
new_string = "return sum(v for v in values if isinstance(v, Number))"

[[answer]]
text = "total ignores what is not a number."

[[answer]]
[answer.expect]
last_contains = ["F821", "Number"]
[[answer.call]]
tool = "edit_file"
[answer.call.arguments]
path = "calc.py"
[[answer.call.arguments.edits]]
old_string = "\"\"\"Sums.\"\"\"\n"
new_string = "\"\"\"Sums.\"\"\"\n\nfrom numbers import Number\n"

[[answer]]
text = "total ignores what is not a number, and Number is imported."
"""

_COMMAND = "echo started > flag; sleep 600; echo late > late"

_READ_FIRST = """
[[answer]]
[[answer.call]]
tool = "read_file"
arguments = { path = "calc.py" }
"""


def setup_for(url: str) -> NeovimSetup:
    return NeovimSetup(variables={"AGENT_LS_MODEL": "openai/scripted", "AGENT_LS_API_BASE": url})


def has_only_hints(editor: Neovim) -> bool:
    """Say whether every diagnostic left tells of a change, which is no problem."""
    return all(one.code == "agent-change" for one in editor.findings())


def test_an_instruction_comment_becomes_an_edit_that_can_be_undone(
    nvim: OpenNeovim, tmp_path: Path
) -> None:
    (tmp_path / "calc.py").write_text("old text on disk\n")
    with served(_READ_FIRST + _EDIT_AND_MEND) as model:
        editor = nvim(tmp_path, setup_for(model.url))
        editor.open("calc.py")
        editor.wait_for_server()
        # What counts is what is in the buffer; the disk has another text.
        editor.replace("old text on disk", _CALC.rstrip("\n"))
        editor.put_cursor_at("# agent:")
        editor.act("Run agent: let total ignore everything that is not a number")
        editor.wait_until(
            lambda: [one for one in editor.findings() if "asks: Edit calc.py" in one.message],
            "the approval as a diagnostic",
        )
        editor.act("Agent: Allow for this session: every edit of a text file — Edit calc.py")
        editor.wait_until(
            lambda: [one for one in editor.findings() if "ruff" in one.source],
            "the finding of the gate",
        )
        editor.wait_until(lambda: "from numbers import Number" in editor.text(), "the mending edit")
        editor.wait_until(lambda: has_only_hints(editor), "no diagnostic left but of the changes")
        assert "# agent:" not in editor.text()
        assert "if isinstance(v, Number)" in editor.text()
        assert editor.is_modified()
        assert (tmp_path / "calc.py").read_text() == "old text on disk\n"
        editor.undo()
        assert "from numbers import Number" not in editor.text()
        assert model.problems() == []


@pytest.mark.parametrize(
    ("action", "is_changed"),
    [
        pytest.param("Agent: Allow once — Edit a.txt", True, id="allowed"),
        pytest.param("Agent: Reject — Edit a.txt", False, id="rejected"),
    ],
)
def test_an_approval_is_answered_by_a_code_action(
    nvim: OpenNeovim, tmp_path: Path, action: str, is_changed: bool
) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    scenario = """
    [[answer]]
    [[answer.call]]
    tool = "edit_file"
    arguments = { path = "a.txt", edits = [{ old_string = "one", new_string = "two" }] }

    [[answer]]
    text = "That is all."
    """
    with served(scenario) as model:
        editor = nvim(tmp_path, setup_for(model.url))
        editor.open("a.txt")
        editor.wait_for_server()
        editor.execute("agent-ls.prompt", "Make it two.")
        editor.wait_until(editor.findings, "the approval")
        editor.act(action)
        editor.wait_until(lambda: has_only_hints(editor), "the approval is settled")
        editor.wait_until(lambda: len(model.requests()) == 2, "the second request")
        assert editor.text() == ("two\n" if is_changed else "one\n")


def test_stopping_kills_the_running_command(nvim: OpenNeovim, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    scenario = f"""
    [[answer]]
    [[answer.call]]
    tool = "run_command"
    arguments = {{ command = "{_COMMAND}" }}
    """
    with served(scenario) as model:
        editor = nvim(tmp_path, setup_for(model.url))
        editor.open("a.txt")
        editor.wait_for_server()
        editor.execute("agent-ls.prompt", "Wait.")
        editor.wait_until(editor.findings, "the approval")
        editor.act(f"Agent: Allow once — Run: {_COMMAND}")
        editor.wait_until((tmp_path / "flag").exists, "the command runs")
        editor.execute("agent-ls.stop")
        editor.wait_until(
            lambda: any(
                one.get("kind") == "end" and "cancelled" in str(one.get("message"))
                for one in editor.progress
            ),
            "the end of the turn",
        )
        assert not (tmp_path / "late").exists()


def test_a_dead_endpoint_is_said_in_the_editor(nvim: OpenNeovim, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    setup = NeovimSetup(
        variables={
            "AGENT_LS_MODEL": "openai/scripted",
            "AGENT_LS_API_BASE": "http://127.0.0.1:9/v1",
            "AGENT_LS_POLICIES__TRANSPORT__TRIES": "1",
            "AGENT_LS_POLICIES__FAILURE_LIMIT__MAX_FAILED_STEPS": "1",
        }
    )
    editor = nvim(tmp_path, setup)
    editor.open("a.txt")
    editor.wait_for_server()
    editor.execute("agent-ls.prompt", "Hello?")
    editor.wait_until(
        lambda: any("127.0.0.1:9" in one for one in editor.notices), "a message that says so"
    )
