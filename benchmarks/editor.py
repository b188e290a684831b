"""The smallest editor: one LSP connection, blocking, standard library only.

It costs next to nothing, so what is measured beside it is the server. It has no user interface and
opens few documents; it shares no code with agent-ls.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

Message = dict[str, Any]
_HEADER_END = b"\r\n\r\n"
CAPABILITIES: Message = {
    "workspace": {
        "applyEdit": True,
        "workspaceEdit": {"documentChanges": True, "resourceOperations": ["create", "delete"]},
        "configuration": True,
        "executeCommand": {},
    },
    "textDocument": {"publishDiagnostics": {}, "synchronization": {"didSave": True}},
    "window": {"workDoneProgress": True},
}


class Editor:
    """An editor connected to a server process that it starts."""

    def __init__(
        self,
        command: Sequence[str],
        root: Path,
        *,
        env: Mapping[str, str] | None = None,
        log: Path | None = None,
    ) -> None:
        self.root = root
        self.buffers: dict[str, str] = {}
        self._versions: dict[str, int] = {}
        self._next_id = 0
        self._pending = bytearray()
        self._messages: list[Message] = []
        self._answers: dict[int, Message] = {}
        self.ended: dict[str, str] = {}
        """How each progress ended, by token."""
        self.shown: list[str] = []
        """Messages to the user, oldest first."""
        errors = log.open("ab") if log else None
        self.started_at = time.monotonic()
        self.process = subprocess.Popen(
            command,
            cwd=root,
            env=None if env is None else dict(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
        )
        if errors:
            errors.close()

    # What an editor does.

    def greet(self) -> Message:
        """Ask for `initialize`; return what the server can do."""
        folders = [{"uri": self.root.as_uri(), "name": self.root.name}]
        answer = self.request(
            "initialize",
            {
                "processId": os.getpid(),
                "clientInfo": {"name": "benchmark"},
                "rootUri": self.root.as_uri(),
                "workspaceFolders": folders,
                "capabilities": CAPABILITIES,
            },
        )
        return answer["capabilities"]

    def initialize(self) -> Message:
        """Shake hands; return what the server can do."""
        capabilities = self.greet()
        self.notify("initialized", {})
        return capabilities

    def open(self, path: str, language_id: str) -> str:
        """Open a file and return its URI."""
        uri = (self.root / path).as_uri()
        text = (self.root / path).read_text("utf-8")
        self.buffers[uri], self._versions[uri] = text, 1
        document = {"uri": uri, "languageId": language_id, "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": document})
        return uri

    def execute(self, command: str, *arguments: Any, limit_s: float = 30) -> Any:
        """Return what a command of the server answers."""
        params = {"command": command, "arguments": list(arguments)}
        return self.request("workspace/executeCommand", params, limit_s)

    def close(self, limit_s: float = 10) -> int:
        """Shut the server down; return its exit code."""
        with suppress(BrokenPipeError, EOFError, TimeoutError):
            self.request("shutdown", None, limit_s)
            self.notify("exit", None)
        try:
            return self.process.wait(limit_s)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def kill(self) -> None:
        """End the server as a crash would, and let go of the pipes."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                with suppress(BrokenPipeError):
                    pipe.close()

    # Messages.

    def request(self, method: str, params: Any, limit_s: float = 30) -> Any:
        """Return the result, answering the server's own requests meanwhile.

        Errors: ``RuntimeError`` with the server's words, ``TimeoutError``, ``EOFError``.
        """
        self._next_id += 1
        number = self._next_id
        self._send({"id": number, "method": method, "params": params})
        self.until(lambda: number in self._answers, limit_s, method)
        answer = self._answers.pop(number)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer.get("result")

    def notify(self, method: str, params: Any) -> None:
        """Send a notification."""
        self._send({"method": method, "params": params})

    def until(self, condition: Callable[[], object], limit_s: float, what: str) -> None:
        """Read messages until the condition holds."""
        deadline = time.monotonic() + limit_s
        while not condition():
            if not self._read(deadline - time.monotonic()):
                shown = "".join(f"\n  shown: {text}" for text in self.shown)
                raise TimeoutError(f"waited {limit_s:g} s in vain for {what}{shown}")

    def read_for(self, duration_s: float) -> None:
        """Read what comes for so long."""
        deadline = time.monotonic() + duration_s
        while (left_s := deadline - time.monotonic()) > 0:
            self._read(left_s)

    def _send(self, message: Message) -> None:
        message = {"jsonrpc": "2.0", **message}
        if message.get("params") is None:
            message.pop("params", None)
        body = json.dumps(message).encode()
        assert self.process.stdin
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def _read(self, limit_s: float) -> bool:
        """Read once and take every whole message; False when nothing came in time."""
        assert self.process.stdout
        descriptor = self.process.stdout.fileno()
        if not select.select([descriptor], [], [], max(0, limit_s))[0]:
            return False
        data = os.read(descriptor, 1 << 16)
        if not data:
            raise EOFError("the server has gone")
        self._pending += data
        while (message := self._whole_message()) is not None:
            self._take(message)
        return True

    def _whole_message(self) -> Message | None:
        end = self._pending.find(_HEADER_END)
        if end < 0:
            return None
        lines = bytes(self._pending[:end]).split(b"\r\n")
        length = next(int(line[15:]) for line in lines if line.startswith(b"Content-Length:"))
        start = end + len(_HEADER_END)
        if len(self._pending) < start + length:
            return None
        body = bytes(self._pending[start : start + length])
        del self._pending[: start + length]
        return json.loads(body)

    def _take(self, message: Message) -> None:
        method = message.get("method")
        if method is None:
            self._answers[message["id"]] = message
        elif "id" in message:
            self._send({"id": message["id"], "result": self._answer(method, message["params"])})
        elif method == "$/progress" and message["params"]["value"]["kind"] == "end":
            value = message["params"]["value"]
            self.ended[str(message["params"]["token"])] = value.get("message", "")
        elif method == "window/showMessage":
            self.shown.append(message["params"]["message"])

    def _answer(self, method: str, params: Message) -> Any:
        match method:
            case "workspace/applyEdit":
                for change in _text_changes(params["edit"]):
                    self._apply(*change)
                return {"applied": True}
            case "workspace/configuration":
                return [None] * len(params["items"])
            case _:
                return None

    def _apply(self, uri: str, edits: Sequence[Message]) -> None:
        """Change an open document and save it, so that the disk shows what was done."""
        lines = [f"{line}\n" for line in self.buffers[uri].split("\n")]
        spans = sorted(
            (_offset(lines, e["range"]["start"]), _offset(lines, e["range"]["end"]), e["newText"])
            for e in edits
        )
        text = self.buffers[uri]
        for start, end, new_text in reversed(spans):
            text = text[:start] + new_text + text[end:]
        self.buffers[uri] = text
        self._versions[uri] += 1
        document = {"uri": uri, "version": self._versions[uri]}
        self.notify(
            "textDocument/didChange",
            {"textDocument": document, "contentChanges": [{"text": text}]},
        )
        Path(unquote(urlsplit(uri).path)).write_text(text, "utf-8")
        self.notify("textDocument/didSave", {"textDocument": {"uri": uri}})


def _text_changes(edit: Message) -> list[tuple[str, Sequence[Message]]]:
    changes = [
        (change["textDocument"]["uri"], change["edits"])
        for change in edit.get("documentChanges") or ()
    ]
    return changes + list((edit.get("changes") or {}).items())


def _offset(lines: Sequence[str], place: Mapping[str, int]) -> int:
    """Return the offset of a UTF-16 position."""
    before = sum(map(len, lines[: place["line"]]))
    line = lines[place["line"]] if place["line"] < len(lines) else ""
    head = line.encode("utf-16-le")[: 2 * place["character"]]
    return before + len(head.decode("utf-16-le"))
