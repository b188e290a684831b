"""Frames: a damaged body costs itself, a damaged header ends the stream."""

from __future__ import annotations

import json

import pytest

from agent_ls.lsp.connection.frames import MAX_NESTING, Fault, FrameDecoder, Message, encode_frame

GOOD = {"jsonrpc": "2.0", "id": 7, "method": "still/here"}
LIMIT = 1000


def frame(value: object) -> bytes:
    body = json.dumps(value).encode()
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def check(stream: bytes, chunk_bytes: int = 1 << 20) -> tuple[list[object], list[Fault]]:
    """The values and the faults that come out when `stream` arrives in such chunks."""
    decoder = FrameDecoder(max_frame_bytes=LIMIT)
    found: list[Message | Fault] = []
    for start in range(0, len(stream), chunk_bytes):
        found += decoder.feed(stream[start : start + chunk_bytes])
    values = [item.value for item in found if isinstance(item, Message)]
    return values, [item for item in found if isinstance(item, Fault)]


BODY = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "x"}).encode()


@pytest.mark.parametrize("chunk_bytes", [1, 7, 1 << 20])
@pytest.mark.parametrize(
    "header",
    [
        b"Content-Length: %d\r\n\r\n",
        b"content-length: %d\r\n\r\n",
        b"Content-Length \t:  %d \t\r\n\r\n",
        b"Content-Length: %d\n\n",
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: %d\r\n\r\n",
        b"Content-Length: %d\r\nContent-Type: a/b\r\n\r\n",
    ],
)
def test_a_header_in_any_harmless_spelling_is_accepted(header: bytes, chunk_bytes: int) -> None:
    assert check(header % len(BODY) + BODY + frame(GOOD), chunk_bytes) == (
        [json.loads(BODY), GOOD],
        [],
    )


@pytest.mark.parametrize("chunk_bytes", [1, 13, 1 << 20])
@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (b"Content-Length: 0\r\n\r\n", "not JSON"),
        (b"Content-Length: 1001\r\n\r\n" + b"x" * 1001, "more than 1000 bytes"),
        (b'Content-Length: 4\r\n\r\n"\xff\xfe"', "not UTF-8"),
        (b"Content-Length: 5\r\n\r\n\xef\xbb\xbf{}", "not JSON"),
        (b"Content-Length: 5\r\n\r\n{'a':", "not JSON"),
        (frame(float("nan")), "NaN is not JSON"),
        (frame(float("-inf")), "-Infinity is not JSON"),
        (b"Content-Length: 600\r\n\r\n" + b"[" * 300 + b"]" * 300, f"deeper than {MAX_NESTING}"),
        (b"Content-Length: 1000\r\n\r\n" + b'{"a":' * 200, "not JSON"),
    ],
)
def test_after_a_damaged_body_the_next_message_arrives(
    damage: bytes, reason: str, chunk_bytes: int
) -> None:
    values, faults = check(frame("before") + damage + frame(GOOD), chunk_bytes)
    assert values == ["before", GOOD]
    (fault,) = faults
    assert reason in fault.reason
    assert not fault.is_end


@pytest.mark.parametrize("chunk_bytes", [1, 13, 1 << 20])
@pytest.mark.parametrize(
    "damage",
    [
        b"Content-Type: a/b\r\n\r\n",
        b"Content-Length: many\r\n\r\n",
        b"Content-Length: -5\r\n\r\n",
        b"Content-Length:\r\n\r\n",
        b"Content-Length: 0x20\r\n\r\n",
        b"Content-Length: " + b"9" * 1000 + b"\r\n\r\n",
        b"hello, I am a banner\n\n",
        b"\x00" * 20_000,
        b"no\n" * 20_000,
    ],
)
def test_a_damaged_header_ends_the_stream(damage: bytes, chunk_bytes: int) -> None:
    values, faults = check(frame("before") + damage + frame(GOOD), chunk_bytes)
    assert values == ["before"]
    (fault,) = faults
    assert fault.is_end


def test_a_message_with_bad_bytes_still_tells_its_id() -> None:
    body = b'{"jsonrpc":"2.0","id":41,"method":"\xff"}'
    [fault] = FrameDecoder().feed(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    assert isinstance(fault, Fault)
    assert isinstance(fault.value, dict)
    assert fault.value["id"] == 41


def test_strings_full_of_brackets_are_not_nesting() -> None:
    value = {"text": "[" * 300 + '\\"{' * 50}
    assert check(frame(value)) == ([value], [])


def test_memory_stays_small_while_a_body_that_is_too_long_is_skipped() -> None:
    decoder = FrameDecoder(max_frame_bytes=LIMIT)
    decoder.feed(b"Content-Length: 50000000\r\n\r\n")
    for _ in range(500):
        decoder.feed(b"x" * 100_000)
        assert len(decoder._buffer) < 1000
    assert decoder.feed(frame(GOOD)) == [Message(GOOD)]


def test_what_is_encoded_can_be_decoded() -> None:
    value = {"text": "ünï \U0001f600 \ud800 \r\n"}
    assert FrameDecoder().feed(encode_frame(json.dumps(value))) == [Message(value)]
