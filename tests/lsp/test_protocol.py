"""The protocol: every message gets its answer, and none takes the next one's away."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.support.raw_lsp import RawClient, raw_client

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.e2e]

SERVER = ("-m", "tests.support.echo_server")
URI = "file:///a.py"


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def client() -> AsyncIterator[RawClient]:
    """One initialized server for all tests that leave it as they found it."""
    async with raw_client(*SERVER) as client:
        await client.initialize()
        yield client
        assert await client.leave() == 0
        assert client.stray == b""


async def check(client: RawClient, message: Any) -> dict[str, Any]:
    """The answer to a message, after proving that the server still answers the next one."""
    start = len(client.received)
    client.send(message)
    assert (await client.ask("raw/echo", "still here"))["result"] == "still here"
    return await client.wait_for(
        lambda m: "method" not in m and m.get("result") != "still here", since=start
    )


def request(method: Any, params: Any = None, message_id: Any = "x", **more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": message_id, "method": method, "params": params, **more}


REFUSED = {
    "unknown-method": (request("no/such"), "x", -32601, "no/such"),
    "unknown-method-without-params": (
        {"jsonrpc": "2.0", "id": "x", "method": "no/such"},
        "x",
        -32601,
        "no/such",
    ),
    "wrong-params": (request("textDocument/hover", {"position": 5}), "x", -32602, "hover"),
    "missing-params": (request("textDocument/hover"), "x", -32602, "hover"),
    "params-of-another-kind": (request("textDocument/hover", [1, 2]), "x", -32602, "hover"),
    "custom-wrong-params": (
        request("agent/echo", {"nested": {"a-b": "many"}}),
        "x",
        -32602,
        "nested.a-b",
    ),
    "custom-params-of-another-kind": (request("agent/echo", "text"), "x", -32602, "agent/echo"),
    "initialize-again": (
        request("initialize", {"processId": None, "rootUri": None, "capabilities": {}}),
        "x",
        -32600,
        "already",
    ),
    "no-version": ({"id": "x", "method": "raw/echo"}, "x", -32600, "jsonrpc"),
    "other-version": (request("raw/echo", jsonrpc="1.0"), "x", -32600, "jsonrpc"),
    "method-is-a-number": (request(5), "x", -32600, "method"),
    "id-is-null": (request("raw/echo", message_id=None), None, -32600, "id"),
    "id-is-a-boolean": (request("raw/echo", message_id=True), None, -32600, "id"),
    "id-is-a-fraction": (request("raw/echo", message_id=1.5), None, -32600, "id"),
    "id-is-an-object": (request("raw/echo", message_id={}), None, -32600, "id"),
    "neither-method-nor-answer": ({"jsonrpc": "2.0", "id": "x"}, "x", -32600, "neither"),
    "empty-object": ({}, None, -32600, "neither"),
    "a-number": (5, None, -32600, "object"),
    "null": (None, None, -32600, "object"),
    "a-string": ("hello", None, -32600, "object"),
    "empty-batch": ([], None, -32600, "batches"),
    "batch-of-notifications": ([{"jsonrpc": "2.0", "method": "x"}], None, -32600, "batches"),
    "defect": (request("raw/fail"), "x", -32603, "KeyError"),
    "defect-in-a-synchronous-handler": (request("raw/failSync"), "x", -32603, "KeyError"),
    "coded-failure": (request("raw/fail", "coded"), "x", -32801, "said so"),
    "result-that-json-cannot-say": (request("raw/fail", "value"), "x", -32603, "JSON"),
    "result-of-an-unknown-kind": (request("raw/fail", "object"), "x", -32603, "cannot be sent"),
}


@pytest.mark.parametrize("message, message_id, code, word", REFUSED.values(), ids=REFUSED.keys())
async def test_what_cannot_be_done_is_refused_by_its_id(
    client: RawClient, message: Any, message_id: Any, code: int, word: str
) -> None:
    answer = await check(client, message)
    assert answer["id"] == message_id
    assert answer["error"]["code"] == code
    assert word in answer["error"]["message"]
    assert "Traceback" not in str(answer)
    assert "data" not in answer["error"]


async def test_a_batch_is_refused(client: RawClient) -> None:
    answer = await check(client, [request("raw/echo", message_id=n) for n in ("p", "q")])
    assert answer["error"]["code"] == -32600


ANSWERED = {
    "plain": (request("raw/echo", {"a": [1, None]}), {"a": [1, None]}),
    "null-params": (request("raw/echo"), None),
    "no-params": ({"jsonrpc": "2.0", "id": "x", "method": "raw/echo"}, None),
    "odd-keys": (
        request("raw/echo", {"class": 1, "a-b": 2, "_p": 3, "type_name": 4, "": 5}),
        {"class": 1, "a-b": 2, "_p": 3, "type_name": 4, "": 5},
    ),
    "nested-jsonrpc": (
        request("raw/echo", {"message": {"jsonrpc": "2.0", "id": 5, "method": "initialize"}}),
        {"message": {"jsonrpc": "2.0", "id": 5, "method": "initialize"}},
    ),
    "typed-without-params": (
        {"jsonrpc": "2.0", "id": "x", "method": "agent/echo"},
        {"text": "nothing", "class": "", "nested": {"jsonrpc": "", "type_name": "", "a-b": 0}},
    ),
    "typed-with-odd-keys": (
        request(
            "agent/echo",
            {"text": "t", "class": "c", "nested": {"jsonrpc": "2.0", "type_name": "n", "a-b": 7}},
        ),
        {"text": "t", "class": "c", "nested": {"jsonrpc": "2.0", "type_name": "n", "a-b": 7}},
    ),
    "astral-and-half-pairs": (request("raw/echo", "😀\ud800\u2028"), "😀\ud800\u2028"),
    "huge-numbers": (request("raw/echo", [10**300, 1e308, -0.0]), [10**300, 1e308, -0.0]),
    "deep-but-allowed": (request("raw/echo", [[[[[[]]]]]]), [[[[[[]]]]]]),
    "unknown-keys-in-known-params": (
        request(
            "textDocument/hover",
            {"textDocument": {"uri": URI}, "position": {"line": 3, "character": 0}, "new": 1},
        ),
        {"contents": "3"},
    ),
    "command": (
        request("workspace/executeCommand", {"command": "echo", "arguments": [{"a": 1}, None]}),
        ["echo", {"a": 1}, None],
    ),
    "zero-as-id": (request("raw/echo", 1, message_id=0), 1),
    "empty-string-as-id": (request("raw/echo", 1, message_id=""), 1),
    "large-id": (request("raw/echo", 1, message_id=2**60), 1),
}


@pytest.mark.parametrize("message, result", ANSWERED.values(), ids=ANSWERED.keys())
async def test_what_is_unusual_but_allowed_is_answered(
    client: RawClient, message: dict[str, Any], result: Any
) -> None:
    answer = await check(client, message)
    assert answer == {"jsonrpc": "2.0", "id": message["id"], "result": result}


NOT_ANSWERED = {
    "unknown-notification": {"jsonrpc": "2.0", "method": "no/such", "params": {}},
    "optional-notification": {"jsonrpc": "2.0", "method": "$/no/such"},
    "notification-with-wrong-params": {
        "jsonrpc": "2.0",
        "method": "$/setTrace",
        "params": {"value": 5},
    },
    "answer-to-no-question": {"jsonrpc": "2.0", "id": 999, "result": 1},
    "answer-with-a-strange-id": {"jsonrpc": "2.0", "id": [1], "result": 1},
    "error-to-no-question": {"jsonrpc": "2.0", "id": "x", "error": {"code": 1, "message": "m"}},
    "error-without-id": {"jsonrpc": "2.0", "id": None, "error": {"code": 1, "message": "m"}},
    "cancel-of-nothing": {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 77777}},
    "cancel-of-something-odd": {
        "jsonrpc": "2.0",
        "method": "$/cancelRequest",
        "params": {"id": {}},
    },
    "cancel-without-params": {"jsonrpc": "2.0", "method": "$/cancelRequest"},
    "open-without-params": {"jsonrpc": "2.0", "method": "textDocument/didOpen"},
    "change-without-document": {"jsonrpc": "2.0", "method": "textDocument/didChange", "params": {}},
}


@pytest.mark.parametrize("message", NOT_ANSWERED.values(), ids=NOT_ANSWERED.keys())
async def test_what_asks_for_nothing_gets_no_answer_and_does_no_harm(
    client: RawClient, message: dict[str, Any]
) -> None:
    start = len(client.received)
    client.send(message)
    assert (await client.ask("raw/echo", "still here"))["result"] == "still here"
    assert (await client.ask("agent/echo"))["result"]["text"] == "nothing"
    assert len(client.received) == start + 2


DAMAGED = {
    "no-length": b"Content-Type: x\r\n\r\n{}",
    "no-header": b'{"jsonrpc":"2.0","method":"x"}\r\n',
    "absurd-length": b"Content-Length: 999999999999999\r\n\r\n{}",
    "length-too-small": b'Content-Length: 5\r\n\r\n{"jsonrpc":"2.0","id":"d","method":"raw/echo"}',
    "bad-utf8": b'Content-Length: 4\r\n\r\n"\xff\xfe"',
    "too-deep": b"Content-Length: 100000\r\n\r\n" + b"[" * 50_000 + b"]" * 50_000,
    "not-json": b"Content-Length: 3\r\n\r\n{{{",
    "noise": b"\x00\x01\x02 a banner\r\n\r\n",
}


@pytest.mark.parametrize("damage", DAMAGED.values(), ids=DAMAGED.keys())
async def test_a_damaged_frame_is_reported_and_the_next_good_one_answered(
    client: RawClient, damage: bytes
) -> None:
    start = len(client.received)
    client.write(damage)
    assert (await client.ask("raw/echo", "still here"))["result"] == "still here"
    [report] = [m for m in client.received[start:] if m.get("id", 0) is None]
    assert report["error"]["code"] == -32700


async def test_a_frame_with_bad_bytes_is_refused_by_its_id(client: RawClient) -> None:
    body = b'{"jsonrpc":"2.0","id":"bytes","method":"\xff"}'
    client.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    assert (await client.answer("bytes"))["error"]["code"] == -32700


async def test_slow_requests_do_not_hold_up_others_and_end_when_cancelled(
    client: RawClient,
) -> None:
    slow = [client.start("raw/slow", "whole") for _ in range(20)]
    await client.asked("raw/started", len(client.of("raw/started")) + 20)
    assert (await client.ask("raw/echo", 1))["result"] == 1
    for message_id in slow:
        client.notify("$/cancelRequest", {"id": message_id})
    for message_id in slow:
        assert (await client.answer(message_id))["error"]["code"] == -32800


async def test_a_handler_that_ends_early_when_cancelled_sends_what_it_has(
    client: RawClient,
) -> None:
    before = len(client.of("raw/started"))
    message_id = client.start("raw/slow", "partial")
    await client.asked("raw/started", before + 1)
    client.notify("$/cancelRequest", {"id": message_id})
    assert (await client.answer(message_id))["result"] == "partial result"


async def test_cancelling_a_command_cancels_its_coroutine(client: RawClient) -> None:
    before = len(client.of("raw/started"))
    message_id = client.start("workspace/executeCommand", {"command": "slow"})
    await client.asked("raw/started", before + 1)
    client.notify("$/cancelRequest", {"id": message_id})
    assert (await client.answer(message_id))["error"]["code"] == -32800
    await client.asked("raw/commandCancelled")


async def test_an_id_in_use_is_refused_and_free_again_after_the_answer(client: RawClient) -> None:
    before = len(client.of("raw/started"))
    client.send(request("raw/slow", "partial", message_id="twice"))
    await client.asked("raw/started", before + 1)
    start = len(client.received)
    client.send(request("raw/echo", 1, message_id="twice"))
    refusal = await client.answer("twice")
    assert refusal["error"]["code"] == -32600
    client.notify("$/cancelRequest", {"id": "twice"})
    await client.wait_for(lambda m: m.get("result") == "partial result" and m["id"] == "twice")
    client.send(request("raw/echo", "third", message_id="twice"))
    await client.wait_for(lambda m: m.get("result") == "third" and m["id"] == "twice")
    assert len([m for m in client.received[start:] if m.get("id") == "twice"]) == 3


async def test_nothing_is_left_behind_by_thousands_of_messages(client: RawClient) -> None:
    for number in range(2000):
        client.notify("raw/echo", number)
        client.notify("no/such", number)
        client.notify("$/setTrace", {"value": "off"})
    for message_id in [client.start("raw/fail", number) for number in range(200)]:
        await client.answer(message_id)
    # The one request that counts is itself unanswered while it counts.
    assert (await client.ask("raw/leftovers"))["result"] == [0, 1, 0]


# Questions to the client.


async def question(client: RawClient, method: str, **more: Any) -> tuple[int, dict[str, Any]]:
    """Lets the server ask; answers the id to wait for and the question as it came."""
    before = len(client.of(method))
    message_id = client.start("raw/ask", {"method": method, **more})
    return message_id, await client.asked(method, before + 1)


def reply(to: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": to["id"], **more}


OUTCOMES: dict[str, tuple[str, dict[str, Any], Any]] = {
    "typed-result": (
        "window/showMessageRequest",
        {"result": {"title": "Yes"}},
        {"answer": {"title": "Yes"}},
    ),
    "null-result": ("window/showMessageRequest", {"result": None}, {"answer": None}),
    "dismissed-as-an-empty-object": (
        "window/showMessageRequest",
        {"result": {}},
        {"error": "ClientError"},
    ),
    "unknown-method": (
        "window/showMessageRequest",
        {"error": {"code": -32601, "message": "no"}},
        {"error": "ClientRefused"},
    ),
    "error-without-code": (
        "workspace/applyEdit",
        {"error": {"message": 5}},
        {"error": "ClientRefused"},
    ),
    "error-that-is-a-string": ("workspace/applyEdit", {"error": "no"}, {"error": "ClientRefused"}),
    "result-and-null-error": (
        "workspace/applyEdit",
        {"result": {"applied": True}, "error": None},
        {"answer": {"applied": True}},
    ),
    "custom-result": (
        "agent/save",
        {"result": {"a-b": 3}},
        {"answer": {"jsonrpc": "", "type_name": "", "a-b": 3}},
    ),
    "custom-result-of-another-shape": (
        "agent/save",
        {"result": {"a-b": []}},
        {"error": "ClientError"},
    ),
    "method-without-a-type": ("foreign/ask", {"result": [1]}, {"answer": [1]}),
}


@pytest.mark.parametrize("method, answer, outcome", OUTCOMES.values(), ids=OUTCOMES.keys())
async def test_an_answer_of_the_client_has_one_clear_outcome(
    client: RawClient, method: str, answer: dict[str, Any], outcome: dict[str, Any]
) -> None:
    message_id, asked = await question(client, method, params={"edit": {}, "message": "?"})
    client.send(reply(asked, **answer))
    result = (await client.answer(message_id))["result"]
    assert {key: result[key] for key in outcome} == outcome


async def test_a_question_without_an_answer_ends_in_time_and_is_taken_back(
    client: RawClient,
) -> None:
    message_id, asked = await question(client, "foreign/silent", timeout_s=0.05)
    result = (await client.answer(message_id))["result"]
    assert result["error"] == "ClientError"
    assert "foreign/silent" in result["text"]
    await client.wait_for(
        lambda m: m.get("method") == "$/cancelRequest" and m["params"]["id"] == asked["id"]
    )
    # Late, double and contradicting answers change nothing.
    client.send(reply(asked, result=1))
    client.send(reply(asked, error={"code": 1, "message": "m"}))
    assert (await client.ask("raw/leftovers"))["result"] == [0, 1, 0]


async def test_a_cancelled_handler_takes_its_question_back(client: RawClient) -> None:
    message_id, asked = await question(client, "foreign/silent")
    client.notify("$/cancelRequest", {"id": message_id})
    assert (await client.answer(message_id))["error"]["code"] == -32800
    await client.wait_for(
        lambda m: m.get("method") == "$/cancelRequest" and m["params"]["id"] == asked["id"]
    )
    client.send(reply(asked, result="late"))
    assert (await client.ask("raw/leftovers"))["result"] == [0, 1, 0]


async def test_an_answer_reaches_its_own_question_only(client: RawClient) -> None:
    first, asked_first = await question(client, "foreign/ask")
    second, asked_second = await question(client, "foreign/ask")
    client.send(reply(asked_second, result="two"))
    client.send(reply(asked_second, result="again"))
    client.send(reply(asked_first, result="one"))
    assert (await client.answer(first))["result"] == {"answer": "one"}
    assert (await client.answer(second))["result"] == {"answer": "two"}


async def test_an_answer_that_bears_the_id_of_a_request_of_the_client_does_not_touch_it(
    client: RawClient,
) -> None:
    before = len(client.of("raw/started"))
    message_id = client.start("raw/slow", "partial")
    await client.asked("raw/started", before + 1)
    client.send({"jsonrpc": "2.0", "id": message_id, "result": "mine"})
    assert (await client.ask("raw/echo", 1))["result"] == 1
    client.notify("$/cancelRequest", {"id": message_id})
    assert (await client.answer(message_id))["result"] == "partial result"


# Documents over the wire.


async def documents(client: RawClient) -> Any:
    return (await client.ask("raw/documents"))["result"]


def opened(version: Any, text: Any = "a\nb") -> dict[str, Any]:
    document = {"uri": URI, "languageId": "python", "version": version, "text": text}
    return {"textDocument": document}


def changed(version: Any, *changes: Any) -> dict[str, Any]:
    return {"textDocument": {"uri": URI, "version": version}, "contentChanges": list(changes)}


INSERT = {
    "range": {"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 0}},
    "text": "X",
}

SYNCHRONISED: dict[str, tuple[list[tuple[str, Any]], Any]] = {
    "plain": (
        [("didOpen", opened(0)), ("didChange", changed(1, INSERT))],
        [URI, 1, "a\nXb", "python", True],
    ),
    "null-versions": (
        [("didOpen", opened(None)), ("didChange", changed(None, INSERT))],
        [URI, None, "a\nXb", "python", True],
    ),
    "version-going-back": (
        [("didOpen", opened(7)), ("didChange", changed(3, INSERT))],
        [URI, 3, "a\nXb", "python", True],
    ),
    "version-that-is-a-string": (
        [("didOpen", opened("9")), ("didChange", changed("10", INSERT))],
        [URI, None, "a\nXb", "python", True],
    ),
    "whole-text": (
        [("didOpen", opened(1)), ("didChange", changed(2, {"text": "new"}))],
        [URI, 2, "new", "python", True],
    ),
    "change-that-makes-no-sense": (
        [("didOpen", opened(1)), ("didChange", changed(2, {"range": 5, "text": "X"}))],
        [URI, 1, "a\nb", "python", False],
    ),
    "changes-are-all-or-nothing": (
        [("didOpen", opened(1)), ("didChange", changed(2, INSERT, {"text": 5}))],
        [URI, 1, "a\nb", "python", False],
    ),
    "saved-with-text": (
        [
            ("didOpen", opened(1)),
            ("didSave", {"textDocument": {"uri": URI}, "text": "on disk"}),
        ],
        [URI, 1, "on disk", "python", True],
    ),
    "without-language": (
        [("didOpen", {"textDocument": {"uri": URI, "version": 1, "text": "t"}})],
        [URI, 1, "t", "", True],
    ),
}


@pytest.mark.parametrize("sent, document", SYNCHRONISED.values(), ids=SYNCHRONISED.keys())
async def test_documents_follow_the_client_whatever_it_leaves_out(
    client: RawClient, sent: list[tuple[str, Any]], document: list[Any]
) -> None:
    for method, params in sent:
        client.notify(f"textDocument/{method}", params)
    assert await documents(client) == [document]
    client.notify("textDocument/didClose", {"textDocument": {"uri": URI}})
    assert await documents(client) == []


async def test_code_actions_survive_diagnostics_of_other_servers_that_do_not_fit(
    client: RawClient,
) -> None:
    place = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}}
    answer = await client.ask(
        "textDocument/codeAction",
        {
            "textDocument": {"uri": URI},
            "range": place,
            "context": {
                "diagnostics": [
                    {"range": place, "message": "good"},
                    {"range": place, "message": "bad", "severity": "dreadful"},
                    {"message": "nowhere"},
                ]
            },
        },
    )
    assert answer["result"] == [{"title": "good"}]


async def test_folders_come_and_go(client: RawClient) -> None:
    event = {"added": [{"uri": "file:///p", "name": "p"}, {"uri": "file:///q", "name": "q"}]}
    client.notify("workspace/didChangeWorkspaceFolders", {"event": {**event, "removed": []}})
    gone = {"added": [], "removed": [{"uri": "file:///p", "name": "p"}]}
    client.notify("workspace/didChangeWorkspaceFolders", {"event": gone})
    assert (await client.ask("raw/folders"))["result"] == {"file:///q": "q"}
    event = {"added": [], "removed": [{"uri": "file:///q", "name": "q"}]}
    client.notify("workspace/didChangeWorkspaceFolders", {"event": event})


async def test_a_cancelled_progress_is_passed_on_with_its_token(client: RawClient) -> None:
    client.notify("window/workDoneProgress/cancel", {"token": 5})
    await client.wait_for(lambda m: m.get("method") == "raw/progressCancelled" and m["params"] == 5)


async def test_prints_of_anybody_go_to_stderr(client: RawClient) -> None:
    await client.ask("raw/print")
    await client.told(b"a stray print", b"from C", b"from a child")
    assert client.stray == b""
