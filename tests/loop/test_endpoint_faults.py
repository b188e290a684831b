"""Every fault an endpoint can have ends in a defined state, and no tool runs from a broken stream.

Each row is what the endpoint sends to the first request, byte by byte; later requests get a good
answer. The turn goes through the real model host.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from agent_ls.domain.events import AttemptFinished, RecoveryChosen, ToolCallStarted
from agent_ls.domain.stops import StopReason
from agent_ls.providers.model_host import ModelHost, ModelHostOptions
from tests.support.faulty import (
    Play,
    called,
    chunk,
    data,
    drips,
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
from tests.support.turns import open_test_sessions, run_turn_of

pytestmark = pytest.mark.heavy

_SETTINGS = """
mode = "auto"
policies.transport.tries = 3
policies.transport.first_wait_s = 0.01
policies.transport.max_retry_after_s = 0.02
policies.transport.jitter = 0.0
"""
_WRITE = json.dumps({"path": "touched.txt", "content": "x\n"})


@dataclass(frozen=True)
class Ends:
    """How the turn must end after the fault."""

    stop: StopReason = StopReason.COMPLETED
    output: str | None = "Fine."
    failure: str | None = None
    """Of the first attempt; None: it is accepted, or asked again for another reason."""
    action: str | None = None
    """What the first recovery did."""
    requests: int = 2
    says: str = ""
    """A piece of what the user is told."""
    runs: bool = False
    """Whether the call may run, because the stream was whole."""
    writes: bool = True
    """Whether the call that runs is the one that writes."""


def retried(failure: str) -> Ends:
    return Ends(failure=failure, action="retry")


def reasked() -> Ends:
    return Ends(action="reask")


def accepted(output: str, **fields: object) -> Ends:
    return Ends(output=output, requests=1, **fields)  # type: ignore[arg-type]


def stopped(failure: str, says: str, stop: StopReason = StopReason.ERROR) -> Ends:
    return Ends(stop, output="", failure=failure, action="fail", requests=1, says=says)


async def check(play: Play, ends: Ends, folder: Path, host: ModelHost, port: int) -> None:
    """Run a turn against the fault and compare how it ended."""
    async with (
        faulty(port, [play]) as endpoint,
        open_test_sessions(folder, host, settings_toml=_SETTINGS) as sessions,
    ):
        session = await sessions.create()
        ended, events = await run_turn_of(session, "Say that it is fine.")
    attempts = [one for one in events if isinstance(one, AttemptFinished)]
    chosen = [one.action for one in events if isinstance(one, RecoveryChosen)]
    started = [one for one in events if isinstance(one, ToolCallStarted)]
    assert (attempts[0].failure, chosen[0] if chosen else None) == (ends.failure, ends.action)
    assert ended.stop is ends.stop, ended
    assert ends.says in ended.failure_reason
    if ends.output is not None:
        assert ended.output == ends.output
    # Beside them, a server that lacks the model is asked which ones it has.
    assert len([body for body in endpoint.requests if body]) == ends.requests
    assert bool(started) == ends.runs
    assert (folder / "touched.txt").exists() == (ends.runs and ends.writes)
    usage = attempts[0].usage
    assert min(usage.input_tokens, usage.output_tokens, usage.cache_read_tokens) >= 0


def _status(status: int, body: str = "", **fields: object) -> Play:
    return sends(whole(status, body or error(f"status {status}"), **fields))


_PAGE = "<!DOCTYPE html><html><head><title>Bad gateway</title></head><body>Oh.</body></html>"
_HALF = head() + said("I will write it. ") + called(_WRITE[:20])
_CALL = head() + called(_WRITE)

STATUSES = {
    "400-with-a-body": (_status(400), stopped("bad_request", "status 400")),
    "401-is-the-key": (_status(401), stopped("authentication", "doctor")),
    "404-is-an-unknown-model": (_status(404), stopped("unknown_model", "")),
    "429-is-waited-out": (_status(429), retried("rate_limited")),
    "429-for-want-of-credit": (
        _status(429, error("no money", code="insufficient_quota")),
        stopped("no_credit", "no money"),
    ),
    "500-is-tried-again": (_status(500), retried("server")),
    "502-as-a-web-page": (sends(whole(502, _PAGE, kind="text/html")), retried("server")),
    "503-is-overloaded": (_status(503), retried("overloaded")),
    "529-is-overloaded": (_status(529), retried("overloaded")),
    "a-content-filter-refuses": (
        _status(400, error("content filter", code="content_filter")),
        stopped("content_filter", "content filter", StopReason.REFUSAL),
    ),
    "an-overflow-that-cannot-shrink": (
        _status(400, error("too long", code="context_length_exceeded")),
        Ends(
            StopReason.CONTEXT_FULL, failure="context_overflow", action="compact", says="no longer"
        ),
    ),
    "a-redirect-is-not-followed": (
        _status(302, extra=["Location: http://127.0.0.1:1/elsewhere"]),
        stopped("bad_request", ""),
    ),
    "204-says-nothing": (
        sends(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"),
        retried("broken_stream"),
    ),
}

BODIES = {
    "a-json-body-instead-of-a-stream": (
        sends(
            whole(
                200,
                json.dumps(
                    {
                        "id": "1",
                        "object": "chat.completion",
                        "choices": [
                            {
                                "index": 0,
                                "message": {"role": "assistant", "content": "Whole."},
                                "finish_reason": "stop",
                            }
                        ],
                    }
                ),
            )
        ),
        accepted("Whole."),
    ),
    "a-web-page-with-status-200": (
        sends(whole(200, _PAGE, kind="text/html")),
        Ends(StopReason.ERROR, output="", failure="bad_request", action="fail", requests=1),
    ),
    "an-empty-body": (sends(whole(200, b"", kind="text/event-stream")), retried("broken_stream")),
    "only-the-end-mark": (sends(head() + data("[DONE]")), retried("broken_stream")),
    "an-error-object-with-status-200": (
        sends(whole(200, error("we are down", code=500))),
        retried("server"),
    ),
    "an-error-event-in-the-middle-of-a-call": (
        sends(_CALL + data({"error": {"message": "down", "code": 500}})),
        retried("server"),
    ),
    "json-that-is-no-answer": (
        sends(whole(200, '{"hello": 1}')),
        stopped("bad_request", "instead of a model's answer"),
    ),
}

CUTS = {
    "closed-without-a-word": (sends(), retried("broken_stream")),
    "reset-without-a-word": (resets(), retried("broken_stream")),
    "closed-in-the-text": (sends(head() + said("I wi")), retried("broken_stream")),
    "closed-in-a-character": (
        sends(head() + said("ok") + 'data: {"choices":[{"delta":{"content":"ä'.encode()[:-1]),
        retried("broken_stream"),
    ),
    "closed-in-a-call": (sends(_HALF), retried("broken_stream")),
    "reset-after-a-whole-call": (resets(_CALL), retried("broken_stream")),
    "shorter-than-it-said": (
        sends(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 99999\r\n\r\n"
            + called(_WRITE)
        ),
        retried("broken_stream"),
    ),
    "closed-before-the-end-mark": (
        sends(head() + said("Whole.") + data(chunk({}, "stop"))),
        accepted("Whole."),
    ),
}

_CHUNKED = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"
    b"Connection: close\r\n\r\n"
)


def _sized(part: bytes) -> bytes:
    return f"{len(part):x}\r\n".encode() + part + b"\r\n"


TRANSPORT = {
    "a-status-line-of-nonsense": (sends(b"HTTP/1.1 banana\r\n\r\n"), retried("broken_stream")),
    "a-chunk-size-of-nonsense": (
        sends(_CHUNKED + _sized(called(_WRITE)) + b"zz\r\nno\r\n"),
        retried("broken_stream"),
    ),
    "no-last-chunk": (sends(_CHUNKED + _sized(called(_WRITE))), retried("broken_stream")),
    "chunks-that-split-every-character": (
        sends(
            _CHUNKED,
            *(_sized(bytes([one])) for one in said("Grüße 🎉 日本") + end()),
            b"0\r\n\r\n",
        ),
        accepted("Grüße 🎉 日本"),
    ),
    "silence-after-the-end-mark": (hangs(head() + said("Whole.") + end()), accepted("Whole.")),
}

SILENCES = {
    "slow-headers": (hangs(), stopped("timeout", "took too long")),
    "silence-in-a-call": (hangs(_HALF), stopped("timeout", "took too long")),
    "silence-after-a-whole-call": (hangs(_CALL), stopped("timeout", "took too long")),
    "silence-before-the-end-mark": (
        hangs(head() + said("Whole.") + data(chunk({}, "stop"))),
        stopped("timeout", "took too long"),
    ),
}

# What keeps a connection alive and is no part of an answer.
_NOTHINGS = {
    "roles": data(chunk({"role": "assistant"})),
    "empty-contents": data(chunk({"content": ""})),
    "blanks": data(chunk({"content": " \n\t"})),
    "blank-thoughts": data(chunk({"reasoning_content": "\n"})),
    "empty-deltas": data(chunk({})),
    "usage": data({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 1}}),
    "comments": b": ping\n\n",
}
_A_WORD = said("I wi") + called(_WRITE[:20])
DRIPS = {
    **{f"nothing-but-{name}": drips(head(), drop=drop) for name, drop in _NOTHINGS.items()},
    "comments-after-a-word": drips(head(), _A_WORD, drop=_NOTHINGS["comments"]),
    "blanks-in-arguments": drips(head(), _A_WORD, drop=called(" \n", name=None, id=None)),
}


EVENTS = {
    "comments-between-events": (
        sends(head() + b": ping\n\n" + said("Whole.") + b": ping\n\n" + end()),
        accepted("Whole."),
    ),
    "windows-line-ends": (
        sends(head() + (said("Whole.") + end()).replace(b"\n", b"\r\n")),
        accepted("Whole."),
    ),
    "an-event-that-is-no-json": (
        sends(head() + said("I wi") + data('{"choices": [') + called(_WRITE) + end("tool_calls")),
        retried("broken_stream"),
    ),
    "no-choices": (
        sends(head() + data({"id": "1"}) + data({"choices": None}) + said("Whole.") + end()),
        accepted("Whole."),
    ),
    "a-choice-that-is-null": (
        sends(head() + data({"choices": [None]}) + said("Whole.") + end()),
        accepted("Whole."),
    ),
    "a-second-choice": (
        sends(head() + said("Whole.") + data(chunk({"content": "Other."}, index=1)) + end()),
        accepted("Whole."),
    ),
    "half-a-character-escaped": (
        sends(head() + data('{"choices":[{"delta":{"content":"a\\ud83d"}}]}') + end()),
        accepted("a"),
    ),
    "a-huge-event": (sends(head() + said("x" * 5_000_000) + end()), accepted("x" * 5_000_000)),
    "usage-below-nought": (
        sends(head() + said("Whole.") + end(usage={"prompt_tokens": -5, "completion_tokens": -1})),
        accepted("Whole."),
    ),
    "no-finish-reason": (sends(head() + said("Whole.") + data("[DONE]")), accepted("Whole.")),
    "no-finish-reason-and-no-end-mark": (sends(head() + said("Whole.")), retried("broken_stream")),
    "no-finish-reason-in-half-a-call": (
        sends(_HALF + data("[DONE]")),
        retried("broken_stream"),
    ),
    "an-unknown-finish-reason": (sends(head() + said("Whole.") + end("eos")), accepted("Whole.")),
    "the-providers-own-error-finish": (
        sends(_CALL + end("error")),
        Ends(failure=None, action="retry"),
    ),
    "a-refusal-by-the-filter": (
        sends(_CALL + end("content_filter")),
        Ends(StopReason.REFUSAL, "", None, "fail", 1, "filter"),
    ),
    "an-empty-answer": (sends(head() + end()), reasked()),
    "thinking-alone": (
        sends(head() + data(chunk({"reasoning_content": "Hm."})) + end()),
        reasked(),
    ),
}

CALLS = {
    "a-good-call-runs": (
        sends(_CALL + end("tool_calls")),
        Ends(runs=True),
    ),
    "a-call-without-an-index-runs": (
        sends(head() + called(_WRITE, index=None) + end("tool_calls")),
        Ends(runs=True),
    ),
    "arguments-as-an-object": (
        sends(head() + called({"path": "touched.txt", "content": "x\n"}) + end("tool_calls")),
        Ends(runs=True),
    ),
    "arguments-that-are-null": (
        sends(head() + called(None, name="list_dir") + end("tool_calls")),
        Ends(runs=True, writes=False),
    ),
    "arguments-that-never-close": (
        sends(head() + called(_WRITE[:-1]) + end("tool_calls")),
        Ends(),
    ),
    "arguments-cut-by-the-output-limit": (
        sends(head() + called(_WRITE[:20]) + end("length")),
        reasked(),
    ),
    "arguments-that-are-no-json": (
        sends(head() + called("path=touched.txt") + end("tool_calls")),
        Ends(),
    ),
    "arguments-with-something-behind": (
        sends(head() + called(_WRITE + "}") + end("tool_calls")),
        Ends(),
    ),
    "a-call-of-an-unknown-tool": (
        sends(head() + called(_WRITE, name="erase_disk") + end("tool_calls")),
        Ends(),
    ),
    "two-calls-under-one-index": (
        sends(
            head()
            + called(_WRITE)
            + called(_WRITE.replace("touched", "other"), id="call_2")
            + end("tool_calls")
        ),
        Ends(runs=True),
    ),
}


@pytest.fixture(scope="module")
def impatient_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def impatient(impatient_port: int) -> AsyncIterator[ModelHost]:
    """A model host that does not wait long."""
    options = ModelHostOptions(
        api_base=f"http://127.0.0.1:{impatient_port}/v1", first_chunk_s=3.0, idle_s=1.0
    )
    host = ModelHost(options, env={})
    await host.start()
    yield host
    await host.close()


ROWS = {**STATUSES, **BODIES, **CUTS, **TRANSPORT, **EVENTS, **CALLS}


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("play, ends", ROWS.values(), ids=ROWS.keys())
async def test_a_fault_ends_in_a_defined_state_and_runs_nothing_broken(
    play: Play, ends: Ends, tmp_path: Path, model_host: ModelHost, model_port: int
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    await check(play, ends, folder, model_host, model_port)


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("play, ends", SILENCES.values(), ids=SILENCES.keys())
async def test_a_silence_is_waited_for_once_and_ends_the_turn_with_a_sentence(
    play: Play, ends: Ends, tmp_path: Path, impatient: ModelHost, impatient_port: int
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    await check(play, ends, folder, impatient, impatient_port)


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("play", DRIPS.values(), ids=DRIPS.keys())
async def test_a_server_that_pings_has_the_time_of_the_step(
    play: Play, tmp_path: Path, impatient: ModelHost, impatient_port: int
) -> None:
    """A local server may ping for minutes before a large answer."""
    folder = tmp_path / "project"
    folder.mkdir()
    settings = f"{_SETTINGS}loop.step_timeout_s = 4.0\n"
    async with (
        faulty(impatient_port, [play]),
        open_test_sessions(folder, impatient, settings_toml=settings) as sessions,
    ):
        session = await sessions.create()
        ended, events = await run_turn_of(session, "Say that it is fine.")
    assert ended.stop is StopReason.TIMEOUT, ended
    assert "loop.step_timeout_s" in ended.failure_reason
    assert not [one for one in events if isinstance(one, ToolCallStarted)]
    assert not (folder / "touched.txt").exists()


@pytest.mark.asyncio(loop_scope="session")
async def test_an_answer_after_many_pings_counts(
    tmp_path: Path, impatient: ModelHost, impatient_port: int
) -> None:
    async def pings_and_answers(writer: asyncio.StreamWriter) -> None:
        writer.write(head())
        for _ in range(40):
            writer.write(b": ping\n\n")
            await writer.drain()
            await asyncio.sleep(0.1)
        writer.write(said("Whole.") + end())
        await writer.drain()

    folder = tmp_path / "project"
    folder.mkdir()
    await check(pings_and_answers, accepted("Whole."), folder, impatient, impatient_port)
