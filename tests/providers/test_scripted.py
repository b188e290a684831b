"""The scripted model, over plain HTTP."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from agent_ls.domain.errors import SettingsError
from agent_ls.providers.scenario import parse_scenario
from agent_ls.providers.scripted import ScriptedModel
from tests.support.scripted import scripted

HELLO = {"role": "user", "content": "hello"}
TOOL = {"type": "function", "function": {"name": "read_file", "parameters": {}}}


async def check(
    model: ScriptedModel,
    *,
    messages: Sequence[dict[str, Any]] = (HELLO,),
    path: str = "/chat/completions",
    **body: Any,
) -> httpx.Response:
    """Ask the model once and return the whole response."""
    async with httpx.AsyncClient(trust_env=False) as client:
        return await client.post(
            model.base_url + path, json={"model": "any", "messages": list(messages), **body}
        )


def events(response: httpx.Response) -> list[Any]:
    """The data of a stream, decoded."""
    lines = [line[6:] for line in response.text.splitlines() if line.startswith("data: ")]
    return [line if line == "[DONE]" else json.loads(line) for line in lines]


def said_in(response: httpx.Response) -> str:
    choices = [choice for one in events(response)[:-1] for choice in one["choices"]]
    return "".join(choice["delta"].get("content", "") for choice in choices)


@pytest.mark.parametrize("hang", ["before", "middle"])
async def test_a_hanging_answer_notices_that_the_client_left(hang: str) -> None:
    async with scripted(f'[[answer]]\ntext = "{"x" * 64}"\nhang = "{hang}"') as model:
        asking = asyncio.create_task(check(model))
        await model.wait_for_requests(1)
        asking.cancel()
        await asyncio.wait_for(model.requests[0].left.wait(), 5)


async def test_answers_with_a_condition_go_before_those_without() -> None:
    text = """
    [[answer]]
    text = "plain"
    repeat = 0
    [[answer]]
    when = { contains = "secret" }
    text = "conditional"
    [[answer]]
    when = { first = "you are the child" }
    text = "child"
    [[answer]]
    when = { side = true }
    text = "side"
    """
    said = list[str]()
    child = [{"role": "user", "content": "you are the child"}, HELLO]
    async with scripted(text) as model:
        for messages, tools in (
            ([HELLO], [TOOL]),
            ([{"role": "user", "content": "the secret"}], [TOOL]),
            ([{"role": "user", "content": "the secret"}], [TOOL]),
            (child, [TOOL]),
            ([HELLO], []),
            ([HELLO], []),
        ):
            said.append(said_in(await check(model, messages=messages, tools=tools)))
    assert said == ["plain", "conditional", "plain", "child", "side", "plain"]


MISMATCHES = [
    ("contains = ['absent']", "the conversation lacks 'absent'"),
    ("absent = ['hello']", "the conversation contains 'hello'"),
    ("last_contains = ['system']", "the newest message lacks 'system'"),
    ("tools = ['write_file']", "the tool 'write_file' is not offered, only ['read_file']"),
    ("tool_choice = 'none'", "tool_choice is 'auto', not 'none'"),
]


@pytest.mark.parametrize("expect, problem", MISMATCHES)
async def test_an_unmet_expectation_is_recorded_and_answered_with_400(
    expect: str, problem: str
) -> None:
    async with ScriptedModel(f'[[answer]]\ntext = "x"\nexpect = {{ {expect} }}') as model:
        system = {"role": "system", "content": "system"}
        response = await check(model, messages=[system, HELLO], tools=[TOOL])
    assert response.status_code == 400
    assert problem in response.json()["error"]["message"]
    assert problem in model.problems[0]


async def test_a_request_too_many_is_a_problem() -> None:
    async with ScriptedModel("") as model:
        response = await check(model)
    assert response.status_code == 400
    assert model.problems == ["the scenario has no answer left for this request"]


WRONG = [
    ("answer = 3", "answer"),
    ("[[answer]]\ntexxt = 'x'", r"answer\[1\]\.texxt"),
    ("[[answer]]\nerror = { status = 500 }\ntext = 'x'", "an error answer"),
    ("[[answer", "is not TOML"),
]


@pytest.mark.parametrize("text, complaint", WRONG)
def test_a_wrong_scenario_is_refused_with_the_place(text: str, complaint: str) -> None:
    with pytest.raises(SettingsError, match=complaint):
        parse_scenario(text, "here.toml")


def test_as_a_program_it_prints_its_address_and_records_requests(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text('[[answer]]\ntext = "Hi"', "utf-8")
    command = [sys.executable, "-m", "agent_ls.providers.scripted", str(tmp_path / "s.toml")]
    with subprocess.Popen(
        [*command, "--record", str(tmp_path / "log")], stdout=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout
        base_url = json.loads(program.stdout.readline())["base_url"]
        body = {"messages": [HELLO]}
        response = httpx.post(f"{base_url}/chat/completions", json=body, trust_env=False)
        program.kill()
    assert said_in(response) == "Hi"
    entry = json.loads((tmp_path / "log").read_text("utf-8"))
    assert (entry["answer"], entry["problem"], entry["body"]) == (0, "", body)
