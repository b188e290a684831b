"""Which models are asked over plain HTTP, and what is known of a model without the library."""

from __future__ import annotations

from typing import Any

import pytest

from agent_ls.domain.calls import ToolCall
from agent_ls.domain.messages import AssistantMessage, ProviderData, ToolMessage, UserMessage
from agent_ls.domain.usage import Usage
from agent_ls.providers.key_variables import provider_of
from agent_ls.providers.plain_route import plain_address
from agent_ls.providers.prices import PriceTable
from tests.providers.conftest import Asking, request
from tests.support.scripted import scripted

HERE = "http://127.0.0.1:8080/v1"
OPENAI = "https://api.openai.com/v1"
TABLE = PriceTable()


def check(model: str, base: str | None) -> str:
    """Return where a model is asked for chat completions; empty: by way of the library."""
    return plain_address(model, provider_of(model), base, TABLE.find(model))


WAYS = [
    ("openai/gpt-4o", None, OPENAI),
    ("gpt-4o", None, OPENAI),
    ("openai/gpt-4o", HERE, HERE),
    ("openai/nobody-knows", HERE, HERE),
    ("openai/nobody-knows", None, ""),
    ("openai/gpt-5", None, ""),
    ("openai/gpt-5", HERE, ""),
    ("openai/responses/nobody-knows", HERE, ""),
    ("lm_studio/x", HERE, HERE),
    ("lm_studio/x", None, "http://127.0.0.1:1234/v1"),
    ("llamafile/x", None, HERE),
    ("deepseek/deepseek-chat", None, "https://api.deepseek.com/v1"),
    ("together_ai/x", None, ""),
    ("anthropic/claude-sonnet-4-5", HERE, ""),
]


@pytest.mark.parametrize("model, base, address", WAYS)
def test_only_chat_completions_as_they_are_documented_are_plain(
    model: str, base: str | None, address: str
) -> None:
    assert check(model, base) == address


PRICES = [
    ("openai/gpt-4o", 1_000, 2.5),
    ("claude-sonnet-4-5", 1_000, 3.0),
    ("openai/responses/gpt-5", 1_000, 1.25),
    ("gemini/gemini-2.5-pro", 200_000, 1.25),
    ("gemini/gemini-2.5-pro", 200_001, 2.5),
    ("openai/claude-sonnet-4-5", 1_000, None),
    ("gpt9", 1_000, None),
]


@pytest.mark.parametrize("model, tokens, usd", PRICES)
def test_a_price_is_the_tables_also_where_a_long_prompt_is_dearer(
    model: str, tokens: int, usd: float | None
) -> None:
    known = TABLE.find(model)
    cost = known and known.cost_usd(Usage(input_tokens=tokens))
    assert cost == (usd and pytest.approx(tokens * usd / 1e6))


async def sent(asking: Asking, **fields: Any) -> dict[str, Any]:
    asked = request(
        UserMessage(text="one"), AssistantMessage(text="two"), UserMessage(text="three")
    ).model_copy(update=fields)
    async with scripted("[[answer]]\ntext = 'x'") as model:
        asking.use(model.base_url)
        await asking.ask(asked)
    return model.requests[0].body


@pytest.mark.asyncio(loop_scope="module")
async def test_claude_behind_another_server_gets_its_cache_markers(asking: Asking) -> None:
    body = await sent(asking, model="openai/claude-sonnet-4-5")
    assert all("cache_control" in message["content"][0] for message in body["messages"])


@pytest.mark.asyncio(loop_scope="module")
async def test_thinking_has_room_on_top_of_the_answer(asking: Asking) -> None:
    body = await sent(asking, reasoning_effort="low", max_output_tokens=1_000)
    assert (body["max_tokens"], body["reasoning_effort"]) == (1_000 + 4_096, "low")
    known = await sent(asking, model="openai/gpt-4o", reasoning_effort="low", max_output_tokens=9)
    assert known["max_tokens"] == 9
    assert "reasoning_effort" not in known


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("is_kept", [True, False])
async def test_claude_behind_a_gateway_thinks_on_if_its_thinking_was_kept(
    asking: Asking, is_kept: bool
) -> None:
    call = ToolCall(id="cal_1", provider_id="x", tool="read_file", arguments_json="{}")
    details: list[Any] = [{"type": "reasoning.text", "text": "Hm.", "signature": "signed"}]
    kept = ProviderData(origin="openai 127.0.0.1 claude", message={"reasoning_details": details})
    said = AssistantMessage(calls=(call,), provider_data=kept if is_kept else None)
    result = ToolMessage(call_id="cal_1", provider_id="x", tool="read_file", text="done")
    talk = (UserMessage(text="Go."), said, result)
    body = await sent(
        asking, model="openai/claude-sonnet-4-5", messages=talk, reasoning_effort="low"
    )
    assert ("reasoning_effort" in body) is is_kept
    assert ("reasoning_details" in body["messages"][2]) is is_kept
