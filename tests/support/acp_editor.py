"""A client of ``agent-ls acp`` on the package's own connection, which writes down what it sees.

Every message of the agent is held against the package's schema, strictly: what the schema drops or
does not know fails the test.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from acp import PROTOCOL_VERSION, RequestError, schema, spawn_agent_process, text_block
from acp.client.connection import ClientSideConnection
from acp.connection import StreamDirection, StreamEvent
from pydantic import BaseModel

WAIT_S = 60.0

_REQUESTS: Mapping[str, type[BaseModel]] = {
    "session/update": schema.SessionNotification,
    "session/request_permission": schema.RequestPermissionRequest,
    "fs/read_text_file": schema.ReadTextFileRequest,
    "fs/write_text_file": schema.WriteTextFileRequest,
}
_RESPONSES: Mapping[str, type[BaseModel]] = {
    "initialize": schema.InitializeResponse,
    "session/new": schema.NewSessionResponse,
    "session/load": schema.LoadSessionResponse,
    "session/resume": schema.ResumeSessionResponse,
    "session/list": schema.ListSessionsResponse,
    "session/prompt": schema.PromptResponse,
    "session/set_mode": schema.SetSessionModeResponse,
    "session/close": schema.CloseSessionResponse,
}


class Validator:
    """Holds each message of the agent against the schema."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.seen = 0
        self._asked: dict[object, str] = {}

    def look(self, event: StreamEvent) -> None:
        """Check an incoming message; remember what an outgoing one asks."""
        message = event.message
        if event.direction is StreamDirection.OUTGOING:
            if "method" in message and "id" in message:
                self._asked[message["id"]] = message["method"]
            return
        self.seen += 1
        if "method" in message:
            self._check(_REQUESTS.get(message["method"]), message["params"], message)
        elif "error" in message:
            self._check(schema.Error, message["error"], message)
        else:
            self._check(_RESPONSES.get(self._asked[message["id"]]), message["result"], message)

    def _check(self, model: type[BaseModel] | None, value: Any, message: Mapping[str, Any]) -> None:
        if model is None:
            self.faults.append(f"nobody knows {message}")
            return
        try:
            read = model.model_validate(value).model_dump(
                mode="json", by_alias=True, exclude_unset=True
            )
        except ValueError as error:
            self.faults.append(f"{message}: {error}")
            return
        if read != value:
            self.faults.append(f"{value} is read as {read}")


@dataclass
class AcpEditor:
    """The client: answers permissions from a list, and has files open with unsaved text."""

    root: Path
    choices: list[str] = field(default_factory=list[str])
    """What is chosen when asked: an option's id, ``cancelled``, or ``wait`` to allow it only
    after ``answer`` is set."""
    unsaved: dict[str, str] = field(default_factory=dict[str, str])
    """Texts by path below the root that the editor shows and the disk does not have."""
    saves: bool = True
    """Whether a written text goes to the disk, or only into the buffer."""
    lines: list[str] = field(default_factory=list[str])
    updates: list[tuple[str, Any]] = field(default_factory=list[tuple[str, Any]])
    questions: list[tuple[Any, list[Any]]] = field(default_factory=list[tuple[Any, list[Any]]])
    writes: list[str] = field(default_factory=list[str])
    written_for: dict[str, str] = field(default_factory=dict[str, str])
    """The session of the last write, by path."""
    answer: asyncio.Event = field(default_factory=asyncio.Event)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def request_permission(
        self, session_id: str, tool_call: Any, options: list[Any], **_: Any
    ) -> schema.RequestPermissionResponse:
        self.questions.append((tool_call, options))
        offered = ", ".join(f"{one.option_id} [{one.kind}]" for one in options)
        self.note(f"asked {tool_call.title or ''}: {offered}", *_content(tool_call, self.root))
        choice = self.choices.pop(0) if self.choices else "cancelled"
        if choice == "wait":
            await self.answer.wait()
            choice = "allow_once"
        if choice == "cancelled":
            return schema.RequestPermissionResponse(outcome={"outcome": "cancelled"})
        selected = {"outcome": "selected", "optionId": choice}
        return schema.RequestPermissionResponse(outcome=selected)

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append((session_id, update))
        self.note(*_lines(update, self.root))

    async def read_text_file(
        self,
        session_id: str,
        path: str,
        line: int | None = None,
        limit: int | None = None,
        **_: Any,
    ) -> schema.ReadTextFileResponse:
        assert session_id.startswith("ses_"), session_id
        shown = str(Path(path).relative_to(self.root))
        if shown in self.unsaved:
            return schema.ReadTextFileResponse(content=self.unsaved[shown])
        try:
            return schema.ReadTextFileResponse(content=Path(path).read_text())
        except OSError:
            raise RequestError.resource_not_found(path) from None

    async def write_text_file(self, session_id: str, path: str, content: str, **_: Any) -> None:
        assert session_id.startswith("ses_"), session_id
        shown = str(Path(path).relative_to(self.root))
        self.writes.append(shown)
        self.written_for[shown] = session_id
        self.unsaved.pop(shown, None)
        if self.saves:
            Path(path).write_text(content)
        else:
            self.unsaved[shown] = content

    def on_connect(self, conn: Any) -> None:
        pass

    def note(self, *lines: str) -> None:
        self.lines += lines
        self._changed.set()

    async def until(self, what: Callable[[], Any]) -> Any:
        """Return what becomes true while messages arrive."""
        async with asyncio.timeout(WAIT_S):
            while not (found := what()):
                self._changed.clear()
                await self._changed.wait()
            return found

    @property
    def said(self) -> str:
        """Return the answer's text so far."""
        chunks = (one for _, one in self.updates if isinstance(one, schema.AgentMessageChunk))
        return "".join(one.content.text for one in chunks)


@dataclass
class Wire:
    """A running agent and the way to it."""

    agent: ClientSideConnection
    process: asyncio.subprocess.Process
    editor: AcpEditor
    validator: Validator
    errors: asyncio.Task[bytes]

    async def session(self, **more: Any) -> str:
        found = await self.agent.new_session(cwd=str(self.editor.root), mcp_servers=[], **more)
        return found.session_id

    async def prompt(self, session_id: str, *words: Any) -> str:
        """Say something and return the stop reason, or the error's words."""
        blocks = [text_block(one) if isinstance(one, str) else one for one in words]
        try:
            async with asyncio.timeout(WAIT_S):
                answer = await self.agent.prompt(session_id=session_id, prompt=blocks)
        except RequestError as error:
            return f"error: {error}"
        self.editor.note(f"ended: {answer.stop_reason}")
        return answer.stop_reason


@asynccontextmanager
async def acp_agent(
    editor: AcpEditor,
    variables: Mapping[str, str],
    *,
    fs: bool = True,
    words: Sequence[str] = (),
) -> AsyncIterator[Wire]:
    """Start ``agent-ls acp``; at the end it must have sent only what the schema knows."""
    validator = Validator()
    environment = {**os.environ, "AGENT_LS_MODEL": "openai/scripted", **variables}
    async with spawn_agent_process(
        editor,
        sys.executable,
        *("-P", "-m", "agent_ls", "acp", *words),
        env=environment,
        transport_kwargs={"limit": 2**26, "shutdown_timeout": 20.0},
        observers=[validator.look],
        use_unstable_protocol=True,
    ) as (agent, process):
        assert process.stderr is not None
        errors = asyncio.create_task(process.stderr.read())
        can = schema.FileSystemCapabilities(read_text_file=fs, write_text_file=fs)
        hello = await agent.initialize(
            protocol_version=PROTOCOL_VERSION,
            client_capabilities=schema.ClientCapabilities(fs=can),
        )
        assert hello.protocol_version == PROTOCOL_VERSION
        yield Wire(agent, process, editor, validator, errors)
    assert validator.faults == []
    assert validator.seen > 0


def _lines(update: Any, root: Path) -> list[str]:
    """Return an update as lines for people, the same in every run."""
    match update:
        case schema.UserMessageChunk():
            return [f"user: {_text(update.content)}"]
        case schema.AgentMessageChunk():
            return [f"says: {update.content.text.strip()}"]
        case schema.AgentThoughtChunk():
            return [f"thinks: {update.content.text.strip()}"]
        case schema.ToolCallStart():
            head = f"call {update.title} ({update.kind}, {update.status})"
            return [head, *_content(update, root)]
        case schema.ToolCallProgress():
            places = " ".join(str(Path(p.path).relative_to(root)) for p in update.locations or ())
            words = " ".join(filter(None, ["call", update.status or "prints", places]))
            return [words, *_content(update, root)]
        case schema.AgentPlanUpdate():
            return [f"plan: {', '.join(f'{one.content} {one.status}' for one in update.entries)}"]
        case schema.CurrentModeUpdate():
            return [f"mode: {update.current_mode_id}"]
        case schema.SessionInfoUpdate():
            return [f"title: {update.title}"]
        case _:
            return _other_lines(update)


def _other_lines(update: Any) -> list[str]:
    match update:
        case schema.UsageUpdate():
            return []
        case schema.AvailableCommandsUpdate():
            return [f"commands: {', '.join(one.name for one in update.available_commands)}"]
        case _:
            return [f"{type(update).__name__}: {update}"]


def _content(update: Any, root: Path) -> list[str]:
    lines: list[str] = []
    for one in update.content or ():
        if isinstance(one, schema.FileEditToolCallContent):
            path = Path(one.path).relative_to(root)
            lines.append(f"  diff {path}: {one.old_text!r} -> {one.new_text!r}")
        else:
            lines += [f"  | {line}" for line in _text(one.content).splitlines()]
    return lines


def _text(block: Any) -> str:
    return f"[{block.mime_type}]" if block.type == "image" else block.text
