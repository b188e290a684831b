"""What an endpoint refuses, and what is done differently from then on; each over real HTTP."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.domain.calls import ToolCall
from agent_ls.domain.errors import ProviderError
from agent_ls.domain.messages import AssistantMessage, ToolMessage, UserMessage
from agent_ls.domain.model_io import ModelRequest, StreamFinished
from agent_ls.providers.dialects import adapted, dialect_of
from tests.providers.conftest import Asking, request
from tests.support.faulty import Play, chunk, data, faulty, head, sends, whole

pytestmark = pytest.mark.asyncio(loop_scope="module")

CALL = ToolCall(id="cal_1", provider_id="call_0", tool="read_file", arguments_json="{}")
TALK = (
    UserMessage(text="Go."),
    AssistantMessage(calls=(CALL,)),
    ToolMessage(call_id=CALL.id, provider_id=CALL.provider_id, tool=CALL.tool, text="done"),
    UserMessage(text="Remember."),
)
GOOD = sends(head(), data(chunk({"content": "Done."}, "stop")), data("[DONE]"))


def refuses(body: object, status: int = 400) -> Play:
    return sends(whole(status, json.dumps(body)))


def fastapi(field: str) -> object:
    """Return a refusal as FastAPI words it."""
    return {"detail": [{"type": "extra_forbidden", "loc": ["body", field], "msg": "Extra inputs"}]}


def openai(message: str, **fields: object) -> object:
    """Return a refusal as OpenAI words it."""
    return {"error": {"message": message, "type": "invalid_request_error", **fields}}


def roles(body: Any) -> list[str]:
    return [message["role"] for message in body["messages"]]


CASES: dict[str, tuple[object, Any]] = {
    "a field": (fastapi("stream_options"), lambda body: "stream_options" not in body),
    "another field": (fastapi("tool_choice"), lambda body: "tool_choice" not in body),
    "the temperature": (
        openai("Unsupported value: 'temperature' does not support 0.2 with this model."),
        lambda body: "temperature" not in body,
    ),
    "the limit's name": (
        openai(
            "Unsupported parameter: 'max_tokens' is not supported with this model. "
            "Use 'max_completion_tokens' instead."
        ),
        lambda body: "max_tokens" not in body and body["max_completion_tokens"] == 100,
    ),
    "a user after a tool": (
        openai("Unexpected role 'user' after role 'tool'"),
        lambda body: roles(body) == ["system", "user", "assistant", "tool"],
    ),
    "roles that do not alternate": (
        openai("Conversation roles must alternate user/assistant/user/assistant/..."),
        lambda body: roles(body) == ["system", "user", "assistant", "tool"],
    ),
    "ids of calls": (
        openai("Tool call id was call_0 but must be a-z, A-Z, 0-9, with a length of 9."),
        lambda body: len(body["messages"][2]["tool_calls"][0]["id"]) == 9,
    ),
    "a system prompt": (
        openai("System role not supported"),
        lambda body: roles(body)[0] == "user" and "Be brief." in body["messages"][0]["content"],
    ),
    "an empty text beside calls": (
        openai("messages.2: text content blocks must be non-empty"),
        lambda body: body["messages"][2]["content"] is None,
    ),
    "missing thinking": (
        openai("reasoning_content is missing in assistant tool call message at index 2"),
        lambda body: any(m.get("reasoning_content") == " " for m in body["messages"]),
    ),
    "a missing signature": (
        openai("Function call is missing a thought_signature in functionCall parts."),
        lambda body: "extra_content" in body["messages"][2]["tool_calls"][0],
    ),
}


def asked(model: str = "openai/m") -> ModelRequest:
    fields = {"temperature": 0.2, "max_output_tokens": 100}
    return request(*TALK, model=model).model_copy(update=fields)


@pytest.mark.parametrize("status", [400, 500])
@pytest.mark.parametrize("refusal, is_changed", CASES.values(), ids=CASES)
async def test_what_is_refused_is_changed_and_stays_so(
    asking: Asking, refusal: object, is_changed: Any, status: int
) -> None:
    """llama.cpp answers with 500 where the model's template raises."""
    async with faulty(0, [refuses(refusal, status), GOOD, GOOD]) as endpoint:
        asking.use(f"{endpoint.url}/v1")
        for _ in range(2):
            events = await asking.ask(asked())
            assert isinstance(events[-1], StreamFinished)
    first, second, third = endpoint.requests
    assert not is_changed(first)
    assert is_changed(second)
    assert is_changed(third), "remembered for the endpoint"


@pytest.mark.parametrize(
    "model, before, after",
    [
        ("openai/m", "", None),
        ("openai/claude-sonnet-4-5", None, ""),
        ("openai/gemini-3-pro", None, ""),
    ],
)
async def test_calls_without_a_text_are_sent_with_a_content_that_the_endpoint_takes(
    asking: Asking, model: str, before: str | None, after: str | None
) -> None:
    """Templates of local models need a text, gateways to Claude refuse an empty one."""
    words = "content must be a string, was null" if before is None else "content must be non-empty"
    async with faulty(0, [refuses(openai(words)), GOOD]) as endpoint:
        asking.use(f"{endpoint.url}/v1")
        await asking.ask(asked(model))
    sent = [body["messages"][2] for body in endpoint.requests]
    assert [one["content"] for one in sent] == [before, after]
    assert all(one["tool_calls"] for one in sent)


async def test_an_endpoint_that_takes_no_content_at_all_is_told_of(asking: Asking) -> None:
    plays = [refuses(openai(f"content must {one}")) for one in ("be non-empty", "not be null") * 20]
    async with faulty(0, plays) as endpoint:
        asking.use(f"{endpoint.url}/v1")
        with pytest.raises(ProviderError, match="content must"):
            await asking.ask(asked())
    assert len(endpoint.requests) < 20


async def test_two_refusals_in_a_row_change_two_things(asking: Asking) -> None:
    plays = [refuses(fastapi("stream_options"), 422), refuses(fastapi("tool_choice"), 422), GOOD]
    async with faulty(0, plays) as endpoint:
        asking.use(f"{endpoint.url}/v1")
        await asking.ask(asked())
    assert not {"stream_options", "tool_choice"} & {*endpoint.requests[-1]}


async def test_what_cannot_be_changed_is_told_after_one_request(asking: Asking) -> None:
    async with faulty(0, [refuses(openai("The tool 'x' is bad."))]) as endpoint:
        asking.use(f"{endpoint.url}/v1")
        with pytest.raises(ProviderError, match="is bad"):
            await asking.ask(asked())
    assert len(endpoint.requests) == 1


async def test_a_field_that_is_left_out_already_changes_nothing_more() -> None:
    plain = dialect_of("openai", "", "m")
    once = adapted(plain, frozenset({"tool_choice"}), "tool_choice is not permitted")
    assert once
    assert adapted(once, frozenset({"tool_choice"}), "tool_choice is not permitted") is None
