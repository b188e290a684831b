"""Anthropic, Gemini, OpenAI's Responses and Ollama over real HTTP: sent and read.

The endpoints are played as their public documentation describes them (``support/dialects.py``).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from agent_ls.domain.calls import ToolCall
from agent_ls.domain.errors import ProviderError, ProviderFailure
from agent_ls.domain.messages import (
    AssistantMessage,
    Message,
    ProviderData,
    ToolMessage,
    UserMessage,
)
from agent_ls.domain.model_io import (
    CallClosed,
    FinishReason,
    ModelEvent,
    ModelRequest,
    ReasoningDelta,
    StreamFinished,
    TextDelta,
)
from tests.providers.conftest import Asking, request
from tests.support import dialects
from tests.support.dialects import Counts, Said
from tests.support.faulty import FaultyEndpoint, Play, data, faulty, head, sends, whole

pytestmark = pytest.mark.asyncio(loop_scope="module")

KEY = "sk-key"


@dataclass(frozen=True)
class Dialect:
    """A provider as it is spoken to."""

    model: str
    path: str
    key_header: tuple[str, str]
    answer: Callable[[Said], Play]
    error: dialects.ErrorBody
    keeps_ids: bool = True
    """Calls have ids of the provider's."""


ANTHROPIC = Dialect(
    "anthropic/claude-sonnet-4-5",
    "/v1/messages",
    ("x-api-key", KEY),
    dialects.anthropic,
    dialects.anthropic_error,
)
GEMINI = Dialect(
    "gemini/gemini-2.5-pro",
    "/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
    ("x-goog-api-key", KEY),
    dialects.gemini,
    dialects.gemini_error,
    keeps_ids=False,
)
RESPONSES = Dialect(
    "openai/responses/gpt-5",
    "/v1/responses",
    ("authorization", f"Bearer {KEY}"),
    dialects.responses,
    dialects.openai_error,
)
OLLAMA = Dialect(
    "ollama_chat/qwen3",
    "/api/chat",
    ("authorization", f"Bearer {KEY}"),
    dialects.ollama,
    dialects.ollama_error,
    keeps_ids=False,
)
ALL = [
    pytest.param(one, id=one.model.split("/")[0]) for one in (ANTHROPIC, GEMINI, RESPONSES, OLLAMA)
]


async def check(
    patient: Asking, *plays: Play, asked: ModelRequest
) -> tuple[list[ModelEvent], FaultyEndpoint]:
    """Ask once for each play; return what came last, and the endpoint as it was asked."""
    events: list[ModelEvent] = []
    patient.env["AGENT_LS_API_KEY"] = KEY
    async with faulty(0, plays) as endpoint:
        patient.use(f"{endpoint.url}/v1")
        try:
            for _ in plays:
                events = await patient.ask(asked)
        finally:
            del patient.env["AGENT_LS_API_KEY"]
    return events, endpoint


def text_of(events: list[ModelEvent]) -> str:
    return "".join(one.text for one in events if isinstance(one, TextDelta))


def thinking_of(events: list[ModelEvent]) -> str:
    return "".join(one.text for one in events if isinstance(one, ReasoningDelta))


def calls_of(events: list[ModelEvent]) -> list[CallClosed]:
    return [one for one in events if isinstance(one, CallClosed)]


def end_of(events: list[ModelEvent]) -> StreamFinished:
    assert isinstance(events[-1], StreamFinished)
    return events[-1]


def answered(
    calls: list[CallClosed], text: str = "", data: ProviderData | None = None
) -> tuple[Message, ...]:
    """Return a conversation in which these calls were made and each has its result.

    ``data`` is what the provider sent beside them.
    """
    made = tuple(
        ToolCall(
            id=f"cal_{number}",
            provider_id=one.provider_id,
            tool=one.tool,
            arguments_json=one.arguments_json,
        )
        for number, one in enumerate(calls)
    )
    results = tuple(
        ToolMessage(
            call_id=one.id, provider_id=one.provider_id, tool=one.tool, text=f"did {one.id}"
        )
        for one in made
    )
    return (
        UserMessage(text="Go."),
        AssistantMessage(text=text, calls=made, provider_data=data),
        *results,
    )


TWO_CALLS = Said(
    thinking="Two files, ünïcode.",
    text="I read both.",
    calls=[("id_1", "read_file", {"path": "a.py"}), ("id_2", "read_file", {"path": "ü.py"})],
)


@pytest.mark.parametrize("dialect", ALL)
async def test_thinking_text_and_calls_arrive_whole(patient: Asking, dialect: Dialect) -> None:
    asked = request(model=dialect.model, reasoning_effort="low")
    events, _ = await check(patient, dialect.answer(TWO_CALLS), asked=asked)
    assert thinking_of(events) == "Two files, ünïcode."
    assert text_of(events) == "I read both."
    calls = calls_of(events)
    assert [(one.tool, json.loads(one.arguments_json)) for one in calls] == [
        ("read_file", {"path": "a.py"}),
        ("read_file", {"path": "ü.py"}),
    ]
    assert len({one.provider_id for one in calls}) == 2
    if dialect.keeps_ids:
        assert [one.provider_id for one in calls] == ["id_1", "id_2"]
    assert end_of(events).finish is FinishReason.TOOL_CALLS


@pytest.mark.parametrize("dialect", ALL)
async def test_a_finish_reason_is_ours(patient: Asking, dialect: Dialect) -> None:
    for said, finish in (
        (Said(text="Done."), FinishReason.STOP),
        (Said(text="Do", is_cut=True), FinishReason.LENGTH),
    ):
        events, _ = await check(patient, dialect.answer(said), asked=request(model=dialect.model))
        assert (text_of(events), end_of(events).finish) == (said.text, finish)


@pytest.mark.parametrize("dialect", ALL)
async def test_usage_counts_cached_tokens_as_input(patient: Asking, dialect: Dialect) -> None:
    counts = Counts(input=1_000, output=50, cached=800, reasoning=20)
    said = Said(text="Done.", counts=counts)
    events, _ = await check(patient, dialect.answer(said), asked=request(model=dialect.model))
    usage = end_of(events).usage
    assert (usage.input_tokens, usage.output_tokens) == (1_000, 50)
    # Ollama tells of no cache, and of the four two count thinking apart.
    assert usage.cache_read_tokens == (0 if dialect is OLLAMA else 800)
    if dialect in (GEMINI, RESPONSES):
        assert usage.reasoning_tokens == 20


@pytest.mark.parametrize("dialect", ALL)
async def test_the_key_goes_in_its_header_alone_and_tools_in_their_own_shape(
    patient: Asking, dialect: Dialect
) -> None:
    play = dialect.answer(Said(text="Done."))
    _, endpoint = await check(patient, play, asked=request(model=dialect.model))
    assert endpoint.paths == [dialect.path]
    name, value = dialect.key_header
    assert endpoint.headers[0][name] == value
    others = {k: v for k, v in endpoint.headers[0].items() if k != name}
    assert KEY not in json.dumps(others) + json.dumps(endpoint.requests)
    assert "read_file" in json.dumps(endpoint.requests[0]["tools"])
    assert "Be brief." in json.dumps(endpoint.requests[0])


@pytest.mark.parametrize("dialect", ALL)
async def test_results_go_back_with_their_calls(patient: Asking, dialect: Dialect) -> None:
    events, _ = await check(patient, dialect.answer(TWO_CALLS), asked=request(model=dialect.model))
    talk = answered(calls_of(events), "I read both.", end_of(events).provider_data)
    asked = request(*talk, model=dialect.model)
    _, endpoint = await check(patient, dialect.answer(Said(text="Done.")), asked=asked)
    pairs = RESULTS[dialect.model](endpoint.requests[0])
    assert pairs == [("read_file", "did cal_0"), ("read_file", "did cal_1")]


def _anthropic_results(body: dict[str, Any]) -> list[tuple[str, str]]:
    blocks = [one for message in body["messages"] for one in message["content"]]
    names = {one["id"]: one["name"] for one in blocks if one["type"] == "tool_use"}
    found = [one for one in blocks if one["type"] == "tool_result"]
    return [(names[one["tool_use_id"]], _flat(one["content"])) for one in found]


def _gemini_results(body: dict[str, Any]) -> list[tuple[str, str]]:
    parts = [part for content in body["contents"] for part in content["parts"]]
    found = [part["function_response"] for part in parts if "function_response" in part]
    return [(one["name"], one["response"]["content"]) for one in found]


def _responses_results(body: dict[str, Any]) -> list[tuple[str, str]]:
    kinds = [one["type"] for one in body["input"]]
    assert kinds.count("function_call") == kinds.count("function_call_output")
    names = {one["call_id"]: one["name"] for one in body["input"] if "name" in one}
    found = [one for one in body["input"] if one["type"] == "function_call_output"]
    return [(names[one["call_id"]], _flat(one["output"])) for one in found]


def _ollama_results(body: dict[str, Any]) -> list[tuple[str, str]]:
    made = [call["function"] for one in body["messages"] for call in one.get("tool_calls") or []]
    assert all(isinstance(one["arguments"], dict) for one in made)
    found = [one["content"] for one in body["messages"] if one["role"] == "tool"]
    return [(call["name"], text) for call, text in zip(made, found, strict=True)]


def _flat(content: Any) -> str:
    return content if isinstance(content, str) else "".join(one["text"] for one in content)


RESULTS: dict[str, Callable[[dict[str, Any]], list[tuple[str, str]]]] = {
    ANTHROPIC.model: _anthropic_results,
    GEMINI.model: _gemini_results,
    RESPONSES.model: _responses_results,
    OLLAMA.model: _ollama_results,
}


F = ProviderFailure
ERRORS: list[tuple[Dialect, int, str, str, ProviderFailure]] = [
    (ANTHROPIC, 401, "authentication_error", "invalid x-api-key", F.AUTHENTICATION),
    (ANTHROPIC, 413, "request_too_large", "too large", F.CONTEXT_OVERFLOW),
    (ANTHROPIC, 529, "overloaded_error", "Overloaded", F.OVERLOADED),
    (ANTHROPIC, 400, "invalid_request_error", "prompt is too long: 3 > 2", F.CONTEXT_OVERFLOW),
    (ANTHROPIC, 400, "invalid_request_error", "Your credit balance is too low", F.NO_CREDIT),
    (GEMINI, 400, "INVALID_ARGUMENT", "API key not valid. Please pass one.", F.AUTHENTICATION),
    (GEMINI, 429, "RESOURCE_EXHAUSTED", "You exceeded your current quota", F.RATE_LIMITED),
    (GEMINI, 503, "UNAVAILABLE", "The model is overloaded.", F.OVERLOADED),
    (RESPONSES, 401, "invalid_api_key", "Incorrect API key provided", F.AUTHENTICATION),
    (RESPONSES, 400, "context_length_exceeded", "too long", F.CONTEXT_OVERFLOW),
    (RESPONSES, 400, "invalid_request_error", "Unknown parameter: 'x'", F.BAD_REQUEST),
    (RESPONSES, 429, "insufficient_quota", "no money", F.NO_CREDIT),
    (OLLAMA, 404, "", "model 'qwen9' not found", F.UNKNOWN_MODEL),
    (OLLAMA, 400, "", "qwen3 does not support tools", F.BAD_REQUEST),
    (OLLAMA, 500, "", "llama runner process has terminated", F.SERVER),
]


@pytest.mark.parametrize(
    "dialect, status, kind, message, failure",
    ERRORS,
    ids=[f"{one[0].model.split('/')[0]}-{one[1]}-{one[2]}-{n}" for n, one in enumerate(ERRORS)],
)
async def test_an_error_is_of_our_classes_and_says_what_it_said(
    patient: Asking, dialect: Dialect, status: int, kind: str, message: str, failure: F
) -> None:
    play = dialects.refuses(dialect.error, status, kind, message)
    with pytest.raises(ProviderError) as caught:
        await check(patient, play, asked=request(model=dialect.model))
    assert caught.value.failure is failure
    assert message.rstrip(".") in caught.value.message
    assert "litellm" not in caught.value.message


@pytest.mark.parametrize("dialect", ALL)
async def test_a_stream_that_stops_in_the_middle_is_broken(
    patient: Asking, dialect: Dialect
) -> None:
    class Stopped:
        """A connection that takes the first third and closes."""

        def __init__(self, writer: Any) -> None:
            self._writer = writer

        def write(self, part: bytes) -> None:
            at = part.find(b"\r\n\r\n") + 4 if part.startswith(b"HTTP") else len(part) // 3
            self._writer.write(part[:at])

        async def drain(self) -> None:
            await self._writer.drain()

    async def play(writer: Any) -> None:
        stopped: Any = Stopped(writer)
        await dialect.answer(TWO_CALLS)(stopped)

    with pytest.raises(ProviderError) as caught:
        await check(patient, play, asked=request(model=dialect.model))
    assert caught.value.failure is ProviderFailure.BROKEN_STREAM


# Anthropic.


async def test_claude_gets_markers_thinks_and_has_room_to_answer(patient: Asking) -> None:
    asked = request(model=ANTHROPIC.model, reasoning_effort="high")
    _, endpoint = await check(patient, dialects.anthropic(Said(text="Done.")), asked=asked)
    body = endpoint.requests[0]
    assert body["thinking"]["type"] == "enabled"
    assert body["max_tokens"] - body["thinking"]["budget_tokens"] >= 16_384
    assert body["max_tokens"] <= 64_000
    assert body["system"][0]["cache_control"] == {"type": "ephemeral"}
    assert endpoint.headers[0]["anthropic-version"] == "2023-06-01"


@pytest.mark.parametrize("effort", ["low", "high"])
@pytest.mark.parametrize("wanted", [1_000, 63_000])
@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "claude-nobody-knows"])
async def test_what_a_setting_grants_the_answer_is_not_thinkings(
    patient: Asking, model: str, wanted: int, effort: str
) -> None:
    asked = request(model=f"anthropic/{model}", reasoning_effort=effort)
    asked = asked.model_copy(update={"max_output_tokens": wanted})
    _, endpoint = await check(patient, dialects.anthropic(Said(text="Done.")), asked=asked)
    body = endpoint.requests[0]
    budget = body.get("thinking", {}).get("budget_tokens", 0)
    assert body["max_tokens"] - budget >= min(wanted, 59_000)
    if model == "claude-sonnet-4-5":
        assert body["max_tokens"] <= 64_000


async def test_claudes_signed_thinking_goes_back(patient: Asking) -> None:
    asked = request(model=ANTHROPIC.model, reasoning_effort="low")
    events, _ = await check(patient, dialects.anthropic(TWO_CALLS), asked=asked)
    talk = answered(calls_of(events), "I read both.", end_of(events).provider_data)
    again = request(*talk, model=ANTHROPIC.model, reasoning_effort="low")
    _, endpoint = await check(patient, dialects.anthropic(Said(text="Done.")), asked=again)
    first = endpoint.requests[0]["messages"][1]["content"][0]
    assert first["type"] == "thinking"
    assert (first["thinking"], first["signature"]) == ("Two files, ünïcode.", "signed-1")


async def test_an_error_in_claudes_stream_is_told(patient: Asking) -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    play = sends(head(), b"event: error\n" + data(error))
    with pytest.raises(ProviderError) as caught:
        await check(patient, play, asked=request(model=ANTHROPIC.model))
    assert caught.value.is_retryable
    assert "verloaded" in caught.value.message


async def test_thinking_that_was_lost_is_not_asked_for_again(patient: Asking) -> None:
    """Claude refuses to think when the calls before come without what led to them."""
    talk = answered([CallClosed("id_9", "read_file", "{}")])
    asked = request(*talk, model=ANTHROPIC.model, reasoning_effort="low")
    _, endpoint = await check(patient, dialects.anthropic(Said(text="Done.")), asked=asked)
    assert "thinking" not in endpoint.requests[0]


async def test_claude_gets_four_markers_and_others_none(patient: Asking) -> None:
    called = answered([CallClosed("id_1", "read_file", "{}")])
    talk = (*called, AssistantMessage(text="four"), UserMessage(text="five"))
    _, endpoint = await check(
        patient, dialects.anthropic(Said(text="Done.")), asked=request(*talk, model=ANTHROPIC.model)
    )
    body = endpoint.requests[0]
    marks = [
        (index, block["type"])
        for index, message in enumerate(body["messages"])
        for block in message["content"]
        if "cache_control" in block
    ]
    assert marks == [(2, "tool_result"), (3, "text"), (4, "text")]
    assert json.dumps(body).count("cache_control") == 4
    _, endpoint = await check(
        patient, dialects.responses(Said(text="Done.")), asked=request(*talk, model=RESPONSES.model)
    )
    assert "cache_control" not in json.dumps(endpoint.requests)


async def test_claudes_tokens_have_their_prices(patient: Asking) -> None:
    said = Said(text="Done.", counts=Counts(input=1_000, output=50, cached=800, written=100))
    events, _ = await check(patient, dialects.anthropic(said), asked=request(model=ANTHROPIC.model))
    usage = end_of(events).usage
    assert (usage.cache_read_tokens, usage.cache_write_tokens) == (800, 100)
    # 3 USD a million fresh, 0.30 read from the cache, 3.75 written to it, 15 out.
    expected = (100 * 3 + 800 * 0.3 + 100 * 3.75 + 50 * 15) / 1e6
    assert usage.cost_usd == pytest.approx(expected)


# Gemini.


async def test_geminis_signature_goes_back_with_its_call(patient: Asking) -> None:
    said = Said(thinking="Hm.", calls=[("", "read_file", {"path": "a.py"})])
    asked = request(model=GEMINI.model, reasoning_effort="low")
    events, endpoint = await check(patient, dialects.gemini(said), asked=asked)
    thinking = endpoint.requests[0]["generationConfig"]["thinkingConfig"]
    assert thinking["includeThoughts"] is True
    talk = answered(calls_of(events), "", end_of(events).provider_data)
    again = request(*talk, model=GEMINI.model, reasoning_effort="low")
    _, endpoint = await check(patient, dialects.gemini(Said(text="Done.")), asked=again)
    parts = [part for one in endpoint.requests[0]["contents"] for part in one["parts"]]
    (called,) = [part for part in parts if "function_call" in part]
    assert called["thoughtSignature"] == "c2lnbmVk"


# OpenAI's Responses.


async def test_responses_are_asked_without_being_stored_there(patient: Asking) -> None:
    asked = request(model=RESPONSES.model, reasoning_effort="high")
    asked = asked.model_copy(update={"max_output_tokens": 5_000})
    _, endpoint = await check(patient, dialects.responses(Said(text="Done.")), asked=asked)
    body = endpoint.requests[0]
    assert (body["model"], body["store"], body["stream"]) == ("gpt-5", False, True)
    assert body["include"] == ["reasoning.encrypted_content"]
    assert body["reasoning"] == {"effort": "high"}
    assert body["max_output_tokens"] >= 5_000 + 16_384
    assert "previous_response_id" not in body
    assert body["instructions"] == "Be brief."
    (tool,) = body["tools"]
    assert (tool["type"], tool["name"]) == ("function", "read_file")


async def test_encrypted_reasoning_goes_back_before_its_calls(patient: Asking) -> None:
    asked = request(model=RESPONSES.model, reasoning_effort="low")
    events, _ = await check(patient, dialects.responses(TWO_CALLS), asked=asked)
    talk = answered(calls_of(events), "I read both.", end_of(events).provider_data)
    again = request(*talk, model=RESPONSES.model, reasoning_effort="low")
    _, endpoint = await check(patient, dialects.responses(Said(text="Done.")), asked=again)
    items = endpoint.requests[0]["input"]
    assert [one["type"] for one in items] == [
        "message",
        "reasoning",
        "message",
        "function_call",
        "function_call",
        "function_call_output",
        "function_call_output",
    ]
    assert items[1]["encrypted_content"] == "ENCRYPTED-1"


async def test_reasoning_that_cannot_be_decrypted_any_more_is_left_out(patient: Asking) -> None:
    asked = request(model=RESPONSES.model, reasoning_effort="low")
    events, _ = await check(patient, dialects.responses(TWO_CALLS), asked=asked)
    talk = answered(calls_of(events), "I read both.", end_of(events).provider_data)
    refusal = {
        "error": {
            "message": "The encrypted content gAAA...ng== could not be verified.",
            "type": "invalid_request_error",
            "code": "invalid_encrypted_content",
        }
    }
    plays = [sends(whole(400, json.dumps(refusal))), dialects.responses(Said(text="Done."))]
    async with faulty(0, plays) as endpoint:
        patient.use(f"{endpoint.url}/v1")
        await patient.ask(request(*talk, model=RESPONSES.model, reasoning_effort="low"))
    kinds = [[one["type"] for one in body["input"]] for body in endpoint.requests]
    assert ["reasoning" in one for one in kinds] == [True, False]
    assert kinds[1] == [one for one in kinds[0] if one != "reasoning"]


async def test_one_conversation_has_one_cache_key(patient: Asking) -> None:
    keys: list[str] = []
    for talk in ((), answered([CallClosed("id_1", "read_file", "{}")])):
        asked = request(*talk, model=RESPONSES.model)
        _, endpoint = await check(patient, dialects.responses(Said(text="Done.")), asked=asked)
        keys.append(endpoint.requests[0]["prompt_cache_key"])
    other = request(UserMessage(text="Something else."), model=RESPONSES.model)
    _, endpoint = await check(patient, dialects.responses(Said(text="Done.")), asked=other)
    assert keys[0] == keys[1] != endpoint.requests[0]["prompt_cache_key"]


async def test_other_models_get_no_reasoning_of_openais(patient: Asking) -> None:
    events, _ = await check(
        patient, dialects.responses(TWO_CALLS), asked=request(model=RESPONSES.model)
    )
    talk = answered(calls_of(events), "I read both.", end_of(events).provider_data)
    for model, play in (
        ("openai/x", sends(head(), data({"choices": [{"delta": {"content": "x"}}]}))),
        (ANTHROPIC.model, dialects.anthropic(Said(text="Done."))),
    ):
        async with faulty(0, [play]) as endpoint:
            patient.use(f"{endpoint.url}/v1")
            patient.env["AGENT_LS_API_KEY"] = KEY
            try:
                await patient.ask(request(*talk, model=model))
            except ProviderError:
                assert model == "openai/x", "it has no finish reason"
            finally:
                del patient.env["AGENT_LS_API_KEY"]
        assert "ENCRYPTED" not in json.dumps(endpoint.requests)


@pytest.mark.parametrize(
    "model, path",
    [
        ("openai/gpt-5-codex", "/v1/responses"),
        ("openai/gpt-5", "/v1/chat/completions"),
        ("openai/responses/anything", "/v1/responses"),
    ],
)
async def test_another_address_is_asked_for_responses_only_where_it_has_to_be(
    patient: Asking, model: str, path: str
) -> None:
    async with faulty(0, [sends(head())]) as endpoint:
        patient.use(f"{endpoint.url}/v1")
        with pytest.raises(ProviderError):
            await patient.ask(request(model=model))
        assert endpoint.paths == [path]


@pytest.mark.parametrize("kind", ["response.failed", "error"])
async def test_an_error_in_a_responses_stream_is_told(patient: Asking, kind: str) -> None:
    error = {"code": "server_error", "message": "The server fell over."}
    response = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "gpt-5",
        "status": "failed",
        "error": error,
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
    event = {"response": response} if kind == "response.failed" else error
    play = sends(
        head(), f"event: {kind}\n".encode() + data({"type": kind, **event, "sequence_number": 0})
    )
    with pytest.raises(ProviderError) as caught:
        await check(patient, play, asked=request(model=RESPONSES.model))
    assert caught.value.is_retryable
    if kind == "response.failed":
        assert "fell over" in caught.value.message
