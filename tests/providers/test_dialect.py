"""Requests in the chat dialect: order, ids, arguments that do not parse."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.domain.calls import ToolCall
from agent_ls.domain.messages import AssistantMessage, Message, ToolMessage, UserMessage
from agent_ls.providers.dialect import chat_messages
from tests.providers.conftest import request


def check(*messages: Message, system: str = "") -> list[Any]:
    """Return the chat messages of a conversation."""
    return chat_messages(request(*messages, system=system))


def call(ours: str, theirs: str, arguments: str = "{}") -> ToolCall:
    return ToolCall(id=ours, provider_id=theirs, tool="f", arguments_json=arguments)


def result(of: ToolCall) -> ToolMessage:
    return ToolMessage(call_id=of.id, provider_id=of.provider_id, tool="f", text="done")


def test_system_and_messages_stand_in_order() -> None:
    found = check(UserMessage(text="a"), AssistantMessage(text="b"), system="s")
    assert [(message["role"], message["content"]) for message in found] == [
        ("system", "s"),
        ("user", "a"),
        ("assistant", "b"),
    ]


def test_nothing_said_is_said_so_because_providers_refuse_empty_messages() -> None:
    found = check(UserMessage(text=""), AssistantMessage())
    assert [message["content"] for message in found] == ["(empty)", "(empty)"]


def test_provider_ids_that_repeat_or_are_missing_become_ours() -> None:
    first, second, third = call("cal_1", "x"), call("cal_2", "x"), call("cal_3", "")
    found = check(
        AssistantMessage(calls=(first,)),
        result(first),
        AssistantMessage(calls=(second, third)),
        result(third),
        result(second),
    )
    ids = [call["id"] for message in found for call in message.get("tool_calls", [])]
    assert ids == ["x", "cal_2", "cal_3"]
    assert [message.get("tool_call_id") for message in found if message["role"] == "tool"] == [
        "x",
        "cal_3",
        "cal_2",
    ]


@pytest.mark.parametrize("arguments", ["{broken", "[1]", "", '{"a": 1} {"b": 2}', "[" * 100_000])
def test_arguments_that_are_no_object_are_wrapped(arguments: str) -> None:
    (found,) = check(AssistantMessage(calls=(call("c", "x", arguments),)))
    sent = found["tool_calls"][0]["function"]["arguments"]
    assert json.loads(sent) == {"unparsable_arguments": arguments}


def test_arguments_that_are_an_object_stay_as_they_were_written() -> None:
    text = '{ "a" :1,\n"b": "\\u00e9" }'
    (found,) = check(AssistantMessage(calls=(call("c", "x", text),)))
    assert found["tool_calls"][0]["function"]["arguments"] == text
