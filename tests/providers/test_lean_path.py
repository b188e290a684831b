"""The shortcuts past litellm say, and understand, exactly what litellm does.

A new version of litellm or of its client that changes either side fails here.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from agent_ls.domain.calls import ErrorKind, ToolCall
from agent_ls.domain.messages import AssistantMessage, Message, ToolMessage, UserMessage
from agent_ls.domain.model_io import ModelEvent, ModelRequest, ReasoningDelta, TextDelta, ToolSpec
from agent_ls.providers.model_host import ModelHostOptions
from agent_ls.providers.scripted_requests import RecordedRequest
from tests.providers.conftest import READ_FILE, Asking, request
from tests.support.scripted import scripted

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def plain(config_dir: Path) -> AsyncIterator[Asking]:
    """A host that lets litellm do everything."""
    plain = Asking(config_dir, ModelHostOptions(is_lean=False))
    await plain.host.ready()
    yield plain
    await plain.host.close()


async def check(
    asking: Asking, asked: ModelRequest, scenario: str = "[[answer]]\ntext = 'x'"
) -> tuple[RecordedRequest, list[ModelEvent]]:
    """Ask once; return the request as it came and the events."""
    async with scripted(scenario) as model:
        asking.use(model.base_url)
        events = await asking.ask(asked)
    return model.requests[0], events


def call(number: int, arguments: str, provider_id: str | None = None) -> ToolCall:
    return ToolCall(
        id=f"cal_{number}",
        provider_id=f"call_{number}" if provider_id is None else provider_id,
        tool="read_file",
        arguments_json=arguments,
    )


def result(of: ToolCall, text: str, error: ErrorKind | None = None) -> ToolMessage:
    return ToolMessage(
        call_id=of.id, provider_id=of.provider_id, tool=of.tool, text=text, error=error
    )


CALLS = [
    call(0, '{"path": "ünï\\u00e9 😀\\n.py"}'),
    call(1, "{broken"),
    call(2, '{"path": "b"}', "call_0"),
    call(3, '{"path": "c"}', ""),
]
HISTORY: tuple[Message, ...] = (
    UserMessage(text='Fix it — \x00 \x7f  \\ " </s>\r\n\tnow'),
    AssistantMessage(text="", reasoning="Hm.", calls=(CALLS[0], CALLS[1])),
    result(CALLS[0], "line 1\nline 2\f\x1b[0m"),
    result(CALLS[1], "arguments do not parse", ErrorKind.STRUCTURAL),
    AssistantMessage(text="Both.", calls=(CALLS[2], CALLS[3])),
    result(CALLS[2], ""),
    result(CALLS[3], "x" * 5000),
    AssistantMessage(text="Done?"),
    UserMessage(text="No.", origin="gate"),
)
NESTED = ToolSpec(
    name="update_plan",
    description="Ünicode “quotes”.",
    parameters={
        "type": "object",
        "properties": {
            "items": {"type": "array", "items": {"$ref": "#/$defs/Item"}, "default": []},
            "mode": {"anyOf": [{"type": "string", "enum": ["a", "b"]}, {"type": "null"}]},
        },
        "required": ["items"],
        "$defs": {"Item": {"type": "object", "properties": {"n": {"type": "integer"}}}},
    },
)
REQUESTS: dict[str, dict[str, Any]] = {
    "history": {},
    "known-model": {"model": "openai/gpt-4o"},
    "no-tools": {"tools": ()},
    "text-only": {"tool_choice": "none"},
    "numbers": {"temperature": 0.5, "max_output_tokens": 99},
    "effort": {"reasoning_effort": "low"},
    "no-system": {"system": ""},
    "reasoning-model": {"model": "openai/o3", "reasoning_effort": "low"},
}


@pytest.mark.parametrize("changes", REQUESTS.values(), ids=REQUESTS)
async def test_the_same_goes_over_the_wire(
    asking: Asking, plain: Asking, changes: dict[str, Any]
) -> None:
    asked = request(*HISTORY, tools=(READ_FILE, NESTED)).model_copy(update=changes)
    short, _ = await check(asking, asked)
    full, _ = await check(plain, asked)
    assert sorted(short.body) == sorted(full.body)
    for key, value in full.body.items():
        assert json.dumps(short.body[key]) == json.dumps(value), key
    assert set(short.body) <= {
        "messages", "model", "stream", "stream_options", "tools", "tool_choice",
        "temperature", "max_tokens", "max_completion_tokens", "reasoning_effort",
    }  # fmt: skip


ANSWERS = """
[[answer]]
chunk = {chunk}
is_unstreamed = {unstreamed}
reasoning = "Hm — 😀."
text = "Reading\\n\\nboth."
usage = {{ input = 900, output = 30, cached = 512, reasoning = 4 }}
finish = "{finish}"
call = [
  {{ id = "a", tool = "read_file", arguments = {{ path = "ü😀.py" }} }},
  {{ id = "b", tool = "git_status", arguments_text = "" }},
  {{ id = "c", tool = "read_file", arguments_text = '{{"path": "b' }},
]
"""


@pytest.mark.parametrize("finish", ["tool_calls", "length", "stop"])
@pytest.mark.parametrize("chunk", [1, 7, 4096])
async def test_the_same_is_understood(
    asking: Asking, plain: Asking, chunk: int, finish: str
) -> None:
    scenario = ANSWERS.format(chunk=chunk, unstreamed="false", finish=finish)
    _, short = await check(asking, request(), scenario)
    _, full = await check(plain, request(), scenario)
    assert texts(short) == texts(full)
    assert rest(short) == rest(full)


def texts(events: list[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta | ReasoningDelta))


def rest(events: list[ModelEvent]) -> list[ModelEvent]:
    return [event for event in events if not isinstance(event, TextDelta | ReasoningDelta)]


async def test_a_growing_conversation_arrives_whole_each_time(
    asking: Asking, plain: Asking
) -> None:
    for end in range(1, len(HISTORY) + 1):
        asked = request(*HISTORY[:end])
        short, _ = await check(asking, asked)
        fresh = request(*(message.model_copy() for message in HISTORY[:end]))
        full, _ = await check(plain, fresh)
        assert short.body["messages"] == full.body["messages"]


async def test_many_conversations_at_once_do_not_mix(asking: Asking) -> None:
    """More than the host remembers, each growing, some forking from what came before."""
    trunk = (UserMessage(text="trunk"), AssistantMessage(text="yes"), UserMessage(text="more"))
    talks: list[tuple[Message, ...]] = [trunk, trunk[:1]]
    talks += [(UserMessage(text=f"talk {n}"),) for n in range(11)]
    async with scripted("[[answer]]\ntext = 'x'\nrepeat = 0") as model:
        asking.use(model.base_url)
        for turn in range(3):
            for number, talk in enumerate(talks):
                news = (AssistantMessage(text=f"{turn}"), UserMessage(text=f"{turn}/{number}"))
                talks[number] = (*talk, *news)
                await asking.ask(request(*talks[number]))
                sent = [message["content"] for message in model.requests[-1].body["messages"]]
                assert sent[1:] == [message.text for message in talks[number]]


async def test_each_request_starts_with_the_one_before(asking: Asking) -> None:
    bodies = list[str]()
    for end in (1, 4, 7, 9):
        recorded, _ = await check(asking, request(*HISTORY[:end]))
        bodies.append(json.dumps(recorded.body["messages"])[:-1])
    for before, after in itertools.pairwise(bodies):
        assert after.startswith(before)
