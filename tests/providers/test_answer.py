"""Tool calls put together from pieces, in whatever way providers tear them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from agent_ls.domain.model_io import (
    CallClosed,
    CallCut,
    FinishReason,
    ModelEvent,
    ReasoningDelta,
    StreamFinished,
    TextDelta,
)
from agent_ls.providers.answer import Answer, MalformedAnswer
from agent_ls.providers.chat_stream import ChatChunks
from agent_ls.providers.dialects import dialect_of

DIALECT = dialect_of("openai", "", "m")

Piece = tuple[str, int | None, str, str]
"""Id, index, name, arguments of one delta."""


def check(pieces: Iterable[Piece], finish: str | None = "tool_calls") -> list[ModelEvent]:
    """Feed pieces of calls and return all events but the last, ``StreamFinished``."""
    answer = Answer("m")
    events = [event for piece in pieces for event in answer.call(*piece)]
    if finish is not None:
        answer.finish(finish)
    *rest, last = [*events, *answer.end(40)]
    assert isinstance(last, StreamFinished)
    return rest


ARGUMENTS = '{"path": "a\\"}.py", "lines": [1, {"x": "\\\\"}]}'


@pytest.mark.parametrize("size", [1, 2, 3, 16, 4096])
def test_a_call_closes_when_the_next_begins(size: int) -> None:
    answer = Answer("m")
    events = list(answer.call("c1", 0, "read_file", ""))
    for at in range(0, len(ARGUMENTS), size):
        events += answer.call("", 0, "", ARGUMENTS[at : at + size])
    assert events == []
    assert list(answer.call("c2", 1, "grep", "")) == [CallClosed("c1", "read_file", ARGUMENTS)]


CASES: list[tuple[str, list[Piece], list[ModelEvent]]] = [
    (
        "pieces-are-told-apart-by-index",
        [
            ("a", 0, "f", ""),
            ("b", 1, "g", ""),
            ("", 0, "", "{"),
            ("", 1, "", '{"x": '),
            ("", 0, "", "}"),
            ("", 1, "", "1}"),
        ],
        [CallClosed("a", "f", "{}"), CallClosed("b", "g", '{"x": 1}')],
    ),
    (
        "calls-close-in-the-order-they-began",
        [("a", 0, "f", '{"x": '), ("b", 1, "g", "{}"), ("", 0, "", "1}")],
        [CallClosed("a", "f", '{"x": 1}'), CallClosed("b", "g", "{}")],
    ),
    (
        "different-ids-that-share-an-index-are-different-calls",
        [("a", 0, "f", '{"x": 1}'), ("b", 0, "g", '{"y": 2}')],
        [CallClosed("a", "f", '{"x": 1}'), CallClosed("b", "g", '{"y": 2}')],
    ),
    (
        "one-id-at-two-indexes-is-two-calls",
        [("a", 0, "f", '{"x": 1}'), ("a", 1, "f", '{"x": 2}')],
        [CallClosed("a", "f", '{"x": 1}'), CallClosed("a", "f", '{"x": 2}')],
    ),
    (
        "without-id-and-index-a-new-name-begins-a-new-call",
        [("", None, "f", '{"x": 1}'), ("", None, "f", '{"x": 2}')],
        [CallClosed("call_0", "f", '{"x": 1}'), CallClosed("call_1", "f", '{"x": 2}')],
    ),
    (
        "without-index-pieces-belong-to-the-newest",
        [("a", None, "f", ""), ("", None, "", "{}"), ("b", None, "g", ""), ("", None, "", "[]")],
        [CallClosed("a", "f", "{}"), CallClosed("b", "g", "[]")],
    ),
    (
        "id-and-name-repeated-with-each-piece-change-nothing",
        [("a", 0, "f", '{"x"'), ("a", 0, "f", ": 1"), ("a", 0, "f", "}")],
        [CallClosed("a", "f", '{"x": 1}')],
    ),
    (
        "a-name-in-pieces-is-joined",
        [("a", 0, "read", ""), ("", 0, "_file", ""), ("", 0, "", "{}")],
        [CallClosed("a", "read_file", "{}")],
    ),
    (
        "a-complete-call-sent-again-is-ignored",
        [("a", 0, "f", '{"x": '), ("", 0, "", "1}"), ("a", 0, "f", '{"x": 1}')],
        [CallClosed("a", "f", '{"x": 1}')],
    ),
    (
        "whole-arguments-sent-again-without-a-name-are-ignored",
        [("a", 0, "f", '{"x": '), ("", 0, "", "1}"), ("", 0, "", '{"x": 1}'), ("a", 0, "", "")],
        [CallClosed("a", "f", '{"x": 1}')],
    ),
    (
        "closed-arguments-sent-again-without-a-name-are-ignored",
        [("a", 0, "f", "{}"), ("b", 1, "g", "[]"), ("a", 0, "", " {}")],
        [CallClosed("a", "f", "{}"), CallClosed("b", "g", "[]")],
    ),
    (
        "blanks-around-the-arguments-are-no-text-after-the-end",
        [("a", 0, "f", " \n{}"), ("", 0, "", " \n"), ("b", 1, "g", "{}")],
        [CallClosed("a", "f", "{}"), CallClosed("b", "g", "{}")],
    ),
    (
        "a-call-without-arguments-closes-at-the-end",
        [("a", 0, "f", ""), ("b", 1, "g", "")],
        [CallClosed("a", "f", "{}"), CallClosed("b", "g", "{}")],
    ),
    (
        "text-that-is-no-object-is-passed-on",
        [("a", 0, "f", 'path = "{}"')],
        [CallClosed("a", "f", 'path = "{}"')],
    ),
    (
        "broken-json-is-passed-on",
        [("a", 0, "f", "{path: 1}"), ("b", 1, "g", '{"x": 1}{"x": 2}')],
        [CallClosed("a", "f", "{path: 1}"), CallClosed("b", "g", '{"x": 1}{"x": 2}')],
    ),
    ("a-call-needs-no-name", [("a", 0, "", "{}")], [CallClosed("a", "", "{}")]),
]


@pytest.mark.parametrize("pieces, events", [case[1:] for case in CASES], ids=[c[0] for c in CASES])
def test_pieces_find_their_call(pieces: list[Piece], events: list[ModelEvent]) -> None:
    assert check(pieces) == events


@pytest.mark.parametrize("text", ["", '{"x": "half a sen'])
def test_only_the_last_call_is_cut_when_the_answer_is(text: str) -> None:
    found = check([("a", 0, "f", "{path: 1}"), ("b", 1, "g", text)], finish="length")
    assert found == [CallClosed("a", "f", "{path: 1}"), CallCut("b", "g", text)]


def test_arguments_for_a_call_that_was_closed_break_the_stream() -> None:
    with pytest.raises(MalformedAnswer, match="went on after its end"):
        check([("a", 0, "f", "{}"), ("b", 1, "g", "{"), ("", 0, "", '{"x": 1}')])


def test_a_stream_without_finish_reason_did_not_end() -> None:
    with pytest.raises(MalformedAnswer, match="finish reason"):
        check([("a", 0, "f", "{}")], finish=None)


def test_more_calls_than_anyone_needs_break_the_stream() -> None:
    with pytest.raises(MalformedAnswer, match="1000 tool calls"):
        check((f"c{n}", n, "f", "{}") for n in range(1001))


def test_a_giant_answer_breaks_the_stream() -> None:
    with pytest.raises(MalformedAnswer, match="longer than"):
        check(("a", 0, "f", '{"' if n == 0 else "x" * 2**20) for n in range(20))


FINISHES = {
    "stop": FinishReason.STOP,
    "end_turn": FinishReason.STOP,
    "tool_calls": FinishReason.TOOL_CALLS,
    "length": FinishReason.LENGTH,
    "MAX_TOKENS": FinishReason.LENGTH,
    "content_filter": FinishReason.CONTENT_FILTER,
    "refusal": FinishReason.REFUSAL,
    "error": FinishReason.ERROR,
    "eureka": FinishReason.UNKNOWN,
}


@pytest.mark.parametrize("word, finish", FINISHES.items())
def test_finish_words_are_normalised(word: str, finish: FinishReason) -> None:
    answer = Answer("m")
    answer.finish(word)
    (last,) = answer.end(0)
    assert isinstance(last, StreamFinished)
    assert last.finish is finish


def delta(**fields: Any) -> dict[str, Any]:
    return {"choices": [{"delta": fields}]}


CHUNKS: list[tuple[str, list[Any], list[ModelEvent]]] = [
    ("text", [delta(content="a"), delta(content="b")], [TextDelta("a"), TextDelta("b")]),
    ("reasoning", [delta(reasoning_content="a")], [ReasoningDelta("a")]),
    ("reasoning-by-its-other-name", [delta(reasoning="a")], [ReasoningDelta("a")]),
    ("text-in-parts", [delta(content=[{"type": "text", "text": "a"}])], [TextDelta("a")]),
    (
        "thinking-in-parts",
        [delta(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "a"}]}])],
        [ReasoningDelta("a")],
    ),
    (
        "half-a-character-waits",
        [delta(content="a\ud83d"), delta(content="\ude00b")],
        [TextDelta("a"), TextDelta("😀b")],
    ),
    ("a-lone-half-is-replaced", [delta(content="a\ude00b")], [TextDelta("a\ufffdb")]),
    (
        "arguments-as-an-object",
        [
            delta(tool_calls=[{"id": "a", "function": {"name": "f", "arguments": {"x": 1}}}]),
            delta(tool_calls=[{"id": "b", "function": {"name": "g"}}]),
        ],
        [CallClosed("a", "f", '{"x": 1}')],
    ),
    (
        "shapes-nobody-expects",
        [
            {},
            {"choices": None},
            {"choices": "x"},
            {"choices": [3]},
            delta(content=7, tool_calls={"a": 1}, reasoning_content=[]),
            delta(tool_calls=[None, 4]),
            {"choices": [{"delta": None, "finish_reason": 3}], "usage": "many"},
        ],
        [],
    ),
]


@pytest.mark.parametrize(
    "chunks, events", [case[1:] for case in CHUNKS], ids=[c[0] for c in CHUNKS]
)
def test_chunks_are_read_for_what_they_hold(chunks: list[Any], events: list[ModelEvent]) -> None:
    answer = Answer("m")
    reader = ChatChunks(answer, DIALECT)
    found = [event for chunk in chunks for event in reader.take(chunk)]
    assert found == events


def test_a_refusal_is_text_with_another_finish() -> None:
    answer = Answer("m")
    events = list(ChatChunks(answer, DIALECT).take(delta(refusal="I will not.")))
    answer.finish("stop")
    (last,) = answer.end(0)
    assert events == [TextDelta("I will not.")]
    assert isinstance(last, StreamFinished)
    assert last.finish is FinishReason.REFUSAL


def test_usage_is_estimated_only_when_the_endpoint_reports_none() -> None:
    silent, talking = Answer("m"), Answer("m")
    list(silent.text("12345678"))
    list(ChatChunks(talking, DIALECT).take({"usage": {"prompt_tokens": 7, "completion_tokens": 3}}))
    for answer, expected in ((silent, (10, 2)), (talking, (7, 3))):
        answer.finish("stop")
        (last,) = answer.end(40)
        assert isinstance(last, StreamFinished)
        assert (last.usage.input_tokens, last.usage.output_tokens) == expected
