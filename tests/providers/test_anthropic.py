"""What Anthropic's models need on the wire: cache markers, their tools, their thinking back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.domain.calls import ToolCall
from agent_ls.domain.messages import AssistantMessage, Message, ToolMessage, UserMessage
from agent_ls.domain.model_io import CallClosed, ModelRequest
from tests.providers.conftest import READ_FILE, Asking, request
from tests.support.scripted import scripted

pytestmark = pytest.mark.asyncio(loop_scope="module")

CLAUDE = "anthropic/claude-sonnet-4-5"
CALL = ToolCall(id="cal_1", provider_id="call_1", tool="f", arguments_json="{}")


async def check(asking: Asking, asked: ModelRequest) -> Any:
    """Ask once and return the body that arrived."""
    async with scripted("[[answer]]\ntext = 'x'") as model:
        asking.use(model.base_url)
        await asking.ask(asked)
    return model.requests[0].body


CONVERSATION: tuple[Message, ...] = (
    UserMessage(text="one"),
    AssistantMessage(text="two", calls=(CALL,)),
    ToolMessage(call_id="cal_1", provider_id="call_1", tool="f", text="done"),
    AssistantMessage(text="four"),
    UserMessage(text="five"),
)


async def test_models_that_cache_what_is_marked_get_four_markers(asking: Asking) -> None:
    body = await check(asking, request(*CONVERSATION, model=CLAUDE))
    marked = [block["text"] for block in body["system"] if "cache_control" in block]
    assert marked == ["Be brief."]
    marks = [
        (index, block["type"])
        for index, message in enumerate(body["messages"])
        for block in message["content"]
        if "cache_control" in block
    ]
    assert marks == [(2, "tool_result"), (3, "text"), (4, "text")]
    assert json.dumps(body).count("cache_control") == 4


async def test_other_models_get_none(asking: Asking) -> None:
    assert "cache_control" not in json.dumps(await check(asking, request(*CONVERSATION)))


THINKING = """
[[answer]]
chunk = 5
reasoning = "Let me look at the file."
call = [{ id = "toolu_1", tool = "read_file", arguments = { path = "a" } }]

[[answer]]
text = "done"
repeat = 2
"""


async def test_signed_thinking_goes_back_with_its_calls(asking: Asking) -> None:
    asked = request(model=CLAUDE, reasoning_effort="low")
    async with scripted(THINKING) as model:
        asking.use(model.base_url)
        (closed,) = [e for e in await asking.ask(asked) if isinstance(e, CallClosed)]
        calls = (
            ToolCall(
                id="cal_1",
                provider_id=closed.provider_id,
                tool=closed.tool,
                arguments_json=closed.arguments_json,
            ),
        )
        history = (
            *asked.messages,
            AssistantMessage(reasoning="Let me look at the file.", calls=calls),
            ToolMessage(call_id="cal_1", provider_id="toolu_1", tool="read_file", text="x"),
        )
        await asking.ask(asked.model_copy(update={"messages": history}))
        forgotten = tuple(
            message.model_copy(
                update={"calls": (calls[0].model_copy(update={"provider_id": "other"}),)}
            )
            if isinstance(message, AssistantMessage)
            else message
            for message in history
        )
        await asking.ask(asked.model_copy(update={"messages": forgotten}))
    _, again, without = (one.body for one in model.requests)
    first = again["messages"][1]["content"][0]
    assert first["type"] == "thinking"
    assert (first["thinking"], first["signature"]) == ("Let me look at the file.", "signed-1")
    assert again["thinking"]["type"] == "enabled"
    # What was lost cannot be sent, and thinking without it would be refused.
    assert "thinking" not in without


async def test_tools_reach_anthropic_as_its_own_kind(asking: Asking) -> None:
    body = await check(asking, request(model=CLAUDE, tools=(READ_FILE,)))
    (tool,) = body["tools"]
    assert (tool["name"], tool["input_schema"]["type"]) == ("read_file", "object")
