"""Frames: what arrives damaged costs itself, never the next good message."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_ls.lsp.connection.frames import MAX_NESTING, Fault, FrameDecoder, Message, encode_frame

GOOD = {"jsonrpc": "2.0", "id": 7, "method": "still/here"}
LIMIT = 1000


def frame(value: object, *headers: bytes) -> bytes:
    body = json.dumps(value).encode()
    lines = headers or (b"Content-Length: %d" % len(body),)
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def check(stream: bytes, chunk_bytes: int = 1 << 20) -> tuple[list[object], list[str]]:
    """The values and the fault reasons that come out when `stream` arrives in such chunks."""
    decoder = FrameDecoder(max_frame_bytes=LIMIT)
    found: list[Message | Fault] = []
    for start in range(0, len(stream), chunk_bytes):
        found += decoder.feed(stream[start : start + chunk_bytes])
    values = [item.value for item in found if isinstance(item, Message)]
    return values, [item.reason for item in found if isinstance(item, Fault)]


BODY = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "x"}).encode()

ACCEPTED = {
    "plain": b"Content-Length: %d\r\n\r\n" % len(BODY),
    "lower-case": b"content-length: %d\r\n\r\n" % len(BODY),
    "shouted": b"CONTENT-LENGTH:%d\r\n\r\n" % len(BODY),
    "blanks": b"Content-Length \t:  %d \t\r\n\r\n" % len(BODY),
    "bare-line-feeds": b"Content-Length: %d\n\n" % len(BODY),
    "type-first": b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n"
    b"Content-Length: %d\r\n\r\n" % len(BODY),
    "type-last": b"Content-Length: %d\r\nContent-Type: a/b\r\n\r\n" % len(BODY),
    "doubled": b"Content-Length: %d\r\nContent-Length: %d\r\n\r\n" % (len(BODY), len(BODY)),
    "doubled-last-right": b"Content-Length: 3\r\nContent-Length: %d\r\n\r\n" % len(BODY),
    "leading-blank-lines": b"\r\n\r\nContent-Length: %d\r\n\r\n" % len(BODY),
}


@pytest.mark.parametrize("chunk_bytes", [1, 7, 1 << 20])
@pytest.mark.parametrize("header", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_a_header_in_any_harmless_spelling_is_accepted(header: bytes, chunk_bytes: int) -> None:
    values, faults = check(header + BODY + frame(GOOD), chunk_bytes)
    assert values == [json.loads(BODY), GOOD]
    assert faults == []


DAMAGED = {
    "no-length": (b"Content-Type: a/b\r\n\r\n" + BODY, "noise"),
    "no-header": (BODY, "noise"),
    "no-header-and-a-line-end": (BODY + b"\r\n", "noise"),
    "length-is-a-word": (b"Content-Length: many\r\n\r\n" + BODY, "noise"),
    "length-is-negative": (b"Content-Length: -5\r\n\r\n" + BODY, "noise"),
    "length-is-empty": (b"Content-Length:\r\n\r\n" + BODY, "noise"),
    "length-has-a-sign": (b"Content-Length: +5\r\n\r\n" + BODY, "noise"),
    "length-is-hexadecimal": (b"Content-Length: 0x20\r\n\r\n" + BODY, "noise"),
    "length-is-zero": (b"Content-Length: 0\r\n\r\n" + BODY, "not JSON"),
    "length-too-small": (b"Content-Length: 9\r\n\r\n" + BODY, "not JSON"),
    "length-one-too-small": (
        b"Content-Length: %d\r\n\r\n" % (len(BODY) - 1) + BODY,
        "not JSON",
    ),
    "length-over-the-limit": (b"Content-Length: 1001\r\n\r\n" + BODY, "more than 1000 bytes"),
    "length-absurd": (b"Content-Length: 999999999999\r\n\r\n" + BODY, "more than 1000 bytes"),
    "length-of-a-thousand-digits": (
        b"Content-Length: " + b"9" * 1000 + b"\r\n\r\n" + BODY,
        "more than 1000 bytes",
    ),
    "oversized-body-that-really-comes": (frame("x" * 30_000), "more than 1000 bytes"),
    "oversized-body-with-line-ends": (
        b"Content-Length: 20000\r\n\r\n" + b"ab\r\n\r\n" * 3333 + b"cd",
        "more than 1000 bytes",
    ),
    "bad-utf8": (b'Content-Length: 4\r\n\r\n"\xff\xfe"', "not UTF-8"),
    "byte-order-mark": (b"Content-Length: 5\r\n\r\n\xef\xbb\xbf{}", "not JSON"),
    "utf16": (
        b"Content-Length: 18\r\n\r\n" + json.dumps({"a": 10}).encode("utf-16-le"),
        "not JSON",
    ),
    "broken-json": (b"Content-Length: 5\r\n\r\n{'a':", "not JSON"),
    "not-a-number": (frame(float("nan")), "NaN is not JSON"),
    "infinity": (frame(float("-inf")), "-Infinity is not JSON"),
    "integer-of-6000-digits-in-a-row": (
        b"Content-Length: 990\r\n\r\n" + b"[" + b"1" * 988,
        "not JSON",
    ),
    "raw-line-end-in-a-string": (b'Content-Length: 6\r\n\r\n"a\r\nb"', "not JSON"),
    "nested-too-deep": (
        b"Content-Length: 600\r\n\r\n" + b"[" * 300 + b"]" * 300,
        f"deeper than {MAX_NESTING}",
    ),
    "nested-too-deep-and-never-closed": (
        b"Content-Length: 1000\r\n\r\n" + b'{"a":' * 200,
        "not JSON",
    ),
    "header-cut": (b"Content-Len", "noise"),
    "header-cut-in-the-length": (b"Content-Length: 1", "noise"),
    "text-from-a-print": (b"hello, I am a banner\n", "noise"),
    "long-noise-without-a-line-end": (b"\x00" * 20_000, "noise"),
    "long-noise-with-line-ends": (b"no\n" * 20_000, "noise"),
}


@pytest.mark.parametrize("chunk_bytes", [1, 13, 1 << 20])
@pytest.mark.parametrize(("damage", "reason"), DAMAGED.values(), ids=DAMAGED.keys())
def test_after_one_damaged_message_the_next_good_one_arrives(
    damage: bytes, reason: str, chunk_bytes: int
) -> None:
    values, faults = check(frame("before") + damage + frame(GOOD) + frame("after"), chunk_bytes)
    assert values == ["before", GOOD, "after"]
    assert reason in faults[0]
    assert faults[1:] in ([], ["noise between two messages"])


@pytest.mark.parametrize("surplus", range(1, 60))
@pytest.mark.parametrize("chunk_bytes", [1, 7, 1 << 20])
def test_a_length_that_reaches_into_the_next_frame_costs_its_own_message_alone(
    surplus: int, chunk_bytes: int
) -> None:
    stream = b"Content-Length: %d\r\n\r\n" % (len(BODY) + surplus) + BODY + frame(GOOD)
    values, _ = check(stream, chunk_bytes)
    assert values[-1] == GOOD
    assert values[:-1] in ([], [json.loads(BODY)])


def test_a_body_that_waits_for_more_is_not_given_up() -> None:
    decoder = FrameDecoder()
    whole = frame({"text": "line\r\n\r\nContent-Length: 5\r\n\r\nline"})
    assert decoder.feed(whole[:-1]) == []
    assert decoder.feed(whole[-1:]) == [Message(json.loads(whole.split(b"\r\n\r\n", 1)[1]))]


def test_a_message_with_bad_bytes_still_tells_its_id() -> None:
    body = b'{"jsonrpc":"2.0","id":41,"method":"\xff"}'
    [fault] = FrameDecoder().feed(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    assert isinstance(fault, Fault)
    assert isinstance(fault.value, dict)
    assert fault.value["id"] == 41


def test_strings_full_of_brackets_are_not_nesting() -> None:
    value = {"text": "[" * 300 + '\\"{' * 50}
    values, faults = check(frame(value))
    assert (values, faults) == ([value], [])


def test_every_bad_body_with_its_own_header_is_reported() -> None:
    _, faults = check(b"Content-Length: 3\r\n\r\n{{{" * 4)
    assert len(faults) == 4


def test_memory_stays_small_while_an_oversized_body_is_skipped() -> None:
    decoder = FrameDecoder(max_frame_bytes=LIMIT)
    decoder.feed(b"Content-Length: 50000000\r\n\r\n")
    for _ in range(500):
        decoder.feed(b"x" * 100_000)
        assert len(decoder._buffer) < 1000
    assert decoder.feed(frame(GOOD)) == [Message(GOOD)]


def test_what_is_encoded_can_be_decoded() -> None:
    value = {"text": "ünï \U0001f600 \ud800 \r\n"}
    assert FrameDecoder().feed(encode_frame(json.dumps(value))) == [Message(value)]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
noise = st.one_of(
    st.binary(max_size=80),
    st.sampled_from(
        [
            b"Content-Length: 7",
            b"Content-Length: 30\r\n",
            b"Content-Length: 30\r\n\r\n",
            b"Content-Length: 2000\r\n\r\n",
            b"content-",
            b"Content-Type: text\r\n",
            b"\r\n",
            b"\r\n\r\n",
            b'{"jsonrpc":"2.0"}',
            b"[[[[",
            b'"',
            b"\\",
        ]
    ),
)


@settings(max_examples=150, deadline=None)
@given(
    parts=st.lists(st.tuples(st.lists(noise, max_size=4), json_values), min_size=1, max_size=5),
    chunk_bytes=st.integers(1, 200),
)
def test_random_noise_between_good_frames_costs_none_of_them(
    parts: list[tuple[list[bytes], object]], chunk_bytes: int
) -> None:
    sent = [
        (b"".join(noises), {"number": number, "value": value})
        for number, (noises, value) in enumerate(parts)
        if len(json.dumps(value)) < LIMIT - 50
    ]
    stream = b"".join(noises + frame(value) for noises, value in sent)
    good = [value for _, value in sent]
    values, _ = check(stream, chunk_bytes)
    assert [value for value in values if value in good] == good
