"""A connection from its first byte to the exit code, and clients that do not read."""

from __future__ import annotations

import ast
import asyncio
import signal
import subprocess
import sys
from typing import Any

import pytest

from tests.support.raw_lsp import DEFAULT_WAIT_S, RawClient, raw_client

pytestmark = pytest.mark.e2e

SERVER = ("-m", "tests.support.echo_server")


async def check(client: RawClient, **capabilities: Any) -> dict[str, Any]:
    """What the server announces to such a client."""
    return (await client.initialize(capabilities))["result"]["capabilities"]


@pytest.mark.parametrize(
    "offered, chosen",
    [
        (None, "utf-16"),
        ([], "utf-16"),
        (["utf-8", "utf-16"], "utf-8"),
        (["utf-32", "utf-8"], "utf-32"),
        (["utf-7", "utf-32"], "utf-32"),
        (["utf-7"], "utf-16"),
    ],
)
async def test_the_first_known_encoding_of_the_client_is_chosen_and_used(
    offered: list[str] | None, chosen: str
) -> None:
    async with raw_client(*SERVER) as client:
        announced = await check(client, general={"positionEncodings": offered})
        assert announced["positionEncoding"] == chosen
        document = {"uri": "file:///a", "languageId": "", "version": 1, "text": "😀b"}
        client.notify("textDocument/didOpen", {"textDocument": document})
        column = {"utf-8": 4, "utf-16": 2, "utf-32": 1}[chosen]
        place = {"line": 0, "character": column}
        client.notify(
            "textDocument/didChange",
            {
                "textDocument": {"uri": "file:///a", "version": 2},
                "contentChanges": [{"range": {"start": place, "end": place}, "text": "-"}],
            },
        )
        [[_, _, text, _, _]] = (await client.ask("raw/documents"))["result"]
        assert text == "😀-b"


@pytest.mark.parametrize(
    "name, after", [("Neovim", "a\rb\n-c"), ("helix", "a\r-b\nc")], ids=["lf-alone", "any"]
)
async def test_lines_are_counted_as_the_client_counts_them(name: str, after: str) -> None:
    async with raw_client(*SERVER) as client:
        await client.ask("initialize", {"capabilities": {}, "clientInfo": {"name": name}})
        document = {"uri": "file:///a", "languageId": "", "version": 1, "text": "a\rb\nc"}
        client.notify("textDocument/didOpen", {"textDocument": document})
        place = {"line": 1, "character": 0}
        client.notify(
            "textDocument/didChange",
            {
                "textDocument": {"uri": "file:///a", "version": 2},
                "contentChanges": [{"range": {"start": place, "end": place}, "text": "-"}],
            },
        )
        [[_, _, text, _, _]] = (await client.ask("raw/documents"))["result"]
        assert text == after


async def test_what_pygls_does_not_announce_is_announced() -> None:
    async with raw_client(*SERVER) as client:
        announced = await check(client)
        assert announced["workspace"]["textDocumentContent"] == {"schemes": ["echo"]}
        assert announced["experimental"] == {"agent": {"version": 1}}
        assert announced["executeCommandProvider"]["commands"] == ["echo", "slow"]
        assert announced["textDocumentSync"] == {"openClose": True, "change": 2, "save": True}
        assert "inlineCompletionProvider" not in announced


ODD_CLIENTS: dict[str, dict[str, Any]] = {
    "unknown-values": {
        "capabilities": {
            "textDocument": {
                "publishDiagnostics": {"tagSupport": {"valueSet": [1, 2, 99]}},
                "completion": {"completionItemKind": {"valueSet": ["new"]}},
                "codeLens": {},
            },
            "general": {"positionEncodings": ["utf-8"]},
            "window": "none",
        },
        "clientInfo": {"name": "Neovim", "version": "0.11.4"},
    },
    "wrong-options": {
        "capabilities": {"general": {"positionEncodings": ["utf-8"]}},
        "trace": "loud",
        "processId": "none",
        "workspaceFolders": [{"uri": 5}],
        "clientInfo": {"name": "Neovim"},
    },
}


@pytest.mark.parametrize("params", ODD_CLIENTS.values(), ids=ODD_CLIENTS.keys())
async def test_an_odd_client_is_served_with_what_was_understood(params: dict[str, Any]) -> None:
    async with raw_client(*SERVER) as client:
        answer = await client.ask("initialize", params)
        assert answer["result"]["capabilities"]["positionEncoding"] == "utf-8"
        assert (await client.ask("raw/profile"))["result"] == ["neovim", None]


async def test_initialize_without_anything_is_served() -> None:
    async with raw_client(*SERVER) as client:
        assert "result" in await client.ask("initialize")
        assert (await client.ask("raw/profile"))["result"] == ["unknown", None]


async def test_before_initialize_requests_are_refused_and_notifications_ignored() -> None:
    async with raw_client(*SERVER) as client:
        document = {"uri": "file:///a", "languageId": "", "version": 1, "text": "early"}
        client.notify("textDocument/didOpen", {"textDocument": document})
        assert (await client.ask("raw/echo", 1))["error"]["code"] == -32002
        assert (await client.ask("shutdown"))["error"]["code"] == -32002
        await client.initialize()
        assert (await client.ask("raw/documents"))["result"] == []


async def test_after_shutdown_requests_are_refused_and_exit_leaves_with_zero() -> None:
    async with raw_client(*SERVER) as client:
        await client.initialize()
        waiting = client.start("raw/slow", "whole")
        assert (await client.ask("shutdown"))["result"] is None
        assert (await client.answer(waiting))["error"]["code"] == -32800
        assert (await client.ask("raw/echo", 1))["error"]["code"] == -32600
        client.notify("exit")
        assert await asyncio.wait_for(client.process.wait(), DEFAULT_WAIT_S) == 0
        await client.asked("raw/closing")


@pytest.mark.parametrize("initialized", [True, False])
async def test_exit_without_shutdown_leaves_with_one(initialized: bool) -> None:
    async with raw_client(*SERVER) as client:
        if initialized:
            await client.initialize()
        client.notify("exit")
        assert await asyncio.wait_for(client.process.wait(), DEFAULT_WAIT_S) == 1


@pytest.mark.parametrize("env", [{}, {"BUSY_THREAD": "1"}, {"SLOW_CLOSE": "1"}])
async def test_the_server_leaves_when_the_client_is_gone(env: dict[str, str]) -> None:
    async with raw_client(*SERVER, env=env) as client:
        await client.initialize()
        client.start("raw/slow", "whole")
        await client.asked("raw/started")
        assert client.process.stdin is not None
        client.process.stdin.close()
        assert await asyncio.wait_for(client.process.wait(), DEFAULT_WAIT_S) == 1


async def test_a_signal_ends_the_server_cleanly() -> None:
    async with raw_client(*SERVER) as client:
        await client.initialize()
        client.process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(client.process.wait(), DEFAULT_WAIT_S) == 128 + 15
        await client.asked("raw/closing")


async def test_a_question_that_is_open_at_the_end_is_given_up() -> None:
    async with raw_client(*SERVER) as client:
        await client.initialize()
        client.start("raw/ask", {"method": "foreign/silent"})
        await client.asked("foreign/silent")
        assert await client.leave() == 0


async def test_held_messages_are_handled_in_order_once_released() -> None:
    async with raw_client(*SERVER) as client:
        await client.initialize()
        await client.ask("raw/hold")
        first = client.start("agent/held", {"text": "no handler"})
        second = client.start("raw/echo", "second")
        cancelled = client.start("agent/echo", {"text": "third"})
        client.notify("$/cancelRequest", {"id": cancelled})
        document = {"uri": "file:///a", "languageId": "", "version": 1, "text": "held"}
        client.notify("textDocument/didOpen", {"textDocument": document})
        third = client.start("raw/documents")
        assert not any(m.get("id") in (first, second, third) for m in client.received)
        document = {"uri": "release:", "languageId": "", "version": 1, "text": ""}
        client.notify("textDocument/didOpen", {"textDocument": document})
        assert (await client.answer(cancelled))["error"]["code"] == -32800
        assert (await client.answer(first))["error"]["code"] == -32601
        assert (await client.answer(second))["result"] == "second"
        assert (await client.answer(third))["result"][0][2] == "held"
        order = [m["id"] for m in client.received if m.get("id") in (first, second, third)]
        assert order == [first, second, third]


async def test_a_client_that_does_not_read_blocks_nothing_and_loses_only_what_may_be_lost() -> None:
    async with raw_client(*SERVER) as client:
        await client.initialize()
        client.stop_reading()
        flood = client.start("raw/flood", {"count": 4000, "size": 1000})
        # Sent while nobody reads; the loop must take it all the same.
        echoes = [client.start("raw/echo", number) for number in range(50)]
        document = {"uri": "file:///a", "languageId": "", "version": 1, "text": "typed"}
        client.notify("textDocument/didOpen", {"textDocument": document})
        last = client.start("raw/documents")
        client.read_again()
        assert (await client.answer(flood))["result"] == "done"
        for number, message_id in enumerate(echoes):
            assert (await client.answer(message_id))["result"] == number
        assert (await client.answer(last))["result"][0][2] == "typed"
        assert [m["params"] for m in client.of("raw/tick")] == list(range(0, 4000, 100))
        received = sum(len(m["params"]["text"]) for m in client.of("raw/delta"))
        assert 0 < received < 4000 * 1000


async def test_a_client_that_reads_loses_nothing() -> None:
    async with raw_client(*SERVER) as client:
        await client.initialize()
        await client.ask("raw/flood", {"count": 200, "size": 10})
        await client.wait_for(
            lambda _: sum(len(m["params"]["text"]) for m in client.of("raw/delta")) == 2000
        )


def test_until_initialize_is_answered_nothing_but_pygls_is_loaded() -> None:
    script = (
        "import sys; import agent_ls.lsp.connection.language_server;"
        "found = {n.partition('.')[0] for n in sys.modules} - set(sys.stdlib_module_names);"
        "print(sorted(n for n in found if not n.startswith('_')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, timeout=60, check=True, text=True
    )
    loaded = set(ast.literal_eval(done.stdout))
    assert loaded <= {
        "agent_ls",
        "pygls",
        "lsprotocol",
        "attr",
        "attrs",
        "cattrs",
        "typing_extensions",
    }
