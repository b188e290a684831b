"""Which tool here is named to a model that calls another agent's."""

from __future__ import annotations

import pytest

from agent_ls.loop.calls.other_agents import counterpart

TOOLS = ("read_file", "edit_file", "write_file", "run_command", "grep")


@pytest.mark.parametrize(
    ("name", "arguments_json", "ours"),
    [
        ("Read", "{}", "read_file"),
        ("Bash", "{}", "run_command"),
        ("functions.read-file", "{}", "read_file"),
        ("StrReplaceEditor", '{"command": "str_replace"}', "edit_file"),
        ("str_replace_editor", '{"command": "view", "path": "a"}', "read_file"),
        ("str_replace_editor", '{"command":"create", "path": "a"}', "write_file"),
        ("MultiEdit", '{"edits": "broken', "edit_file"),
        ("rm", "{}", ""),
        ("launch_rocket", "{}", ""),
    ],
)
def test_the_tool_that_does_the_same_is_named_if_it_is_there(
    name: str, arguments_json: str, ours: str
) -> None:
    assert counterpart(name, arguments_json, TOOLS) == ours
