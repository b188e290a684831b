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
from agent_ls.providers.scenario import load_scenario, parse_scenario
from agent_ls.providers.scripted import ScriptedModel, main
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


def deltas(response: httpx.Response) -> list[Any]:
    return [
        event["choices"][0]["delta"]
        for event in events(response)
        if event != "[DONE]" and event["choices"]
    ]


def said_in(response: httpx.Response) -> str:
    return "".join(delta.get("content", "") for delta in deltas(response))


async def test_an_answer_is_streamed_in_pieces_of_the_chunk_size() -> None:
    async with scripted('chunk = 4\n[[answer]]\ntext = "Hello world"') as model:
        response = await check(model)
    assert response.headers["content-type"] == "text/event-stream"
    assert [delta["content"] for delta in deltas(response)[1:-1]] == ["Hell", "o wo", "rld"]
    assert events(response)[-2]["choices"][0]["finish_reason"] == "stop"
    assert events(response)[-1] == "[DONE]"


CALLS = """
chunk = 5
[[answer]]
reasoning = "Two files."
[[answer.call]]
tool = "read_file"
arguments = { path = "a.py" }
[[answer.call]]
tool = "read_file"
arguments_text = '{"path": '
id = "mine"
"""


async def test_calls_come_as_a_head_and_pieces_of_their_arguments() -> None:
    async with scripted(CALLS) as model:
        response = await check(model)
    texts = ["", ""]
    ids = list[str]()
    for delta in deltas(response):
        for call in delta.get("tool_calls", []):
            ids += [call["id"]] if "id" in call else []
            texts[call["index"]] += call["function"]["arguments"]
    assert texts == ['{"path": "a.py"}', '{"path": ']
    assert ids == ["call_1_0", "mine"]
    reasoning = [delta.get("reasoning_content", "") for delta in deltas(response)]
    assert "".join(reasoning) == "Two files."
    assert events(response)[-2]["choices"][0]["finish_reason"] == "tool_calls"


async def test_usage_is_streamed_only_when_asked_for() -> None:
    text = '[[answer]]\ntext = "Hi"\nrepeat = 2\nusage = { input = 100, output = 7, reasoning = 3 }'
    async with scripted(text) as model:
        silent = await check(model)
        told = await check(model, stream_options={"include_usage": True})
    assert not any("usage" in event for event in events(silent)[:-1])
    usage = events(told)[-2]["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"]) == (100, 7)
    assert usage["completion_tokens_details"] == {"reasoning_tokens": 3}


async def test_an_error_has_its_status_and_may_ask_for_patience() -> None:
    text = '[[answer]]\nerror = { status = 429, message = "no", code = "why", retry_after_s = 1.5 }'
    async with scripted(text) as model:
        response = await check(model)
    assert response.status_code == 429
    assert response.json()["error"] == {"message": "no", "type": "scripted_error", "code": "why"}
    assert response.headers["retry-after"] == "1.5"


async def test_a_cut_stream_breaks_in_mid_body() -> None:
    async with scripted(f'[[answer]]\ntext = "{"x" * 64}"\ncut_after = 3') as model:
        with pytest.raises(httpx.TransportError):
            await check(model)


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


async def test_met_expectations_change_nothing() -> None:
    text = """
    [[answer]]
    text = "x"
    expect = { contains = ["grep(", "found"], tools = ["read_file"], tool_choice = "none" }
    """
    call = {"id": "1", "function": {"name": "grep", "arguments": "{}"}}
    messages = [
        HELLO,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": [{"type": "text", "text": "found"}]},
    ]
    async with scripted(text) as model:
        response = await check(model, messages=messages, tools=[TOOL], tool_choice="none")
    assert response.status_code == 200


async def test_a_request_too_many_is_a_problem() -> None:
    async with ScriptedModel("") as model:
        response = await check(model)
    assert response.status_code == 400
    assert model.problems == ["the scenario has no answer left for this request"]


async def test_requests_at_the_same_time_get_one_answer_each() -> None:
    text = "".join(f'[[answer]]\ntext = "{n}"\ndelay_ms = 20\n' for n in range(8))
    async with scripted(text) as model:
        responses = await asyncio.gather(*(check(model) for _ in range(8)))
    assert {said_in(response) for response in responses} == {str(n) for n in range(8)}


async def test_the_model_is_listed() -> None:
    async with (
        scripted('model = "parrot"') as model,
        httpx.AsyncClient(trust_env=False) as client,
    ):
        listing = (await client.get(model.base_url + "/models")).json()
        nothing = await client.get(model.base_url + "/else")
    assert [entry["id"] for entry in listing["data"]] == ["parrot"]
    assert nothing.status_code == 404


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


def test_a_missing_scenario_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SettingsError, match="cannot read"):
        load_scenario(tmp_path / "none.toml")
    assert main([str(tmp_path / "none.toml")]) == 3
    assert "cannot read the scenario" in capsys.readouterr().err


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
