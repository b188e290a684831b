"""Tools that touch no file: the plan, questions, diagnostics; and what the model reads of tools."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import ValidationError

from agent_ls import catalogue
from agent_ls.domain.approvals import Question
from agent_ls.domain.edits import CreateFile
from agent_ls.domain.events import EditApplied, EditIntended, PlanUpdated
from agent_ls.domain.findings import CheckReport, Finding
from agent_ls.domain.ids import Ids
from agent_ls.domain.plans import PlanItem, PlanStatus
from agent_ls.edits.plan import parse_patch
from agent_ls.edits.requests import Refused
from agent_ls.loop.extension_points import Tool
from agent_ls.loop.offering import EDIT_FORMATS
from agent_ls.tools.arguments import Arguments
from agent_ls.tools.ask_user import AskUser
from agent_ls.tools.diagnostics import Diagnostics
from agent_ls.tools.spec import spec_of
from agent_ls.tools.update_plan import UpdatePlan
from tests.tools.conftest import Place

MAX_TOKENS = 2_150
"""Of all tools as sent, four characters each."""


def check(tool: type[Any], given: dict[str, Any], expected: dict[str, Any] | None) -> None:
    """Assert what arguments are read as, or with None that they are refused."""
    if expected is None:
        with pytest.raises(ValidationError):
            tool.Arguments.model_validate(given)
        return
    parsed: Arguments = tool.Arguments.model_validate(given)
    assert parsed.model_dump(mode="json", exclude_defaults=True) == expected


_EDIT = {"old_string": "a", "new_string": "b"}


@pytest.mark.parametrize(
    "name, given, expected",
    [
        ("read_file", {"path": "a"}, {"path": "a"}),
        ("read_file", {"file_path": "a"}, {"path": "a"}),
        ("read_file", {"path": "a", "offset": 5, "limit": 3},
         {"path": "a", "start_line": 5, "lines": 3}),
        ("read_file", {"path": "a", "start_line": None}, {"path": "a"}),
        ("read_file", {"path": "a", "start_line": "7"}, {"path": "a", "start_line": 7}),
        ("read_file", {"path": "./src//a.py"}, {"path": "src/a.py"}),
        ("read_file", {"path": "src/./a.py/"}, {"path": "src/a.py/"}),
        ("read_file", {"path": "/abs//a"}, {"path": "/abs//a"}),
        ("read_file", {"path": "../a"}, {"path": "../a"}),
        ("read_file", {"path": "..."}, {"path": "..."}),
        ("read_file", {"path": "a", "file": "b"}, None),
        ("read_file", {"path": ""}, None),
        ("read_file", {"path": "a", "start_line": 0}, None),
        ("read_file", {"path": "a", "colour": "red"}, None),
        ("read_file", {}, None),
        ("read_file", {"path": ["a"]}, None),
        ("list_dir", {}, {}),
        ("list_dir", {"directory": "src"}, {"path": "src"}),
        ("list_dir", {"path": "./"}, {}),
        ("edit_file", {"path": "a", "edits": [_EDIT]}, {"path": "a", "edits": [_EDIT]}),
        ("edit_file", {"path": "a", "edits": _EDIT}, {"path": "a", "edits": [_EDIT]}),
        ("edit_file", {"path": "a", "edits": json.dumps([_EDIT])}, {"path": "a", "edits": [_EDIT]}),
        ("edit_file", {"path": "a", "edits": [{"old_str": "a", "new_str": "b"}]},
         {"path": "a", "edits": [_EDIT]}),
        ("edit_file", {"path": "a", "edits": []}, None),
        ("edit_file", {"path": "a", "edits": "[broken"}, None),
        ("edit_file", {"path": "a", "edits": ["text"]}, None),
        ("edit_file", {"path": "a", **_EDIT}, {"path": "a", "edits": [_EDIT]}),
        ("edit_file", {"file_path": "a", "search": "a", "replace": "b", "replace_all": True},
         {"path": "a", "edits": [{**_EDIT, "replace_all": True}]}),
        ("edit_file", {"path": "a", "old_string": "a"}, None),
        ("edit_file", {"path": "a", "edits": [_EDIT], **_EDIT}, None),
        ("write_file", {"path": "a", "content": ""}, {"path": "a", "content": ""}),
        ("write_file", {"path": "a", "contents": "x"}, {"path": "a", "content": "x"}),
        ("write_file", {"path": "a", "content": None}, None),
        ("run_command", {"cmd": "ls"}, {"command": "ls"}),
        ("run_command", {"command": "ls", "timeout_s": -1}, None),
        ("run_command", {"command": "ls", "timeout": 5}, {"command": "ls", "timeout_s": 5.0}),
        ("run_command", {"command": "ls", "timeout": "soon"}, None),
        ("grep", {"query": "x", "include": "*.py"}, {"pattern": "x", "glob": "*.py"}),
        ("ask_user", {"question": "?", "options": '["a", "b"]'},
         {"question": "?", "options": ["a", "b"]}),
        ("ask_user", {"question": "?", "options": list("abcdefg")}, None),
        ("update_plan", {"items": [{"text": "a", "status": "odd"}]}, None),
        ("diagnostics", {"paths": ["./a.py"]}, {"paths": ["a.py"]}),
    ],
)  # fmt: skip
def test_slips_that_can_mean_one_thing_are_forgiven(
    name: str, given: dict[str, Any], expected: dict[str, Any] | None
) -> None:
    check(next(tool for tool in catalogue.TOOLS if tool.name == name), given, expected)


def _spec(tool: type[Any]) -> dict[str, Any]:
    return spec_of(tool).model_dump(mode="json")


_RARELY_SENT = ("final_output", "skill")
"""Sent only with an output schema, and only where there are skills."""


def test_all_tools_together_cost_few_tokens() -> None:
    sent = [_spec(tool) for tool in catalogue.TOOLS if tool.name not in _RARELY_SENT]
    for other in EDIT_FORMATS:
        text = json.dumps([spec for spec in sent if spec["name"] != other])
        assert len(text) / 4 <= MAX_TOKENS


def _undescribed(schema: dict[str, Any], name: str) -> list[str]:
    """Return the parameters, inner ones too, that the model is told nothing of."""
    found: list[str] = []
    for key, inner in schema.get("properties", {}).items():
        where = f"{name}.{key}"
        found += [] if inner.get("description", "").endswith(".") else [where]
        found += _undescribed(inner, where) + _undescribed(inner.get("items", {}), where)
    return found


def test_every_parameter_is_described_by_a_sentence() -> None:
    missing = [
        one
        for tool in catalogue.TOOLS
        for one in _undescribed(_spec(tool)["parameters"], tool.name)
    ]
    assert missing == []


def test_what_has_few_values_is_a_closed_list() -> None:
    schemas = {tool.name: _spec(tool)["parameters"]["properties"] for tool in catalogue.TOOLS}
    item = schemas["update_plan"]["items"]["items"]["properties"]
    assert item["status"]["enum"] == ["pending", "in_progress", "completed", "blocked"]


def test_the_example_of_a_patch_is_one_that_can_be_read() -> None:
    text = next(tool for tool in catalogue.TOOLS if tool.name == "apply_patch").description
    parsed = parse_patch(text[text.index("*** Begin Patch") :])
    assert not isinstance(parsed, Refused)
    assert [(one.kind, one.path) for one in parsed] == [
        ("change", "src/a.py"),
        ("create", "src/b.py"),
    ]


@pytest.mark.parametrize("tool", catalogue.TOOLS, ids=lambda tool: tool.name)
def test_a_tool_is_described_by_a_plain_schema(tool: type[Any]) -> None:
    spec = _spec(tool)
    text = json.dumps(spec["parameters"])
    assert spec["description"].endswith((".", "*** End Patch"))
    assert spec["parameters"]["type"] == "object"
    assert not any(word in text for word in ("$ref", "$defs", '"title"', "anyOf", "other_names"))
    required = {n for n, facts in tool.Arguments.model_fields.items() if facts.is_required()}
    assert set(spec["parameters"].get("required", [])) == required
    assert set(spec["parameters"]["properties"]) == set(tool.Arguments.model_fields)


async def test_the_plan_is_replaced_as_a_whole(place: Place) -> None:
    items = [{"text": "look", "status": "completed"}, {"text": "change"}]
    output = await place.call(UpdatePlan(), items=items)
    expected = (PlanItem(text="look", status=PlanStatus.COMPLETED), PlanItem(text="change"))
    assert output.events == (PlanUpdated(items=expected),)
    assert output.text == "Plan updated: 1 of 2 done."


async def test_a_question_is_handed_over(place: Place) -> None:
    tool = AskUser(Ids(lambda: 0))
    output = await place.call(tool, question="Which one?", options=["a", "b"])
    assert isinstance(output.question, Question)
    assert (output.question.text, output.question.options) == ("Which one?", ("a", "b"))
    assert output.question.turn_id == "trn_1"


class _LongLines:
    """A checker of ours: it finds lines that are longer than ten characters."""

    async def found(self, texts: Mapping[str, str | None]) -> CheckReport:
        found = [
            Finding(path=path, checker="long", code="L1", message="too long", start_line=number)
            for path, text in texts.items()
            for number, line in enumerate((text or "").splitlines())
            if len(line) > 10
        ]
        return CheckReport(findings=tuple(found), checkers=("long",), problems=("tsc is missing",))


async def test_diagnostics_are_those_of_the_newest_texts(place: Place) -> None:
    place.write("a.py", "short\n")
    place.workspace.buffers["a.py"] = "short\nvery very long\n"
    tool: Tool[Any] = Diagnostics(place.workspace, _LongLines())
    output = await place.call(tool, paths=["a.py"])
    assert output.text == "a.py:2:1: error long L1: too long\nNot checked: tsc is missing"
    place.workspace.buffers.clear()
    output = await place.call(tool, paths=["a.py"])
    assert output.text == "Nothing found by long.\nNot checked: tsc is missing"


async def test_diagnostics_without_paths_look_at_what_the_turn_changed(place: Place) -> None:
    tool: Tool[Any] = Diagnostics(place.workspace, _LongLines())
    assert "No file was changed" in (await place.call(tool)).text
    place.write("b.py", "very very long\n")
    edit = CreateFile(path="b.py", text="very very long\n")
    output = await place.call(
        tool,
        EditIntended(call_id="cal_1", edit=edit, before_blob=None),
        EditApplied(call_id="cal_1", path="b.py", status="applied", after_blob="x"),
    )
    assert output.text.startswith("b.py:1:1: error long")
