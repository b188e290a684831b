"""The model host over real HTTP: the real child process against the scripted model."""

from __future__ import annotations

import asyncio
import json
import signal
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from agent_ls.domain.errors import ProviderError, ProviderFailure
from agent_ls.domain.messages import UserMessage
from agent_ls.domain.model_io import (
    CallClosed,
    CallCut,
    FinishReason,
    ModelEvent,
    ModelRequest,
    ReasoningDelta,
    StreamFinished,
    TextDelta,
)
from agent_ls.providers.model_host import ModelHost, ModelHostOptions
from agent_ls.providers.prices import ModelCard
from agent_ls.providers.scripted import ScriptedModel
from tests.providers.conftest import READ_FILE, Asking, request
from tests.support.faulty import (
    Play,
    called,
    data,
    end,
    error,
    faulty,
    hangs,
    head,
    resets,
    said,
    sends,
    whole,
)
from tests.support.scripted import scripted

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def check(
    asking: Asking, scenario: str, asked: ModelRequest | None = None
) -> list[ModelEvent]:
    """Ask a scripted model once and return the events, neighbouring texts joined."""
    async with scripted(scenario) as model:
        asking.use(model.base_url)
        return joined(await asking.ask(asked or request()))


async def played(asking: Asking, play: Play, model: str = "openai/scripted") -> list[ModelEvent]:
    """Ask an endpoint that answers with exactly given bytes."""
    async with faulty(0, [play]) as endpoint:
        asking.use(f"{endpoint.url}/v1")
        return joined(await asking.ask(request(model=model)))


def joined(events: list[ModelEvent]) -> list[ModelEvent]:
    """How a text is torn is the network's business."""
    found: list[ModelEvent] = []
    for event in events:
        last = found[-1] if found else None
        if isinstance(event, TextDelta | ReasoningDelta) and type(last) is type(event):
            found[-1] = replace(event, text=last.text + event.text)
        else:
            found.append(event)
    return found


def finished(events: list[ModelEvent]) -> StreamFinished:
    assert isinstance(events[-1], StreamFinished)
    return events[-1]


ANSWER = """
[[answer]]
chunk = {chunk}
reasoning = "Three files, ünïcode, 😀."
text = "I read them:\\n\\n- one\\n- two"
[[answer.call]]
id = "a"
tool = "read_file"
arguments = {{ path = 'odd "name"}} \\ {{.py', range = [1, 2] }}
[[answer.call]]
id = "b"
tool = "list_dir"
arguments_text = ""
[[answer.call]]
id = "c"
tool = "grep"
arguments = {{ pattern = "😀{{" }}
"""


@pytest.mark.parametrize("model", ["openai/scripted", "fireworks_ai/m"])
@pytest.mark.parametrize("chunk", [1, 16, 4096])
async def test_an_answer_arrives_whole_at_every_size_of_piece(
    asking: Asking, chunk: int, model: str
) -> None:
    scenario = ANSWER.format(chunk=chunk)
    events = await check(asking, scenario, request(model=model))
    assert events[:-1] == WHOLE
    assert finished(events).finish is FinishReason.TOOL_CALLS


async def test_an_answer_arrives_whole_from_a_server_that_does_not_stream(asking: Asking) -> None:
    call = {"id": "a", "function": {"name": "grep", "arguments": '{"x": 1}'}}
    message = {"reasoning_content": "Hm.", "content": "Yes.", "tool_calls": [call]}
    body = {"choices": [{"message": message, "finish_reason": "tool_calls"}]}
    events = await played(asking, sends(whole(200, json.dumps(body))))
    said = [ReasoningDelta("Hm."), TextDelta("Yes."), CallClosed("a", "grep", '{"x": 1}')]
    assert sorted(events[:-1], key=repr) == sorted(said, key=repr)
    assert finished(events).finish is FinishReason.TOOL_CALLS
    # It tells no usage.
    assert finished(events).usage.output_tokens > 0


WHOLE = [
    ReasoningDelta("Three files, ünïcode, 😀."),
    TextDelta("I read them:\n\n- one\n- two"),
    CallClosed("a", "read_file", json.dumps({"path": 'odd "name"} \\ {.py', "range": [1, 2]})),
    CallClosed("b", "list_dir", "{}"),
    CallClosed("c", "grep", '{"pattern": "😀{"}'),
]


async def test_calls_come_before_the_stream_has_ended(asking: Asking) -> None:
    scenario = """
    [[answer]]
    hang = "middle"
    chunk = 0
    call = [
      { tool = "f", arguments = {} }, { tool = "g", arguments = {} }, { tool = "h", arguments = {} }
    ]
    """
    async with scripted(scenario) as model, aclosing(_stream(asking, model)) as events:
        first = await anext(events)
    assert isinstance(first, CallClosed)
    assert first.tool == "f"


def _stream(asking: Asking, model: ScriptedModel, asked: ModelRequest | None = None) -> Any:
    asking.use(model.base_url)
    return asking.host.stream(asked or request())


USAGE = """
[[answer]]
text = "Hi"
usage = { input = 1000, output = 50, cached = 800, reasoning = 20 }
"""


async def test_usage_counts_cached_tokens_as_input_and_has_a_price(asking: Asking) -> None:
    usage = finished(await check(asking, USAGE, request(model="openai/gpt-4o"))).usage
    assert (usage.input_tokens, usage.output_tokens) == (1000, 50)
    assert (usage.cache_read_tokens, usage.reasoning_tokens) == (800, 20)
    # 2.50 USD a million fresh, 1.25 cached, 10 out.
    assert usage.cost_usd == pytest.approx((200 * 2.5 + 800 * 1.25 + 50 * 10) / 1e6)


async def test_an_unknown_model_costs_what_the_settings_say(asking: Asking) -> None:
    card = ModelCard(window_tokens=9000, input_usd=1.0, output_usd=2.0, cache_read_usd=0.5)
    options = asking.host.options.model_copy(update={"models": {"openai/mine": card}})
    usage = finished(await check(asking, USAGE, request(model="openai/mine"))).usage
    assert usage.cost_usd == 0
    own = ModelHost(options, env=asking.env)
    assert (await own.facts("openai/mine")).window_tokens == 9000
    assert card.cost_usd(usage) == pytest.approx((200 * 1 + 800 * 0.5 + 50 * 2) / 1e6)


async def test_facts_are_litellms_where_it_knows_the_model(asking: Asking) -> None:
    facts = await asking.host.facts("openai/gpt-4o")
    assert (facts.window_tokens, facts.max_output_tokens) == (128_000, 16_384)
    assert (await asking.host.facts("openai/nobody-knows")).window_tokens == 0
    assert (await asking.host.facts("nonsense")).window_tokens == 0


async def test_broken_arguments_are_passed_on_and_cut_ones_told_apart(asking: Asking) -> None:
    scenario = """
    [[answer]]
    finish = "length"
    call = [
      { id = "a", tool = "f", arguments_text = "{path: 1}" },
      { id = "b", tool = "g", arguments_text = '{"text": "half a sen' },
    ]
    """
    events = await check(asking, scenario)
    assert events[:-1] == [
        CallClosed("a", "f", "{path: 1}"),
        CallCut("b", "g", '{"text": "half a sen'),
    ]
    assert finished(events).finish is FinishReason.LENGTH


F = ProviderFailure
ERRORS: list[tuple[str, Play, ProviderFailure, str]] = [
    *(
        (f"{status}-{code}", sends(whole(status, error(text, code=code))), failure, words)
        for status, code, text, failure, words in (
            (401, None, "bad key", F.AUTHENTICATION, "OPENAI_API_KEY"),
            (403, None, "not here", F.FORBIDDEN, "not here"),
            (404, None, "no such model", F.UNKNOWN_MODEL, "openai/NAME"),
            (400, None, "tools: wrong", F.BAD_REQUEST, "tools: wrong"),
            (429, None, "slow", F.RATE_LIMITED, "slow"),
            (429, "insufficient_quota", "no", F.NO_CREDIT, "credit"),
            (500, None, "oops", F.SERVER, "oops"),
            (503, None, "busy", F.OVERLOADED, "busy"),
            (400, "context_length_exceeded", "too long", F.CONTEXT_OVERFLOW, "too long"),
            (400, "content_filter", "no", F.CONTENT_FILTER, "content filter"),
        )
    ),
    (
        "html-with-status",
        sends(whole(502, "<html><title>Bad gateway</title>")),
        F.SERVER,
        "a web page, not an API answer (Bad gateway)",
    ),
    ("html", sends(whole(200, "<html>Login", kind="text/html")), F.BAD_REQUEST, "a web page"),
    (
        "error-object-in-the-stream",
        sends(head() + said("Well") + data(json.loads(error("gpu fell over")))),
        F.BROKEN_STREAM,
        "gpu fell over",
    ),
    (
        "overloaded-in-the-stream",
        sends(head() + said("Well") + data(json.loads(error("busy", type="overloaded_error")))),
        F.OVERLOADED,
        "busy",
    ),
    ("not-json", sends(head() + data("{oops")), F.BROKEN_STREAM, "no JSON"),
    ("not-an-object", sends(head() + data("[1]")), F.BROKEN_STREAM, "no JSON object"),
    ("nothing", sends(head()), F.BROKEN_STREAM, "before it said anything"),
    ("only-an-end-mark", sends(head() + data("[DONE]")), F.BROKEN_STREAM, "finish"),
    ("an-empty-object", sends(whole(200, "{}")), F.BAD_REQUEST, "instead of a model's answer"),
    ("an-error-object-as-body", sends(whole(200, error("no", code=429))), F.RATE_LIMITED, "no"),
    ("hanging", hangs(), F.TIMEOUT, "within 3 s"),
    ("falling-silent", hangs(head(), said("x")), F.TIMEOUT, "silent for 0.5 s"),
]


@pytest.mark.parametrize(
    "play, failure, words", [case[1:] for case in ERRORS], ids=[case[0] for case in ERRORS]
)
async def test_an_error_has_a_class_and_words_for_a_user(
    asking: Asking, play: Play, failure: ProviderFailure, words: str
) -> None:
    with pytest.raises(ProviderError) as caught:
        await played(asking, play)
    assert caught.value.failure is failure
    assert words in caught.value.message
    assert "litellm" not in caught.value.message


@pytest.mark.parametrize("model", ["openai/scripted", "fireworks_ai/m"])
async def test_retry_after_reaches_the_loop(asking: Asking, model: str) -> None:
    scenario = "[[answer]]\nerror = { status = 429, retry_after_s = 7 }"
    with pytest.raises(ProviderError) as caught:
        await check(asking, scenario, request(model=model))
    assert caught.value.retry_after_s == 7
    assert caught.value.status == 429
    assert caught.value.is_retryable


CHUNKED = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
)
BEGUN = said("x") + called("{}")
BROKEN = [
    pytest.param(resets(head() + BEGUN), id="reset"),
    pytest.param(sends(head() + BEGUN), id="ended-early"),
    pytest.param(sends(CHUNKED + b"%x\r\n%s\r\n" % (len(BEGUN), BEGUN)), id="closed"),
    pytest.param(sends(CHUNKED + b"%x\r\n%s\r\n" % (len(BEGUN + end()), BEGUN)), id="in-a-chunk"),
]


@pytest.mark.parametrize("model", ["openai/scripted", "fireworks_ai/m"])
@pytest.mark.parametrize("play", BROKEN)
async def test_a_cut_stream_is_broken_whatever_came(asking: Asking, play: Play, model: str) -> None:
    with pytest.raises(ProviderError, match="broke off") as caught:
        await played(asking, play, model)
    assert caught.value.failure is ProviderFailure.BROKEN_STREAM


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_dead_endpoint_is_named(asking: Asking, host: str) -> None:
    async with ScriptedModel("") as model:
        base_url = model.base_url.replace("127.0.0.1", host)
    asking.use(base_url)
    for name in ("openai/scripted", "anthropic/claude-sonnet-4-5"):
        with pytest.raises(ProviderError) as caught:
            await asking.ask(request(model=name))
        assert caught.value.failure is ProviderFailure.CONNECTION
        assert base_url.removesuffix("/v1") in caught.value.message
        assert "the connection was refused" in caught.value.message
        assert caught.value.is_lasting


async def test_the_key_is_in_no_message(asking: Asking) -> None:
    asking.env["OPENAI_API_KEY"] = "sk-very-secret-key"
    try:
        scenario = "[[answer]]\nerror = { status = 401, message = 'bad key sk-very-secret-key' }"
        with pytest.raises(ProviderError) as caught:
            await check(asking, scenario)
    finally:
        del asking.env["OPENAI_API_KEY"]
    assert "sk-very" not in caught.value.message
    assert "[key]" in caught.value.message


@pytest.mark.parametrize("model", ["openai/scripted", "fireworks_ai/m"])
@pytest.mark.parametrize("hang", ["before", "middle"])
async def test_closing_the_iterator_closes_the_connection(
    asking: Asking, hang: str, model: str
) -> None:
    async with scripted(f"[[answer]]\ntext = '{'x' * 64}'\nhang = '{hang}'") as server:
        events = _stream(asking, server, request(model=model))
        first = asyncio.ensure_future(anext(events))
        await server.wait_for_requests(1)
        if hang == "middle":
            await first
        else:
            first.cancel()
            await asyncio.wait((first,))
        await events.aclose()
        await asyncio.wait_for(server.requests[0].left.wait(), 5)


async def test_a_host_killed_in_mid_stream_raises_and_the_next_request_starts_another(
    asking: Asking,
) -> None:
    scenario = f"[[answer]]\ntext = '{'x' * 64}'\nhang = 'middle'\n[[answer]]\ntext = 'again'"
    async with scripted(scenario) as model:
        events = _stream(asking, model)
        await anext(events)
        before = asking.host.pid
        assert before
        psutil.Process(before).send_signal(signal.SIGKILL)
        with pytest.raises(ProviderError) as caught:
            async for _ in events:
                pass
        assert caught.value.failure is ProviderFailure.HOST_DIED
        assert caught.value.is_retryable
        again = joined(await asking.ask(request()))
    assert again[0] == TextDelta("again")
    assert asking.host.pid != before


async def test_a_host_that_hangs_is_replaced_when_its_request_is_given_up(asking: Asking) -> None:
    other = Asking(asking.config_dir, ModelHostOptions(first_chunk_s=0.5))
    scenario = f"[[answer]]\ntext = '{'x' * 64}'\nhang = 'middle'\n[[answer]]\ntext = 'again'"
    async with scripted(scenario) as model:
        async with aclosing(_stream(other, model)) as events:
            await anext(events)
            psutil.Process(other.host.pid).suspend()
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(anext(events), 1)
        assert joined(await other.ask(request()))[0] == TextDelta("again")
    await other.host.close()


async def test_no_model_at_all_is_told_how_to_set_one(asking: Asking) -> None:
    with pytest.raises(ProviderError, match="AGENT_LS_MODEL"):
        await asking.ask(request(model=""))


async def test_a_request_is_sent_as_it_is_documented(asking: Asking) -> None:
    asked = request(reasoning_effort="low").model_copy(
        update={"temperature": 0.5, "max_output_tokens": 99}
    )
    async with scripted("[[answer]]\ntext = 'x'") as model:
        asking.use(model.base_url)
        await asking.ask(asked)
    (sent,) = model.requests
    assert (sent.path, sent.headers["authorization"]) == ("/v1/chat/completions", "Bearer none")
    function = READ_FILE.model_dump()
    assert sent.body == {
        "model": "scripted",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Go."},
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [{"type": "function", "function": function}],
        "tool_choice": "auto",
        "max_tokens": 99 + 4_096,
        "temperature": 0.5,
        "reasoning_effort": "low",
    }


async def test_a_conversation_arrives_whole_and_half_characters_are_replaced(
    asking: Asking,
) -> None:
    texts = ('Fix it — \x00 \x7f  \\ " </s>\r\n\tnow', "x" * 500_000, "half \ud83d")
    async with scripted("[[answer]]\ntext = 'x'") as model:
        asking.use(model.base_url)
        await asking.ask(request(*(UserMessage(text=text) for text in texts)))
    sent = [message["content"] for message in model.requests[0].messages[1:]]
    assert sent == [*texts[:2], "half ?"]


async def test_a_host_that_cannot_start_says_why() -> None:
    host = ModelHost(ModelHostOptions(python="/nowhere/python", api_base="http://127.0.0.1:1"))
    with pytest.raises(ProviderError, match="/nowhere/python") as caught:
        await host.start()
    assert caught.value.failure is ProviderFailure.HOST_DIED


@pytest.mark.parametrize("line", ["{}", "[]", "null", "oops", '["1", "text"]'])
async def test_a_host_that_sends_no_report_is_ended_and_named(tmp_path: Path, line: str) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\nread order\necho '{line}'\nexec sleep 60\n")
    python.chmod(0o755)
    options = ModelHostOptions(python=str(python), api_base="http://127.0.0.1:1")
    host = ModelHost(options, env={})
    with pytest.raises(ProviderError, match="ended unexpectedly") as caught:
        async for _ in host.stream(request()):
            pass
    assert caught.value.failure is ProviderFailure.HOST_DIED
    await host.close()
