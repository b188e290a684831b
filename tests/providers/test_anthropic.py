"""Claude by Anthropic's Messages API: what is sent, what goes back, and what odd servers send."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.domain.calls import ErrorKind, ToolCall
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
    CallCut,
    FinishReason,
    ModelEvent,
    ReasoningDelta,
    StreamFinished,
    TextDelta,
)
from agent_ls.domain.plain_json import PlainJson
from tests.providers.conftest import READ_FILE, Asking, request
from tests.support import dialects
from tests.support.dialects import Said
from tests.support.faulty import FaultyEndpoint, Play, data, faulty, hangs, head, sends, whole

pytestmark = pytest.mark.asyncio(loop_scope="module")

OLD, NEW = "anthropic/claude-sonnet-4-5", "anthropic/claude-opus-4-7"
DONE = dialects.anthropic(Said(text="Done."))


def event(kind: str, **fields: object) -> bytes:
    return f"event: {kind}\n".encode() + data({"type": kind, **fields})


def begun(index: int, kind: str, **fields: object) -> bytes:
    return event("content_block_start", index=index, content_block={"type": kind, **fields})


def piece(index: int, kind: str, **fields: object) -> bytes:
    return event("content_block_delta", index=index, delta={"type": kind, **fields})


def ended(index: int) -> bytes:
    return event("content_block_stop", index=index)


def stopped(reason: str, **usage: int) -> bytes:
    last = event("message_delta", delta={"stop_reason": reason}, usage=usage)
    return last + event("message_stop")


def stream(*parts: bytes) -> Play:
    return sends(head(), event("message_start", message={"usage": {"input_tokens": 9}}), *parts)


async def ask(
    asking: Asking,
    *plays: Play,
    model: str = NEW,
    messages: tuple[Message, ...] = (),
    **fields: Any,
) -> tuple[list[ModelEvent], FaultyEndpoint]:
    """Return what came of one request, and the endpoint as it was asked."""
    async with faulty(0, plays) as endpoint:
        asking.use(endpoint.url)
        asked = request(*messages, model=model).model_copy(update=fields)
        return await asking.ask(asked), endpoint


def told(events: list[ModelEvent]) -> dict[str, object]:
    """Return what a user and the loop get of an answer."""
    end = events[-1]
    assert isinstance(end, StreamFinished)
    return {
        "text": "".join(one.text for one in events if isinstance(one, TextDelta)),
        "thinking": "".join(one.text for one in events if isinstance(one, ReasoningDelta)),
        "calls": [
            (one.provider_id, one.tool, one.arguments_json)
            for one in events
            if isinstance(one, CallClosed)
        ],
        "finish": end.finish,
    }


def called(*ids: str) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(id=f"cal_{n}", provider_id=one, tool="shop/read", arguments_json='{"n": 1}')
        for n, one in enumerate(ids)
    )


def results(calls: tuple[ToolCall, ...], error: ErrorKind | None = None) -> tuple[Message, ...]:
    return tuple(
        ToolMessage(
            call_id=one.id, provider_id=one.provider_id, tool=one.tool, text="did", error=error
        )
        for one in calls
    )


THOUGHT = {"type": "thinking", "thinking": "First a.", "signature": "sig-1"}
AGAIN = {"type": "thinking", "thinking": "Then b.", "signature": "sig-2"}
HIDDEN = {"type": "redacted_thinking", "data": "c2VjcmV0"}


async def test_blocks_go_back_in_the_order_in_which_they_came(asking: Asking) -> None:
    answer = stream(
        begun(0, "thinking", thinking="", signature=""),
        *(piece(0, "thinking_delta", thinking=one) for one in ("First ", "a.")),
        piece(0, "signature_delta", signature="sig-1"),
        ended(0),
        begun(1, "redacted_thinking", data="c2VjcmV0"),
        ended(1),
        begun(2, "text", text=""),
        piece(2, "text_delta", text="I read a, "),
        ended(2),
        begun(3, "tool_use", id="toolu_1", name="shop__read", input={}),
        piece(3, "input_json_delta", partial_json='{"n": 1}'),
        ended(3),
        begun(4, "thinking", thinking="", signature=""),
        piece(4, "thinking_delta", thinking="Then b."),
        piece(4, "signature_delta", signature="sig-2"),
        ended(4),
        begun(5, "text", text=""),
        piece(5, "text_delta", text="and b."),
        ended(5),
        begun(6, "tool_use", id="toolu_2", name="shop__read", input={}),
        piece(6, "input_json_delta", partial_json='{"n": 1}'),
        ended(6),
        stopped("tool_use", output_tokens=20),
    )
    events, _ = await ask(asking, answer, reasoning_effort="low")
    assert told(events)["text"] == "I read a, and b."
    end = events[-1]
    assert isinstance(end, StreamFinished)
    made = called("toolu_1", "toolu_2")
    talk = (
        UserMessage(text="Go."),
        AssistantMessage(text="I read a, and b.", calls=made, provider_data=end.provider_data),
        *results(made),
        UserMessage(text="Keep to the plan.", origin="recitation"),
    )
    _, endpoint = await ask(asking, DONE, messages=talk, reasoning_effort="low")
    user, answer_sent, outcome = endpoint.requests[0]["messages"]
    use = {"type": "tool_use", "name": "shop__read", "input": {"n": 1}}
    marker = {"cache_control": {"type": "ephemeral"}}
    assert answer_sent["content"] == [
        THOUGHT,
        HIDDEN,
        {"type": "text", "text": "I read a, "},
        {**use, "id": "toolu_1"},
        AGAIN,
        {"type": "text", "text": "and b."},
        {**use, "id": "toolu_2", **marker},
    ]
    assert [one["type"] for one in outcome["content"]] == ["tool_result", "tool_result", "text"]
    assert (user["role"], outcome["role"]) == ("user", "user")


KEPT = ProviderData(
    origin="anthropic 127.0.0.1 claude",
    message={"blocks": [THOUGHT, {"type": "text", "characters": 3}]},
)
TEXTS: dict[str, tuple[AssistantMessage, list[dict[str, Any]]]] = {
    "the text was changed": (
        AssistantMessage(text="Other text.", calls=called("a"), provider_data=KEPT),
        [THOUGHT, {"type": "text", "text": "Other text."}],
    ),
    "the text is gone": (AssistantMessage(calls=called("a"), provider_data=KEPT), [THOUGHT]),
    "it is another provider's": (
        AssistantMessage(
            text="Hm.",
            calls=called("a"),
            provider_data=KEPT.model_copy(update={"origin": "deepseek deepseek"}),
        ),
        [{"type": "text", "text": "Hm."}],
    ),
    "there was none": (AssistantMessage(text=" ", calls=called("a")), []),
}


@pytest.mark.parametrize("case", TEXTS)
async def test_nothing_is_lost_where_a_message_is_no_longer_as_it_came(
    asking: Asking, case: str
) -> None:
    answer, expected = TEXTS[case]
    talk = (UserMessage(text="Go."), answer, *results(answer.calls))
    _, endpoint = await ask(asking, DONE, messages=talk)
    *blocks, use = endpoint.requests[0]["messages"][1]["content"]
    assert blocks == expected
    assert (use["type"], use["id"]) == ("tool_use", "a")


async def test_ids_of_other_providers_and_equal_ids_are_made_fit(asking: Asking) -> None:
    made = called("functions.read:0", "same", "same", "")
    talk = (UserMessage(text="Go."), AssistantMessage(calls=made), *results(made))
    _, endpoint = await ask(asking, DONE, messages=talk)
    uses, outcomes = (one["content"] for one in endpoint.requests[0]["messages"][1:])
    ids = [one["id"] for one in uses]
    assert len(set(ids)) == 4
    assert all(one.replace("_", "").isalnum() for one in ids)
    assert [one["tool_use_id"] for one in outcomes] == ids


async def test_roles_alternate_and_no_text_is_empty(asking: Asking) -> None:
    made = called("a")
    talk = (
        UserMessage(text="  "),
        UserMessage(text="Go."),
        AssistantMessage(text=" "),
        AssistantMessage(calls=made),
        *results(made, ErrorKind.RUNTIME),
        UserMessage(text="On."),
    )
    _, endpoint = await ask(asking, DONE, messages=talk, system="")
    body = endpoint.requests[0]
    assert "system" not in body
    assert [one["role"] for one in body["messages"]] == ["user", "assistant", "user"]
    texts = [
        block["text"]
        for one in body["messages"]
        for block in one["content"]
        if block["type"] == "text"
    ]
    assert texts == ["(empty)", "Go.", "(empty)", "On."]
    assert body["messages"][2]["content"][0]["is_error"] is True


THINKS = [
    (NEW, "high", {"type": "adaptive", "display": "summarized"}, {"effort": "high"}),
    (
        "anthropic/claude-nobody-knows",
        "low",
        {"type": "adaptive", "display": "summarized"},
        {"effort": "low"},
    ),
    (OLD, "medium", {"type": "enabled", "budget_tokens": 4_096}, None),
    ("claude-opus-4-20250514", "low", {"type": "enabled", "budget_tokens": 2_048}, None),
    (NEW, None, None, None),
]


@pytest.mark.parametrize("model, effort, thinking, config", THINKS)
async def test_each_claude_is_asked_to_think_as_it_takes_it(
    asking: Asking, model: str, effort: str | None, thinking: object, config: object
) -> None:
    _, endpoint = await ask(asking, DONE, model=model, reasoning_effort=effort, temperature=0.5)
    body = endpoint.requests[0]
    assert (body.get("thinking"), body.get("output_config")) == (thinking, config)
    # Claude takes no temperature when it thinks.
    assert body.get("temperature") == (None if effort else 0.5)
    is_beta = "interleaved" in endpoint.headers[0].get("anthropic-beta", "")
    assert is_beta == ((config is None and "sonnet-4-5" in model) or "opus-4-2" in model)


def refused(message: str) -> Play:
    return dialects.refuses(dialects.anthropic_error, 400, "invalid_request_error", message)


REFUSALS: dict[str, tuple[str, str, Any]] = {
    "a budget": (
        "anthropic/claude-sonnet-4-5",
        '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" '
        'and "output_config.effort" to control thinking behavior.',
        lambda body: body["thinking"]["type"] == "adaptive",
    ),
    "an effort": (
        "anthropic/claude-one",
        "adaptive thinking is not supported on this model",
        lambda body: body["thinking"]["type"] == "enabled" and "output_config" not in body,
    ),
    "early arguments": (
        "anthropic/claude-two",
        "tools.0.custom.eager_input_streaming: Extra inputs are not permitted",
        lambda body: "eager_input_streaming" not in json.dumps(body),
    ),
    "a temperature": (
        "anthropic/claude-three",
        "`temperature` is deprecated for this model.",
        lambda body: "temperature" not in body,
    ),
    "markers": (
        "anthropic/claude-four",
        "system.0.cache_control: Extra inputs are not permitted",
        lambda body: "cache_control" not in json.dumps(body),
    ),
    "thinking that was signed for other words": (
        "anthropic/claude-six",
        "messages.1.content.0: thinking block is bound to a different conversation",
        lambda body: THOUGHT not in body["messages"][1]["content"] and "thinking" in body,
    ),
    "thinking that was lost": (
        "anthropic/claude-five",
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
        "`tool_use`. When `thinking` is enabled, a final `assistant` message must start with a "
        "thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks).",
        lambda body: "thinking" not in body and THOUGHT not in body["messages"][1]["content"],
    ),
}
OF_ONE_CONVERSATION = {"thinking that was lost"}


@pytest.mark.parametrize("case", REFUSALS)
async def test_what_is_refused_is_sent_otherwise_from_then_on(asking: Asking, case: str) -> None:
    model, message, is_right = REFUSALS[case]
    effort = None if case == "a temperature" else "low"
    answer = AssistantMessage(text="Hm.", calls=called("a"), provider_data=KEPT)
    talk = (UserMessage(text="Go."), answer, *results(answer.calls))
    async with faulty(0, [refused(message), DONE, DONE]) as endpoint:
        asking.use(endpoint.url)
        asked = request(*talk, model=model, reasoning_effort=effort)
        asked = asked.model_copy(update={"temperature": 0.5})
        for _ in range(2):
            assert told(await asking.ask(asked))["text"] == "Done."
    first, again, later = endpoint.requests
    assert not is_right(first)
    assert is_right(again)
    assert is_right(later) == (case not in OF_ONE_CONVERSATION)


@pytest.mark.parametrize("is_budget", [True, False])
async def test_a_turn_that_began_without_thinking_goes_on_without_where_it_has_to(
    asking: Asking, is_budget: bool
) -> None:
    made = called("a")
    talk = (UserMessage(text="Go."), AssistantMessage(calls=made), *results(made))
    nudge = UserMessage(text="Keep to the plan.", origin="recitation")
    model = OLD if is_budget else NEW
    _, endpoint = await ask(
        asking, DONE, model=model, messages=(*talk, nudge), reasoning_effort="low"
    )
    assert ("thinking" in endpoint.requests[0]) != is_budget
    later = (*talk, AssistantMessage(text="Done."), UserMessage(text="And now this."))
    _, endpoint = await ask(asking, DONE, model=model, messages=later, reasoning_effort="low")
    assert "thinking" in endpoint.requests[0]


@pytest.mark.parametrize("model", [OLD, NEW])
async def test_what_a_command_called_first_does_not_switch_thinking_off(
    asking: Asking, model: str
) -> None:
    first = called("first_trn_1_0", "first_trn_1_1")
    later = (ToolCall(id="cal_9", provider_id="toolu_9", tool="read", arguments_json="{}"),)
    kept = KEPT.model_copy(update={"message": {"blocks": [THOUGHT]}})
    talk = (
        UserMessage(text="Review: `ls` (called first)."),
        AssistantMessage(calls=first),
        *results(first),
        AssistantMessage(calls=later, provider_data=kept),
        *results(later),
    )
    bodies: list[dict[str, Any]] = []
    for messages in (talk[:-2], talk):
        _, endpoint = await ask(
            asking, DONE, model=model, messages=messages, reasoning_effort="low"
        )
        bodies += endpoint.requests
    assert all("thinking" in body for body in bodies)
    kinds = [
        [block["type"] for block in one["content"] if one["role"] == "assistant"]
        for one in bodies[1]["messages"]
    ]
    if model == NEW:
        assert kinds == [[], ["tool_use", "tool_use"], [], ["thinking", "tool_use"], []]
    else:
        # With a budget, Claude refuses calls that no thinking precedes.
        assert kinds == [[], ["thinking", "tool_use"], []]
        texts = [one["text"] for one in bodies[0]["messages"][0]["content"]]
        said = '(The command called shop/read {"n": 1}. The result:)\ndid'
        assert texts == [talk[0].text, said, said]


BASES = ["", "/", "/v1", "/v1/", "/v1/messages"]


@pytest.mark.parametrize("tail", BASES)
async def test_an_address_may_end_where_people_end_it(asking: Asking, tail: str) -> None:
    async with faulty(0, [DONE]) as endpoint:
        asking.env["ANTHROPIC_API_BASE"] = f"{endpoint.url}/gateway{tail}"
        await asking.ask(request(model=NEW))
    assert endpoint.paths == ["/gateway/v1/messages"]


MESSAGE = {
    "type": "message",
    "content": [
        {"type": "thinking", "thinking": "Hm.", "signature": "s"},
        {"type": "text", "text": "Ok."},
        {"type": "tool_use", "id": "t1", "name": "read_file", "input": {"path": "a"}},
    ],
    "stop_reason": "tool_use",
    "usage": {"input_tokens": 9, "output_tokens": 3},
}
CALLED = [("t1", "read_file", '{"path": "a"}')]
ODD: dict[str, tuple[Play, dict[str, object]]] = {
    "one body instead of a stream": (
        sends(whole(200, json.dumps(MESSAGE))),
        {"text": "Ok.", "thinking": "Hm.", "calls": CALLED, "finish": FinishReason.TOOL_CALLS},
    ),
    "blocks whole at their beginning": (
        stream(
            begun(0, "text", text="Ok."),
            ended(0),
            begun(1, "tool_use", id="t1", name="read_file", input={"path": "a"}),
            ended(1),
            stopped("tool_use"),
        ),
        {"text": "Ok.", "thinking": "", "calls": CALLED, "finish": FinishReason.TOOL_CALLS},
    ),
    "arguments in pieces, and an empty one first": (
        stream(
            begun(0, "tool_use", id="t1", name="read_file", input={}),
            *(piece(0, "input_json_delta", partial_json=one) for one in ("", '{"path": ', '"a"}')),
            ended(0),
            stopped("tool_use"),
        ),
        {"text": "", "thinking": "", "calls": CALLED, "finish": FinishReason.TOOL_CALLS},
    ),
    "no arguments at all": (
        stream(
            begun(0, "tool_use", id="t1", name="read_file", input={}),
            ended(0),
            begun(1, "tool_use", id="t2", name="read_file", input={}),
            piece(1, "input_json_delta", partial_json=""),
            ended(1),
            stopped("tool_use"),
        ),
        {
            "text": "",
            "thinking": "",
            "calls": [("t1", "read_file", "{}"), ("t2", "read_file", "{}")],
            "finish": FinishReason.TOOL_CALLS,
        },
    ),
    "pings, comments and events that nobody knows": (
        stream(
            b": keep-alive\n\n",
            event("ping"),
            event("content_block_bulge", index=0, weight=3),
            begun(0, "text", text=""),
            piece(0, "text_delta", text="Ok."),
            piece(0, "citations_delta", citation={}),
            ended(0),
            stopped("end_turn"),
        ),
        {"text": "Ok.", "thinking": "", "calls": [], "finish": FinishReason.STOP},
    ),
    "an end mark of another provider's": (
        stream(
            begun(0, "text", text="Ok."),
            ended(0),
            event("message_delta", delta={"stop_reason": "end_turn"}, usage={}),
            data("[DONE]"),
        ),
        {"text": "Ok.", "thinking": "", "calls": [], "finish": FinishReason.STOP},
    ),
    "an end without its reason": (
        stream(begun(0, "text", text="Ok."), ended(0), event("message_stop")),
        {"text": "Ok.", "thinking": "", "calls": [], "finish": FinishReason.STOP},
    ),
    "a connection that stays open": (
        hangs(head(), begun(0, "text", text="Ok."), ended(0), stopped("end_turn")),
        {"text": "Ok.", "thinking": "", "calls": [], "finish": FinishReason.STOP},
    ),
    "the window is full": (
        stream(begun(0, "text", text="Ok."), ended(0), stopped("model_context_window_exceeded")),
        {"text": "Ok.", "thinking": "", "calls": [], "finish": FinishReason.LENGTH},
    ),
    "a block without its end": (
        stream(
            begun(0, "tool_use", id="t1", name="read_file", input={"path": "a"}),
            stopped("tool_use"),
        ),
        {"text": "", "thinking": "", "calls": CALLED, "finish": FinishReason.TOOL_CALLS},
    ),
    "a tool of the server's own": (
        stream(
            begun(0, "server_tool_use", id="s1", name="web_search", input={}),
            piece(0, "input_json_delta", partial_json='{"query": "x"}'),
            ended(0),
            begun(1, "text", text="Ok."),
            ended(1),
            stopped("end_turn"),
        ),
        {"text": "Ok.", "thinking": "", "calls": [], "finish": FinishReason.STOP},
    ),
    "arguments whole and again in pieces": (
        stream(
            begun(0, "tool_use", id="t1", name="read_file", input={"path": "a"}),
            piece(0, "input_json_delta", partial_json='{"path": "a"}'),
            ended(0),
            stopped("tool_use"),
        ),
        {"text": "", "thinking": "", "calls": CALLED, "finish": FinishReason.TOOL_CALLS},
    ),
    "it refuses": (
        stream(begun(0, "text", text="No."), ended(0), stopped("refusal")),
        {"text": "No.", "thinking": "", "calls": [], "finish": FinishReason.REFUSAL},
    ),
}


@pytest.mark.parametrize("case", ODD)
async def test_an_odd_answer_is_taken_for_what_it_is(asking: Asking, case: str) -> None:
    play, expected = ODD[case]
    events, _ = await ask(asking, play)
    found = told(events)
    calls = [(a, b, json.loads(c)) for a, b, c in found.pop("calls")]  # pyright: ignore
    wanted = {**expected}
    assert calls == [(a, b, json.loads(c)) for a, b, c in wanted.pop("calls")]  # pyright: ignore
    assert found == wanted


@pytest.mark.parametrize("arguments", ['{"path": "a', ""])
async def test_a_call_that_is_cut_off_is_told_apart(asking: Asking, arguments: str) -> None:
    play = stream(
        begun(0, "tool_use", id="t1", name="read_file", input={}),
        piece(0, "input_json_delta", partial_json=arguments),
        ended(0),
        stopped("max_tokens"),
    )
    events, _ = await ask(asking, play)
    assert told(events)["calls"] == []
    assert [one for one in events if isinstance(one, CallCut)] == [
        CallCut("t1", "read_file", arguments)
    ]


@pytest.mark.parametrize("is_late", [True, False])
async def test_tokens_are_counted_wherever_they_are_told(asking: Asking, is_late: bool) -> None:
    counts = {"input_tokens": 100, "cache_read_input_tokens": 800}
    counts["cache_creation_input_tokens"] = 100
    zeros = dict.fromkeys(counts, 0)
    start = event("message_start", message={"usage": zeros if is_late else counts})
    last = {**(counts if is_late else {}), "output_tokens": 50}
    play = sends(head(), start, begun(0, "text", text="Ok."), ended(0), stopped("end_turn", **last))
    events, _ = await ask(asking, play, model=OLD)
    end = events[-1]
    assert isinstance(end, StreamFinished)
    usage = end.usage
    assert (usage.input_tokens, usage.output_tokens) == (1_000, 50)
    assert (usage.cache_read_tokens, usage.cache_write_tokens) == (800, 100)


FLOODS: dict[str, Play] = {
    "blocks": stream(*(begun(n, "thinking", thinking="") for n in range(1_100))),
    "hidden thinking": stream(
        *(begun(n, "redacted_thinking", data="x" * 2**20) for n in range(17))
    ),
    "a signature": stream(
        begun(0, "thinking", thinking=""),
        *[piece(0, "signature_delta", signature="x" * 2**20)] * 17,
    ),
}


@pytest.mark.parametrize("case", FLOODS)
async def test_a_flood_is_broken_off(asking: Asking, case: str) -> None:
    with pytest.raises(ProviderError) as caught:
        await ask(asking, FLOODS[case])
    assert caught.value.failure is ProviderFailure.BROKEN_STREAM


async def test_arguments_arrive_while_they_are_written(asking: Asking) -> None:
    _, endpoint = await ask(asking, DONE, tools=(READ_FILE,))
    (tool,) = endpoint.requests[0]["tools"]
    assert tool["eager_input_streaming"] is True
    assert tool["input_schema"] == READ_FILE.parameters
    assert endpoint.requests[0]["tool_choice"] == {"type": "auto"}


async def test_what_a_journal_keeps_of_an_answer_is_small(asking: Asking) -> None:
    text = "Some words. " * 100
    play = stream(
        begun(0, "thinking", thinking="Hm.", signature="s"),
        ended(0),
        begun(1, "text", text=text),
        ended(1),
        begun(2, "tool_use", id="t1", name="read_file", input={"path": "a"}),
        ended(2),
        stopped("tool_use"),
    )
    events, _ = await ask(asking, play)
    end = events[-1]
    assert isinstance(end, StreamFinished)
    assert end.provider_data is not None
    kept: PlainJson = end.provider_data.message["blocks"]
    assert len(json.dumps(kept)) < 300
