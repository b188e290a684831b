"""Requests in the chat dialect: order, ids, arguments that do not parse."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from agent_ls.domain.calls import ToolCall
from agent_ls.domain.messages import (
    AssistantMessage,
    Message,
    ProviderData,
    ToolMessage,
    UserMessage,
)
from agent_ls.providers.chat_request import chat_messages
from agent_ls.providers.dialects import Dialect, dialect_of
from tests.providers.conftest import request

PLAIN = dialect_of("openai", "", "m")


def check(
    *messages: Message, system: str = "", dialect: Dialect = PLAIN, origin: str = "here"
) -> list[Any]:
    """Return the chat messages of a conversation."""
    return chat_messages(request(*messages, system=system), dialect, origin)


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


def data(**fields: Any) -> ProviderData:
    """What an endpoint called here sent beside the call x."""
    return ProviderData(origin="here", message=fields, calls={"x": {"extra_content": {"s": 1}}})


def test_what_an_endpoint_sent_goes_back_to_it_and_to_no_other() -> None:
    made = call("cal_1", "x")
    said = AssistantMessage(calls=(made,), provider_data=data(reasoning_content="Hm.", odd=1))
    (back,) = check(said)
    assert (back["reasoning_content"], back["tool_calls"][0]["extra_content"]) == ("Hm.", {"s": 1})
    assert "odd" not in back
    (other,) = check(said, origin="there")
    assert "reasoning_content" not in other
    assert "extra_content" not in other["tool_calls"][0]


def test_a_field_that_an_endpoint_refused_stays_out() -> None:
    refused = PLAIN.model_copy(update={"leave_out": frozenset({"reasoning_content"})})
    said = AssistantMessage(
        calls=(call("cal_1", "x"),), provider_data=data(reasoning_content="Hm.")
    )
    (back,) = check(said, dialect=refused)
    assert "reasoning_content" not in back
    assert back["tool_calls"][0]["extra_content"] == {"s": 1}


def test_calls_of_another_model_get_what_this_one_demands() -> None:
    said = AssistantMessage(calls=(call("cal_1", "x"), call("cal_2", "y")))
    (kimi,) = check(said, dialect=dialect_of("openai", "", "kimi-k2-thinking"))
    assert kimi["reasoning_content"] == " "
    (gemini,) = check(said, dialect=dialect_of("openai", "", "gemini-3-pro-preview"))
    first, second = gemini["tool_calls"]
    assert first["extra_content"]["google"]["thought_signature"]
    assert "extra_content" not in second


def test_mistral_gets_no_user_after_a_tool_and_ids_of_nine() -> None:
    made = call("cal_1", "call_0")
    found = check(
        UserMessage(text="Go."),
        AssistantMessage(calls=(made,)),
        result(made),
        UserMessage(text="Remember."),
        system="s",
        dialect=dialect_of("mistral", "", "mistral/mistral-large-latest"),
    )
    assert [message["role"] for message in found] == ["system", "user", "assistant", "tool"]
    assert found[-1]["content"] == "done\n\nRemember."
    (sent,) = found[2]["tool_calls"]
    assert re.fullmatch("[A-Za-z0-9]{9}", sent["id"])
    assert found[-1]["tool_call_id"] == sent["id"]


def test_roles_alternate_and_the_system_is_a_user_where_it_must_be() -> None:
    strict = PLAIN.model_copy(update={"alternates": True, "system_as_user": True})
    found = check(UserMessage(text="a"), UserMessage(text="b"), system="s", dialect=strict)
    assert [(one["role"], one["content"]) for one in found] == [("user", "s\n\na\n\nb")]
