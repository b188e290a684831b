"""From what a model wrote to arguments: strict, and never silently something else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent_ls.domain.calls import ToolCall, ToolResult
from agent_ls.loop.calls.arguments import parse_object, plan_call
from agent_ls.loop.ports.workspace import Root
from agent_ls.tools.edit_file import EditFile
from agent_ls.workspace.disk import DiskWorkspace


def check(text: str) -> dict[str, Any] | str:
    try:
        return parse_object(text)
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("{}", {}, id="an-empty-object"),
        pytest.param('{"a": "\\ud83d\\ude00"}', {"a": "😀"}, id="an-escaped-pair"),
    ],
)
def test_one_json_object_is_taken(text: str, expected: dict[str, Any]) -> None:
    assert check(text) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("", "Expecting value", id="nothing"),
        pytest.param('{"a": 1', "delimiter", id="cut-off"),
        pytest.param("[1]", "a list, not an object", id="a-list"),
        pytest.param('{"a": 1, "a": 2}', "twice", id="a-repeated-key"),
        pytest.param('{"a": NaN}', "NaN is no JSON", id="not-a-number"),
        pytest.param("[" * 100_000, "nested too deeply", id="very-deep"),
    ],
)
def test_everything_else_is_an_error_that_says_why(text: str, words: str) -> None:
    answer = check(text)
    assert isinstance(answer, str)
    assert words in answer


def test_a_list_whose_entries_do_not_fit_is_not_called_empty(tmp_path: Path) -> None:
    tool = EditFile(DiskWorkspace([Root("work", tmp_path, is_trusted=True)]))
    text = '{"path": "a.py", "edits": [{"old_string": "a", "new_string": "b", "lien": 1}]}'
    call = ToolCall(id="cal_1", provider_id="1", tool=tool.name, arguments_json=text)
    tools: dict[str, Any] = {tool.name: tool}
    result = plan_call(call, tools, ())
    assert isinstance(result, ToolResult)
    assert "do not fit: edits.0.lien: Extra inputs are not permitted.\n" in result.text
