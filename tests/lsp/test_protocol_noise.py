"""The protocol under random messages: it never raises, and every request is answered once."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from lsprotocol import types

from agent_ls.lsp.connection.frames import Message
from agent_ls.lsp.connection.language_server import AgentLanguageServer
from agent_ls.lsp.connection.stdio import FrameWriter

METHODS = [
    "initialize",
    "initialized",
    "shutdown",
    "textDocument/didOpen",
    "textDocument/didChange",
    "textDocument/didSave",
    "textDocument/didClose",
    "textDocument/hover",
    "textDocument/codeAction",
    "workspace/executeCommand",
    "workspace/didChangeWorkspaceFolders",
    "window/workDoneProgress/cancel",
    "$/cancelRequest",
    "$/setTrace",
    "raw/echo",
    "no/such",
    "",
]
WORDS = ["uri", "file:///a", "version", "text", "position", "line", "character", "range", "start"]
WORDS += ["end", "textDocument", "contentChanges", "context", "diagnostics", "message", "command"]
WORDS += ["arguments", "id", "token", "value", "event", "added", "removed", "capabilities", "echo"]

words = st.sampled_from(WORDS)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 2**40) | st.floats(allow_nan=False) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=5),
    max_leaves=12,
)
messages = st.one_of(
    values,
    st.fixed_dictionaries(
        {},
        optional={
            "jsonrpc": st.sampled_from(["2.0", "2.0", "2.0", "1.0", 2]),
            "id": st.integers(0, 3) | values,
            "method": st.sampled_from(METHODS) | values,
            "params": values,
            "result": values,
            "error": values,
        },
    ),
    st.fixed_dictionaries(
        {
            "jsonrpc": st.just("2.0"),
            "id": st.integers(0, 3),
            "method": st.sampled_from(METHODS),
            "params": values,
        }
    ),
)


class Sent(FrameWriter):
    """What the protocol sends, as plain values."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []

    def send(self, frame: bytes) -> None:
        self.messages.append(json.loads(frame.partition(b"\r\n\r\n")[2]))


async def check(received: list[Any]) -> list[dict[str, Any]]:
    """What the protocol answers to these messages, once everything it started has ended."""
    server = AgentLanguageServer("noise", "1")

    @server.feature("raw/echo")
    async def echo(params: Any) -> Any:
        return params

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hover(params: types.HoverParams) -> types.Hover:
        return types.Hover(f"{params.position.line}")

    @server.feature(types.WORKSPACE_EXECUTE_COMMAND)
    async def command(params: types.ExecuteCommandParams) -> Any:
        return params.arguments

    sent = Sent()
    server.protocol.connect(sent)
    start = {"jsonrpc": "2.0", "id": "start", "method": "initialize", "params": {}}
    for value in [start, *received]:
        server.protocol.receive(Message(value))
        # Handlers of one message run to their end before the next, so ids are free again.
        for _ in range(5):
            await asyncio.sleep(0)
    return sent.messages[1:]


def is_request(value: Any) -> bool:
    return isinstance(value, dict) and "method" in value and type(value.get("id")) in (int, str)


@settings(max_examples=150, deadline=None)
@given(received=st.lists(messages, max_size=12))
def test_random_messages_never_raise_and_every_request_is_answered_once(
    received: list[Any],
) -> None:
    answers = asyncio.run(check(received))
    asked = [value["id"] for value in received if is_request(value)]
    answered = [m["id"] for m in answers if m.get("id") is not None and "method" not in m]
    for message_id in set(asked):
        refused = sum(
            type(part) is dict and part.get("id") == message_id
            for value in received
            for part in (value if isinstance(value, list) else [value])
            if not is_request(value)
        )
        assert asked.count(message_id) <= answered.count(message_id)
        assert answered.count(message_id) <= asked.count(message_id) + refused
