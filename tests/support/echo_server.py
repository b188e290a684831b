"""A tiny server on our language server class, with methods that provoke what tests look at."""

from __future__ import annotations

from agent_ls.processes.stdio import leave, take_stdio

PIPES = take_stdio()

import asyncio  # noqa: E402
import os  # noqa: E402
import sys  # noqa: E402
from typing import Any  # noqa: E402

from lsprotocol import types  # noqa: E402
from pydantic import BaseModel, Field  # noqa: E402
from pygls.exceptions import JsonRpcException  # noqa: E402

from agent_ls.lsp.connection.asking import ClientError  # noqa: E402
from agent_ls.lsp.connection.documents import DocumentEvent  # noqa: E402
from agent_ls.lsp.connection.language_server import AgentLanguageServer  # noqa: E402

server = AgentLanguageServer(
    "echo",
    "1",
    commands=("slow", "echo"),
    content_schemes=("echo",),
    experimental={"agent": {"version": 1}},
)


class Nested(BaseModel):
    jsonrpc: str = ""
    type_name: str = ""
    dashed: int = Field(0, alias="a-b")


class Params(BaseModel):
    text: str = "nothing"
    class_: str = Field("", alias="class")
    nested: Nested = Nested()


class Result(BaseModel):
    model_config = {"populate_by_name": True}
    text: str
    class_: str = Field(alias="class")
    nested: Nested


for method in ("agent/echo", "agent/slow", "agent/held"):
    server.protocol.structure.add(method, Params, Result)
server.protocol.structure.add("agent/save", None, Nested)


@server.feature("agent/echo")
async def echo(ls: AgentLanguageServer, params: Params) -> Result:
    return Result(text=params.text, class_=params.class_, nested=params.nested)


@server.feature("raw/echo")
def raw_echo(params: Any) -> Any:
    return params


@server.feature("raw/slow")
async def slow(params: Any) -> Any:
    server.protocol.notify("raw/started", params)
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        if params == "partial":
            return "partial result"
        raise
    return "late"


@server.feature("raw/fail")
async def fail(params: Any) -> Any:
    if params == "coded":
        raise JsonRpcException("said so", -32801)
    if params == "value":
        return float("nan")
    if params == "object":
        return object()
    raise KeyError("a defect")


@server.feature("raw/failSync")
def fail_sync(params: Any) -> Any:
    raise KeyError("a defect")


@server.feature("raw/leftovers")
def leftovers(params: Any) -> Any:
    protocol = server.protocol
    return [
        len(protocol._request_futures),
        len(protocol._running),
        len(protocol.questions),
    ]


@server.feature("raw/ask")
async def ask(params: Any) -> Any:
    try:
        answer = await server.ask_client(
            params["method"], params.get("params"), timeout_s=params.get("timeout_s", 30)
        )
    except ClientError as error:
        return {"error": type(error).__name__, "text": str(error)}
    return {"answer": answer}


@server.feature("raw/documents")
def documents(params: Any) -> Any:
    found = [server.documents.get(uri) for uri in server.documents.uris()]
    return [[s.uri, s.version, s.text, s.language_id, s.in_sync] for s in found if s is not None]


@server.feature("raw/folders")
def folders(params: Any) -> Any:
    return server.protocol.folders


@server.feature("raw/profile")
def profile(params: Any) -> Any:
    return [server.profile.row, server.profile.agent_version]


@server.feature("raw/flood")
async def flood(params: Any) -> Any:
    """Sends droppable and other messages, as fast as it can."""
    for number in range(params["count"]):
        server.protocol.notify_droppable(
            "raw/delta",
            {"text": "x" * params["size"]},
            key="delta",
            size=params["size"],
            merge=lambda a, b: {"text": a["text"] + b["text"]},
        )
        if number % 100 == 0:
            server.protocol.notify("raw/tick", number)
    return "done"


@server.feature("raw/hold")
def hold(params: Any) -> Any:
    server.protocol.hold()


def opened(event: DocumentEvent) -> None:
    if event.uri == "release:":
        server.protocol.release()


server.documents.listen(opened)


@server.feature("raw/print")
def noise(params: Any) -> Any:
    print("a stray print")  # noqa: T201
    os.write(1, b"from C\n")
    os.system("echo from a child; cat")
    sys.stdout.flush()


@server.feature(types.TEXT_DOCUMENT_CODE_ACTION)
def code_action(params: types.CodeActionParams) -> list[types.CodeAction]:
    return [types.CodeAction(d.message) for d in params.context.diagnostics]


@server.feature(types.TEXT_DOCUMENT_HOVER)
async def hover(params: types.HoverParams) -> types.Hover:
    return types.Hover(f"{params.position.line}")


@server.feature(types.TEXT_DOCUMENT_INLINE_COMPLETION)
def inline_completion(params: types.InlineCompletionParams) -> None:
    return None


@server.feature(types.WINDOW_WORK_DONE_PROGRESS_CANCEL)
def progress_cancelled(params: types.WorkDoneProgressCancelParams) -> None:
    server.protocol.notify("raw/progressCancelled", params.token)


@server.feature(types.WORKSPACE_EXECUTE_COMMAND)
async def command(params: types.ExecuteCommandParams) -> Any:
    if params.command == "echo":
        return [params.command, *(params.arguments or ())]
    server.protocol.notify("raw/started")
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        server.protocol.notify("raw/commandCancelled")
        raise


async def closing() -> None:
    server.protocol.notify("raw/closing")
    if os.environ.get("SLOW_CLOSE"):
        await asyncio.sleep(60)


server.on_stop.append(closing)

if __name__ == "__main__":
    if os.environ.get("BUSY_THREAD"):
        import threading

        threading.Thread(target=threading.Event().wait).start()
    leave(server.run(PIPES))
